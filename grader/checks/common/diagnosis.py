"""Turn a worker's outcome into verdict, message and hint for the student.

A worker's records are used here and in `crash` only, to explain failures that the judge saw itself.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from grader.assignment.model import Limits
from grader.build.artifact import Built
from grader.build.python_source import KERNEL_MARKS
from grader.checks.common.crash import (
    Crash,
    explain_crash,
    kernel_assertion,
    last_record,
    record_line,
    sampled_place,
    source_place,
    text_of,
)
from grader.checks.source.cuda_grid import refused_block_hint, refused_grid_hint
from grader.checks.source.stuck_loops import WAITS, stuck_loop
from grader.checks.source.triton_errors import source_hint
from grader.judge.outcome import Outcome, Status
from grader.report.verdict import Verdict
from grader.text.hints import hints, matching_hint
from grader.vocabulary import Device

_EXIT_HINT = "return from the function instead: the grader's worker runs in the same process"
IDLE_HINT = "look for a sleep, a lock that is never released, or a read that waits for input"
LOOP_HINT = (
    "look for a loop whose rounds do not change what its condition tests, or that runs far longer "
    "than the sizes require"
)
STUCK_HINT = (
    "each round must bring the condition nearer to its end, whatever else it does: check the step, "
    "as in `i += step`"
)
_DAMAGED_HINT = (
    "host code wrote past the end of what it allocated: compare each malloc, new or vector, and "
    "each copy into it, with the loop that fills it; or a thread that it started still runs"
)
WAIT_HINT = (
    "blocks of one launch need not run at the same time, so none can wait for another: end the "
    "kernel there and launch a second one; threads of one block wait with __syncthreads()"
)
_LEFTOVER_HINT = "end every thread and process that you start before the function returns"
# A mangled C++ name, such as _Z7preparei, has the length of the name before it.
_MANGLED = re.compile(r"_Z(\d+)(\w+)")

_SHARED_WITHOUT_OPT_IN = 48 << 10
_MEMORY_ERRORS = frozenset({700, 714, 716, 717, 718})
_ASSERTION = 710


class Phase(Enum):
    """What the worker was doing when it ended."""

    LOADING = "loading"
    CALLING = "calling"
    BETWEEN_CALLS = "between two calls"

    def subject(self, built: Built, case: str = "") -> str:
        """Return the subject of a message's sentence."""
        match self:
            case Phase.LOADING:
                return f"loading {built.file}"
            case Phase.CALLING:
                return f"calling {built.entry}" + (f" on {case}" if case else "")
        return f"something that {built.file} left running"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A verdict, what happened, and what the student can do about it.

    `waited` is true for a time limit that was used up mostly idle: the machine may be the cause.
    """

    verdict: Verdict
    message: str
    hint: str = field(default="", kw_only=True)
    waited: bool = field(default=False, kw_only=True)


def explain(
    outcome: Outcome, built: Built, limits: Limits, phase: Phase, *, case: str = ""
) -> Diagnosis:
    """Explain an outcome other than done; `case` is named if it is given."""
    subject = phase.subject(built, case)
    match outcome.status:
        case Status.TIME_LIMIT if phase is Phase.BETWEEN_CALLS:
            message = f"{subject} blocked the grader"
            waited = outcome.ended is not None and outcome.ended.waited
            return Diagnosis(Verdict.TIME_LIMIT, message, hint=_LEFTOVER_HINT, waited=waited)
        case Status.TIME_LIMIT if outcome.detail:
            message = f"{built.entry} {outcome.detail}"
            return Diagnosis(Verdict.TIME_LIMIT, message, hint=IDLE_HINT)
        case Status.OUTPUT_LIMIT if outcome.detail:
            return Diagnosis(
                Verdict.OUTPUT_LIMIT,
                f"{subject} {outcome.detail}",
                hint="write to the output only, and on no descriptor that you did not open",
            )
        case Status.STRAY_ANSWER:
            return Diagnosis(
                Verdict.TAMPERED,
                f"the submission wrote on the grader's channel: {outcome.detail}",
                hint="write on no descriptor that you did not open",
            )
        case Status.CUDA_ERROR:
            return _cuda_error(outcome, built, subject)
        case Status.EXCEPTION | Status.LOAD_FAILED:
            return _reported_failure(outcome, built, limits, phase, subject)
    limit_s = limits.load_s if phase is Phase.LOADING else limits.call_s
    waited = outcome.ended is not None and outcome.ended.waited
    exceeded = exceeded_limit(outcome.status, subject, limits, limit_s, waited=waited)
    if exceeded is not None and exceeded.verdict is Verdict.TIME_LIMIT:
        place = sampled_place(outcome, built)
        hint = STUCK_HINT if "the loop `" in place else exceeded.hint
        hint = WAIT_HINT if WAITS in place else hint
        return replace(exceeded, message=exceeded.message + place, hint=hint)
    return exceeded or _process_end(outcome, built, phase, subject)


def exceeded_limit(
    status: Status | None, subject: str, limits: Limits, limit_s: float, *, waited: bool = False
) -> Diagnosis | None:
    """Return the diagnosis of a program that exceeded a limit, None if it exceeded none.

    `waited` is true if it did so mostly idle.
    """
    match status:
        case Status.TIME_LIMIT if waited:
            message = f"{subject} did not end within {limit_s:g} s, most of which it waited"
            return Diagnosis(Verdict.TIME_LIMIT, message, hint=IDLE_HINT, waited=True)
        case Status.TIME_LIMIT:
            verdict, what, hint = Verdict.TIME_LIMIT, f"did not end within {limit_s:g} s", LOOP_HINT
        case Status.OUTPUT_LIMIT:
            verdict, what = Verdict.OUTPUT_LIMIT, f"printed more than {limits.output_kib} KiB"
            hint = "remove the printing"
        case Status.MEMORY_LIMIT:
            verdict, what = (
                Verdict.MEMORY_LIMIT,
                f"used more than {limits.memory_mib} MiB of memory",
            )
            hint = "look for an allocation in a loop"
        case Status.PROCESS_LIMIT:
            verdict, what = Verdict.RUNTIME_ERROR, "started too many processes"
            hint = "do not start processes: none is needed"
        case _:
            return None
    return Diagnosis(verdict, f"{subject} {what}", hint=hint)


def _cuda_error(outcome: Outcome, built: Built, subject: str) -> Diagnosis:
    code = outcome.code
    if code == _ASSERTION and (failed := kernel_assertion(outcome, built)):
        where = f"{_in_kernel(failed.kernel)}{_at(failed.place)}"
        return Diagnosis(Verdict.RUNTIME_ERROR, f"{subject}: {failed.what}{where}")
    meaning = hints("cuda_error").get(str(code), "see the CUDA documentation")
    trap = last_record(outcome, "trap")
    if trap is not None:
        meaning += (
            f": __trap(){_in_kernel(text_of(trap, 'kernel'))}{_at(source_place(trap, built))}"
        )
    refused, line = last_record(outcome, "refused_launch"), None
    if refused is not None and refused.get("error") == code:
        place = source_place(refused, built)
        meaning += f": {_refused_launch(refused)}{_at(place)}"
        file, _, number = place.rpartition(":")
        line = int(number) if file == built.file else None
    return Diagnosis(
        Verdict.MEMORY_ERROR if code in _MEMORY_ERRORS else Verdict.RUNTIME_ERROR,
        f"{subject} gave CUDA error {code}: {meaning}",
        hint=_refusal_hint(refused, built.text, line)
        or hints("cuda_error_hint").get(str(code), ""),
    )


def _refusal_hint(record: dict[str, Any] | None, text: str, line: int | None) -> str:
    """Return what to do about a refused launch in a line, "" if the error's own hint says it."""
    what, value = (record or {}).get("what"), (record or {}).get("value")
    if str(what).startswith("grid.") and value == 0:
        return refused_grid_hint(text, line) or hints("refused_launch")["no_blocks"]
    if what == "threads" and (words := refused_block_hint(text, line)):
        return words
    return hints("refused_launch").get(str(what), "")


