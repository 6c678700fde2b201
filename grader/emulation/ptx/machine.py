"""Run a kernel: all threads of a batch of blocks, each instruction for those that are there.

    threads, each with its place ─→ the threads at the least place run from there to the next
                                    branch, join or barrier ─→ …, until all have ended

A barrier holds a thread until all threads of its block that have not ended are at one. Registers
are arrays of bits with an element for each thread.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.emulation.common.errors import KernelError, TimeLimitError
from grader.emulation.common.findings import Findings
from grader.emulation.common.location import Location
from grader.emulation.common.storage import View
from grader.emulation.ptx.instructions import Code, Registers, unsupported
from grader.emulation.ptx.memory import NOWHERE, Lanes, Memory, Part
from grader.emulation.ptx.operations import Values
from grader.emulation.ptx.parser import Instruction, Kernel
from grader.protocol.targets import WARP

_THREADS = 1 << 14  # of a batch: its registers stay in a core's caches
_MOST_LOCAL = 512 << 10  # bytes of a thread, as on a GPU
_MOST_BYTES = 256 << 20  # of the threads of a batch: their registers, or their local memory
_EVERY = 64  # steps between looks at the clock
# So often the threads that are furthest run first: others may wait for them.
_FAIR = 16


@dataclass(slots=True, kw_only=True)
class Launch:
    """A kernel on a grid of blocks, with a view or bytes for each of its parameters.

    A view is passed as the address of its first element.
    """

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Sequence[View | bytes]
    shared_bytes: int = 0  # dynamic


def execute(
    launch: Launch, memory: Memory, found: Findings, *, deadline_s: float | None = None
) -> int:
    """Run a launch to its end; return how many instructions ran. Findings go to `found`.

    Raises TimeLimitError after the moment `deadline_s` of `time.thread_time`, Unsupported for what
    the machine lacks, and KernelError.
    """
    kernel = launch.kernel
    found.kernel, found.grid = kernel.name, launch.grid
    memory.begin(launch.grid, launch.block)
    given = {
        name: memory.add_view(one).to_bytes(8, "little") if isinstance(one, View) else one
        for (name, _, _), one in zip(kernel.parameters, launch.arguments, strict=True)
    }
    code = kernel.prepared
    if not isinstance(code, Code):
        code = kernel.prepared = Code(kernel)
    threads = math.prod(launch.block)
    names = {one.parts[0] for one in kernel.code}
    # With fences, an atomic may say that another block's work is done. Blocks run one after the
    # other then, and are taken as ordered.
    alone = bool(names & {"membar", "fence"} and names & {"atom", "red"})
    memory.blocks_ordered = alone
    local = sum(array.size for array in kernel.arrays.values() if array.space == "local")
    if local > _MOST_LOCAL:
        raise unsupported(f"{local:,} bytes of local memory in a thread", None)
    of_thread = max(local, 8 * len(kernel.registers), 1)
    together = min(_THREADS, _MOST_BYTES // of_thread)
    size = 1 if alone else max(1, together // threads)
    blocks = math.prod(launch.grid)
    own = len(memory.windows)
    ran = 0
    with np.errstate(all="ignore"):
        for first in range(0, blocks, size):
            del memory.windows[own:]
            batch = _Batch(code, launch, memory, given, first, min(size, blocks - first))
            batch.deadline_s = deadline_s
            try:
                batch.run()
            except TimeLimitError as error:
                error.endless = first == 0 and not (alone and blocks > 1)
                raise
            ran += batch.ran
    return ran


class _Batch(Registers):
    """Some blocks, from number `first` on, and their registers."""

    def __init__(
        self, code: Code, launch: Launch, memory: Memory, given: dict[str, bytes],
        first: int, blocks: int,
    ) -> None:  # fmt: skip
        self.per_block = math.prod(launch.block)
        super().__init__(code, self.per_block * blocks)
        self.launch, self.memory, self.given = launch, memory, given
        self.deadline_s: float | None = None
        self.ran = 0
        memory.first_block = first
        numbers = np.arange(self.threads, dtype="i8")
        self.thread, self.block = numbers % self.per_block, numbers // self.per_block
        self.numbers = numbers
        self.epochs = np.zeros(blocks, dtype="i8")
        self.warp_epochs = np.zeros(self.threads, dtype="i8")
        self.place = np.zeros(self.threads, dtype="i8")
        self.waits = np.zeros(self.threads, dtype=bool)
        self.ended = np.zeros(self.threads, dtype=bool)
        self.parameters = {
            name: np.zeros((self.threads, size), dtype="u1")
            for name, size in code.kernel.locals.items()
        }
        self.symbols: dict[str, int] = {}
        for array in code.kernel.arrays.values():
            dynamic = array.space == "shared" and not array.size
            size = launch.shared_bytes if dynamic else array.size
            copies = {"shared": blocks, "local": self.threads}.get(array.space, 1)
            space = "const" if array.data else array.space
            self.symbols[array.name] = memory.add_array(array.name, space, size, copies, array.data)
        self._special = _specials(self, first)

    # ---- registers ----

    def special(self, name: str) -> Values:
        """Return what a register of the hardware holds, for all threads."""
        try:
            return self._special[name]
        except KeyError:
            raise unsupported(f"the register {name}", None) from None

    def lanes(self, who: Values | None) -> Lanes:
        """Return what orders the accesses of these threads."""
        threads = self.numbers if who is None else who
        blocks = self.block[threads]
        return Lanes(
            threads=threads,
            blocks=blocks,
            epochs=self.epochs[blocks],
            warp_epochs=self.warp_epochs[threads],
        )

    # ---- which threads run where ----

    def run(self) -> None:
        """Run until all threads have ended."""
        steps, kernel = self.code.steps, self.code.kernel
        turns = 0
        while True:
            ready = ~(self.waits | self.ended)
            if not ready.any():
                if self.ended.all():
                    return
                self._release()
                continue
            turns += 1
            places = self.place[ready] if not ready.all() else self.place
            furthest = self.code.fair and turns % _FAIR == 0
            at = int(places.max() if furthest else places.min())
            here = ready & (self.place == at)
            who = None if here.all() else np.flatnonzero(here)
            while at < len(steps):
                step, instruction = steps[at], kernel.code[at]
                self.ran += 1
                if self.ran % _EVERY == 0:
                    self._look_at_clock(instruction.line)
                if step is None:
                    self._stop(instruction, at, who)
                    break
                step(self, self._guarded(instruction, who))
                at += 1
                if at in self.code.joins:
                    self._go(who, at)
                    break
            else:
                self._end(who)

    def _guarded(self, instruction: Instruction, who: Values | None) -> Values | None:
        if instruction.guard is None:
            return who
        return self._taken(instruction, who)

    def _taken(self, instruction: Instruction, who: Values | None) -> Values:
        assert instruction.guard is not None
        name, wanted = instruction.guard
        held = self.bits(self.code.numbers[name])
        threads = self.numbers if who is None else who
        return threads[held[threads] == wanted]

    def _look_at_clock(self, line: int | None) -> None:
        if self.deadline_s is not None and time.thread_time() > self.deadline_s:
            raise TimeLimitError(None if line is None else Location("", line, 0))

    def _go(self, who: Values | None, place: int) -> None:
        if who is None:
            self.place[:] = place
        else:
            self.place[who] = place

    def _end(self, who: Values | None) -> None:
        if who is None:
            self.ended[:] = True
        else:
            self.ended[who] = True

    def _stop(self, instruction: Instruction, at: int, who: Values | None) -> None:
        """Run an instruction after which threads are at different places."""
        name = instruction.parts[0]
        taken = who if instruction.guard is None else self._taken(instruction, who)
        self._go(who, at + 1)
        if taken is not None and not len(taken):
            return
        if name == "bra":
            self._go(taken, self.code.kernel.labels[instruction.operands[0]])
        elif name in ("ret", "exit"):
            self._end(taken)
        elif name in ("bar", "barrier"):
            if instruction.parts[1] not in ("sync", "cta") or instruction.operands[:1] not in (
                ("0",),
                (),
            ):
                raise unsupported(f"`{'.'.join(instruction.parts)}`", instruction.line)
            self.waits[self.numbers if taken is None else taken] = True
        else:
            line = instruction.line
            raise KernelError(
                "the kernel has stopped itself", None if line is None else Location("", line, 0)
            )

    def _release(self) -> None:
        """Let the threads of each block go on that are all at a barrier."""
        waiting = self.waits
        if waiting.all() and bool((self.place == self.place[0]).all()):
            self.epochs += 1
            self.waits[:] = False
            return
        for block in np.unique(self.block[waiting]).tolist():
            mine = waiting & (self.block == block)
            places = np.unique(self.place[mine])
            reached, count = int(mine.sum()), self.per_block
            if len(places) > 1 or reached < count:
                who = np.flatnonzero(mine)
                line = self.code.kernel.code[int(places[-1]) - 1].line
                if len(places) > 1:
                    others = self.code.kernel.code[int(places[0]) - 1].line
                    words = (
                        f"threads of one block wait at different barriers, others in line {others}"
                    )
                else:
                    words = (
                        f"{reached} of {count} threads reach this barrier: the others have ended"
                    )
                self.memory.report(
                    "barrier", words, Part(NOWHERE, "load", self.lanes(None), who[-1:], line),
                    severity="error" if len(places) > 1 else "warning",
                )  # fmt: skip
        self.epochs[np.unique(self.block[waiting])] += 1
        self.waits[:] = False


def _specials(batch: _Batch, first: int) -> dict[str, Values]:
    launch = batch.launch
    found: dict[str, Values] = {}
    thread, block = batch.thread, batch.block + first
    for (x, y, z), number, names in (
        (launch.block, thread, ("%tid", "%ntid")),
        (launch.grid, block, ("%ctaid", "%nctaid")),
    ):
        parts = number % x, number // x % y, number // (x * y)
        for axis, part, extent in zip("xyz", parts, (x, y, z), strict=True):
            found[f"{names[0]}.{axis}"] = part.astype("u4")
            found[f"{names[1]}.{axis}"] = np.full(batch.threads, extent, dtype="u4")
    lane = (thread % WARP).astype("u4")
    one, ones = np.uint32(1), np.uint32(0xFFFFFFFF)
    below = (one << lane) - one
    found["%laneid"], found["%warpid"] = lane, (thread // WARP).astype("u4")
    found["%lanemask_eq"], found["%lanemask_lt"] = one << lane, below
    found["%lanemask_le"] = below | one << lane
    found["%lanemask_gt"], found["%lanemask_ge"] = ones ^ (below | one << lane), ones ^ below
    found["%dynamic_smem_size"] = np.full(batch.threads, launch.shared_bytes, dtype="u4")
    return found
