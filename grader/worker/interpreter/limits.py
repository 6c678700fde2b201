"""What the interpreter cannot do: run for ever, compute in bfloat16, call assembly.

Triton's interpreter pays for every operation of every program, whatever the
tile, so a grid that a GPU swallows in a millisecond can take an hour here. And
it computes some things wrongly without a word: bfloat16 values are kept as
16-bit integers and `x * 2` multiplies the bits. Neither is the student's
fault. Each ends the launch with `InterpreterLimit` and a line in the report
that the judge reads as "not measured on this machine".

Operations are counted where they all pass: at the making of a `TensorHandle`,
of which each costs 10 to 20 microseconds.
"""

import time
from collections.abc import Callable
from typing import Any

from grader.worker import worker_log

# After so many programs the rest of the grid is foretold from their average.
_SAMPLES = frozenset({8, 64, 512})
# Programs differ (the last ones may return at once), so foretelling stops a
# launch only where it is clearly beyond the limit.
_MARGIN = 2
# The clock is looked at once in so many operations.
_LOOK = 256


class InterpreterLimit(BaseException):
    """The interpreter cannot run this kernel.

    Not an `Exception`: triton would wrap it and hand-ins catch `Exception`.
    """


class Budget:
    """Counts the operations of one call against a limit; None means no limit.

    What is within it, but not within `seconds`, is too much as well: on a busy
    machine, or where an operation has many steps, the judge's own limit on time
    would end the worker, and call a kernel endless that is only slow here.
    """

    def __init__(
        self,
        limit: int | None,
        line: Callable[[BaseException | None], int | None],
        seconds: float | None = None,
    ) -> None:
        self.limit = limit
        self._seconds = seconds
        self._until_s = 0.0
        self._line = line
        self.operations = 0
        self._programs = 1
        self._started = 0
        self._before = 0

    def begin(self) -> None:
        """Start a call of the hand-in's entry."""
        self.operations = 0
        if self._seconds is not None:
            self._until_s = time.monotonic() + self._seconds

    def spend(self) -> None:
        """Count an operation; raise if it is too much."""
        self.operations += 1
        if self.limit is not None and self.operations > self.limit:
            raise self.exceeded()
        if self._seconds is None or self.operations % _LOOK or self._programs == 1:
            return  # a single program that is late may never end: that is the judge's to say
        if time.monotonic() > self._until_s:
            did = f"{self.operations:,} operations in {self._started:,} programs"
            message = f"too much for the interpreter: {did} took {self._seconds:g} s"
            raise self.stop("budget", message)

    def launch(self, programs: int) -> None:
        """Start a launch of so many programs, of which each has an operation at least."""
        self._programs = programs
        self._started = 0
        self._before = self.operations
        if self.limit is not None and programs > self.limit:
            raise self._exceeded(f"a grid of {programs:,} programs")

    def program(self) -> None:
        """Start the next program of the launch."""
        done = self._started
        self._started += 1
        if self.limit is None or done not in _SAMPLES:
            return
        foretold = self._before + (self.operations - self._before) * self._programs // done
        if foretold > _MARGIN * self.limit:
            raise self._exceeded(f"about {foretold:,} operations in {self._programs:,} programs")

    def exceeded(self) -> InterpreterLimit:
        """Return what to raise when the operations are used up.

        If the only program did that, it most likely never ends. (Of several, one may
        wait for another, which the interpreter runs later.)
        """
        if self._programs == 1:
            message = f"a program did not end within {self.operations:,} operations"
            return self.stop("endless", message)
        return self._exceeded(f"{self.operations:,} operations in {self._started:,} programs")

    def _exceeded(self, what: str) -> InterpreterLimit:
        return self.stop("budget", f"too much for the interpreter: {what} (limit {self.limit:,})")

    def stop(
        self, reason: str, message: str, error: BaseException | None = None
    ) -> InterpreterLimit:
        """Tell the judge why this kernel is not measured, and return what to raise.

        `reason` is "budget", "endless", "bfloat16" or "unsupported". `error` is what was
        raised, if the stop comes after it: its line is the one that counts.
        """
        worker_log.tell("not_measured", reason=reason, message=message, line=self._line(error))
        return InterpreterLimit(message)


def install(interpreter: Any, budget: Budget, bfloat16: Any) -> None:
    """Count operations and refuse what the interpreter gets wrong or has not."""
    handle_class = interpreter.TensorHandle
    make = handle_class.__init__

    def __init__(handle: Any, data: Any, dtype: Any, *rest: Any, **more: Any) -> None:  # noqa: N807
        budget.spend()
        if dtype is bfloat16:
            raise budget.stop("bfloat16", "the interpreter computes wrongly in bfloat16")
        make(handle, data, dtype, *rest, **more)

    handle_class.__init__ = __init__

    def create_inline_asm(*_args: Any, **_kwargs: Any) -> None:
        raise budget.stop("unsupported", "the interpreter cannot run inline assembly")

    interpreter.InterpreterBuilder.create_inline_asm = create_inline_asm


def lacking(error: BaseException) -> str | None:
    """Return what the interpreter lacks, if that is why a launch failed; None if not.

    It replaces the functions of `triton.language` where the kernel finds them in
    that module; names imported one by one stay the compiler's.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    trace = error.__traceback__
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame, text = trace.tb_frame, str(error)
    if isinstance(error, ValueError) and "provided outside of JIT functions" in text:
        function = frame.f_locals.get("fn")
        return f"`{getattr(function, '__name__', '?')}`, imported from outside triton.language"
    if isinstance(error, ValueError) and "exceeds dtype primitive_bitwidth" in text:
        return "a value of this type"
    if isinstance(error, AttributeError) and "'InterpreterBuilder' object has no" in text:
        return text.rpartition("create_")[2].strip("'")
    if isinstance(error, NotImplementedError) and "triton" in frame.f_code.co_filename:
        return text
    return None