def _refused_launch(record: dict[str, Any]) -> str:
    """Return the figure and the limit that made the emulation refuse a launch."""
    value, limit, threads, each = (
        f"{figure:,}" if type(figure) is int and abs(figure) < 2**63 else "?"
        for figure in map(record.get, ("value", "limit", "threads", "each"))
    )
    kernel = f"`{text_of(record, 'kernel')}` is launched with"
    match text_of(record, "what"):
        case "threads":
            wanted = f"{value} threads in each block"
        case "cooperative_blocks":
            # The emulation's GPU; another one holds more.
            return (
                f"{kernel} {value} blocks, and a cooperative launch has only as many as can run at "
                f"once, here {limit}"
            )
        case "registers":
            wanted = f"{value} registers for each block ({threads} threads of {each})"
        case "shared":
            wanted = f"{value} bytes of shared memory for each block"
        case "dynamic_shared":
            wanted = f"{value} bytes of dynamic shared memory for each block"
            if record.get("limit") == _SHARED_WITHOUT_OPT_IN:
                return f"{kernel} {wanted}; the limit is {limit} without cudaFuncSetAttribute"
        case what:
            wanted = f"{what} = {value}"
    if value == "0":
        return f"{kernel} {wanted}; the least is {limit}"
    return f"{kernel} {wanted}; the limit is {limit}"


def _reported_failure(
    outcome: Outcome, built: Built, limits: Limits, phase: Phase, subject: str
) -> Diagnosis:
    closed = last_record(outcome, "gpu")
    if closed is not None and outcome.status is Status.LOAD_FAILED:
        return _no_gpu(text_of(closed, "message"), built)
    unusable = last_record(outcome, "unusable")
    if unusable is not None and outcome.status is Status.LOAD_FAILED:
        return _unusable(text_of(unusable, "message"), built)
    limit = last_record(outcome, "not_measured")
    if limit is not None:
        return _not_executed(limit, built, limits, subject)
    raised = last_record(outcome, "exception")
    if raised is not None:
        return _exception(raised, built, phase, subject)
    bad_entry = last_record(outcome, "entry")
    if bad_entry is not None:
        return _bad_entry(text_of(bad_entry, "problem"), built)
    if outcome.status is Status.EXCEPTION:
        return Diagnosis(
            Verdict.RUNTIME_ERROR,
            f"{subject} raised an exception and closed the pipe that would have reported it",
            hint="close no descriptor that you did not open",
        )
    record = last_record(outcome, "load")
    text = text_of(record, "message") if record else ""
    return _unloadable(text, built)


def _no_gpu(reason: str, built: Built) -> Diagnosis:
    """Return the diagnosis that the worker could not open the GPU, which costs no points."""
    first = (reason.splitlines() or ["no reason was given"])[0]
    return Diagnosis(
        Verdict.NOT_MEASURED,
        f"no GPU could be opened for {built.file}: {first}",
        hint="`nvidia-smi` shows whether its memory is full or it is reserved for one process; "
        "grade again when it is free",
    )


def _unusable(reason: str, built: Built) -> Diagnosis:
    """Return the diagnosis that a package is broken on this machine, which costs no points."""
    first = (reason.splitlines() or ["no reason was given"])[0]
    return Diagnosis(
        Verdict.NOT_MEASURED,
        f"{built.language.phrase} cannot be imported on this machine: {first}",
        hint="it is no fault of this file: `grade doctor` shows which versions are installed",
    )


def _not_executed(record: dict[str, Any], built: Built, limits: Limits, subject: str) -> Diagnosis:
    """Explain where the executor gave up: at what it cannot run, or in a loop without end."""
    place = _place_of(record, built)
    stuck = stuck_loop(built.text, built.language.base, record_line(record))
    at = f" ({built.file}:{stuck.line}): {stuck.why}" if stuck else _at(place)
    # The same words as where the host's loop uses up the time of the call itself.
    endless = {"endless": at, "repeated": at if stuck else f": {text_of(record, 'message')}"}
    if (where := endless.get(str(record.get("reason")))) is not None:
        return Diagnosis(
            Verdict.TIME_LIMIT,
            f"{subject} did not end within {limits.call_s:g} s{where}",
            hint=STUCK_HINT if stuck else LOOP_HINT,
        )
    return Diagnosis(
        Verdict.NOT_MEASURED,
        f"{place}: {text_of(record, 'message')}",
        hint="grade it on a machine with a GPU",
    )


# Triton's compiler names its errors so; Python's say that there is nothing to run.
_COMPILE_ERRORS = frozenset(
    {"CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct"}
)
_IMPORT_ERRORS = frozenset(
    {"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError"}
)


def _exception(record: dict[str, Any], built: Built, phase: Phase, subject: str) -> Diagnosis:
    kind, text = text_of(record, "type"), text_of(record, "message")
    place = _at(_place_of(record, built))
    if kind == "SystemExit":
        return Diagnosis(
            Verdict.RUNTIME_ERROR,
            f"{subject} ended the program with exit(){place}",
            hint=_EXIT_HINT,
        )
    compiling = kind in _COMPILE_ERRORS or (phase is Phase.LOADING and kind in _IMPORT_ERRORS)
    hint = source_hint(text, built.text, record_line(record)) or python_hint(
        text, gpu=built.device is Device.CUDA
    )
    if kind == "ModuleNotFoundError":
        hint = f"only {built.file} is graded: put all code into it, and import installed packages"
    if kind in _COMPILE_ERRORS and text:
        where = _place_of(record, built)
        return Diagnosis(Verdict.COMPILE_ERROR, f"{where}: {text}", hint=hint)
    return Diagnosis(
        Verdict.COMPILE_ERROR if compiling else Verdict.RUNTIME_ERROR,
        f"{subject} raised {f'{kind}: {text}' if text else kind}{place}",
        hint=hint,
    )


def python_hint(message: str, *, gpu: bool) -> str:
    """Return a hint for an exception's message, "" if there is none; `gpu`: raised on a GPU."""
    if gpu:
        return matching_hint(message, "python")
    return matching_hint(message, "python_without_gpu", "python", "python_without_gpu_last")


_WRAPPERS = {"Autotuner": "@triton.autotune", "Heuristics": "@triton.heuristics"}


def _bad_entry(problem: str, built: Built) -> Diagnosis:
    jit = KERNEL_MARKS.get(built.language, "kernel")
    match problem:
        case "missing":
            message = f"{built.file} defines no function `{built.entry}` when it is imported"
        case "kernel":
            message = (
                f"`{built.entry}` in {built.file} is a {jit} kernel; "
                "it must be an ordinary function that launches one"
            )
        case "Autotuner" | "Heuristics" if built.launched:
            mark = _WRAPPERS[problem]
            message = f"`{built.entry}` in {built.file} is wrapped in {mark}"
            hint = f"remove {mark}: the grader launches the kernel, and chooses its block size"
            return Diagnosis(Verdict.COMPILE_ERROR, message, hint=hint)
        case _ if built.launched:
            message = f"`{built.entry}` in {built.file} is no {jit} kernel"
            hint = f"define it at the top level: {jit}, then def {built.entry}(...)"
            return Diagnosis(Verdict.COMPILE_ERROR, message, hint=hint)
        case _:
            message = f"`{built.entry}` in {built.file} is not a function: its type is {problem}"
    return Diagnosis(
        Verdict.COMPILE_ERROR, message, hint=f"define it at the top level: def {built.entry}(...)"
    )


def _unloadable(text: str, built: Built) -> Diagnosis:
    _, undefined, symbol = text.partition("undefined symbol: ")
    if undefined:
        name = _plain_name(symbol)
        does = "declares" if name == built.entry else "uses"
        return Diagnosis(
            Verdict.COMPILE_ERROR,
            f"{built.file} {does} `{name}` but does not define it",
            hint=f"define it in {built.file}; check the spelling of its name",
        )
    # The folder of the build means nothing to the student.
    reason = text.replace(f"{built.path.parent}/", "").rpartition("/")[2] or "no reason was given"
    return Diagnosis(Verdict.COMPILE_ERROR, f"{built.file} cannot be loaded: {reason}")


def _plain_name(symbol: str) -> str:
    symbol = symbol.split()[0] if symbol.split() else symbol
    match = _MANGLED.match(symbol)
    return match[2][: int(match[1][:4])] if match else symbol


def _process_end(outcome: Outcome, built: Built, phase: Phase, subject: str) -> Diagnosis:
    ended = outcome.ended
    left_running = phase is Phase.BETWEEN_CALLS
    if ended is None or outcome.detail:
        return Diagnosis(
            Verdict.RUNTIME_ERROR,
            f"{subject} {outcome.detail}",
            hint="close no descriptor that you did not open",
        )
    if ended.signal is None:
        return Diagnosis(
            Verdict.RUNTIME_ERROR,
            f"{subject} ended the program with exit code {ended.exit_code}",
            hint=_LEFTOVER_HINT if left_running else _EXIT_HINT,
        )
    if ended.signal == signal.SIGXCPU:
        return Diagnosis(Verdict.TIME_LIMIT, f"{subject} used up its CPU time")
    crash = explain_crash(ended.signal, outcome, built)
    if left_running and not crash.in_kernel:
        # A damaged heap shows when the next thing is allocated or freed.
        return _crash(crash, f"after {built.entry} had returned, the program", _DAMAGED_HINT)
    return _crash(crash, subject, crash.hint)


def _crash(crash: Crash, subject: str, hint: str) -> Diagnosis:
    where = f"{_in_kernel(crash.kernel)}{_at(crash.place)}"
    if crash.wrote_input:
        # Not a memory error: a GPU permits the write, and the judge finds the changed input.
        return Diagnosis(
            Verdict.WRONG_ANSWER,
            f"{subject} wrote to `{crash.buffer}`, an input,{where}",
            hint=hint,
        )
    memory = crash.in_kernel and crash.bad_access
    return Diagnosis(
        Verdict.MEMORY_ERROR if memory else Verdict.RUNTIME_ERROR,
        f"{subject} crashed: {crash.what}{where}",
        hint=hint,
    )


def _place_of(record: dict[str, Any], built: Built) -> str:
    return source_place(record, built) or built.file


def _at(place: str) -> str:
    return f" ({place})" if place else ""


def _in_kernel(name: str) -> str:
    return f" in the kernel {name}" if name else ""
