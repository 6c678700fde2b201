"""Many sets of buffers for one benchmark, with inputs that nobody has seen before.

What a hand-in could keep from an earlier call is worth nothing in the next:
before every burst all inputs are drawn anew and all outputs poisoned. A few
cells of every input, the canaries, stay wrong until the clock is about to
start: what begins too early computes garbage.

    refresh   new inputs, canaries wrong, outputs poisoned
    order     which sets a burst calls: a random number of them, in random order
    arm       have outputs appeared already? canaries put right: the clock may start
    sample    a few cells of some outputs: the judge's own read, before the clock stops
    judge     is every output right, is it still what the sample saw, and are the
              outputs of sets that were not called untouched?

A hand-in cannot know which call is a burst's last one, so it cannot leave work
to it; nor can it do the work of calls to come, for some never come.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from grader.check.ending import Sentence
from grader.check.stage import Bench
from grader.judge.arguments import call_arguments, pack_run
from grader.judge.buffers import Buffer, make_buffer
from grader.judge.compare import accepts
from grader.judge.oracle import Oracle
from grader.judge.room import gpu_errors
from grader.spec import Case
from grader.verdict import Verdict
from grader.words import Device, Language
from grader.worker import wire

_NAN = 0xFF  # in every byte: a NaN in every float type
_FEWEST_CALLED = 0.75  # share of the sets
_CANARIES = 64
_CELLS = 64  # of one output, for a sample
_SAMPLED_SETS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the judge read before it stopped the clock: cells of some sets' outputs.

    `order` holds the sets that were called, `sets` those that were looked at.
    """

    order: tuple[int, ...]
    sets: tuple[int, ...]
    values: torch.Tensor


class Field:
    """The buffers of `sets` calls; made by `open_field`."""

    def __init__(
        self,
        bench: Bench,
        oracle: Oracle,
        case: Case,
        language: Language,
        made: Sequence[Sequence[Buffer]],
        seed: int,
    ) -> None:
        self._bench = bench
        self._oracle = oracle
        self._case = case
        self._language = language
        self._sets = made
        self._signature = bench.assignment.signature
        self._tolerance = bench.assignment.tolerance(case, language)
        self._chooser = random.Random(seed)
        self._device = torch.device("cuda" if bench.built.device is Device.CUDA else "cpu")
        self._generator = torch.Generator(self._device).manual_seed(seed)
        self._filled = False
        self._sums: list[list[int]] = []
        self._right: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        self._cells: dict[str, torch.Tensor] = {}
        self._poisons: dict[str, int] = {}

    @property
    def buffers(self) -> list[Buffer]:
        """All buffers, set after set: the order of the slots."""
        return [buffer for one in self._sets for buffer in one]

    @property
    def sets(self) -> int:
        """How many sets there are."""
        return len(self._sets)

    def order(self, most: int, fewest: int | None = None) -> list[int]:
        """Return the sets to call, in a random order: at most `most` and most of those."""
        if fewest is None:
            fewest = max(1, math.ceil(_FEWEST_CALLED * most))
        return self._chooser.sample(range(self.sets), self._chooser.randint(fewest, most))

    def calls(self, order: Sequence[int]) -> bytes:
        """Return the payload that asks a worker for one call on each set of `order`."""
        arguments = call_arguments(self._signature, self._language, self._case.sizes)
        return pack_run(arguments, len(self._signature.arrays), order)

    def refresh(self) -> None:
        """Draw all inputs anew, leave the canaries wrong, and poison all outputs."""
        self._right.clear()
        self._sums.clear()
        for buffer in self._sets[0]:
            if buffer.role.written:
                # Another one each time: in integers any of them may be a right answer.
                floating = buffer.dtype.is_floating_point
                self._poisons[buffer.name] = _NAN if floating else self._chooser.randrange(256)
                self._cells[buffer.name] = self._positions(buffer, _CELLS)
        for one in self._sets:
            self._fill(one)
            sums = []
            for buffer in one:
                if buffer.role.read:
                    sums.append(0 if _sealed(buffer) else _sum(buffer))
                    self._hide_canaries(buffer)
                else:
                    buffer.poison(self._poisons[buffer.name])
            self._sums.append(sums)
        self._filled = True
        self._wait()

    def _fill(self, one: Sequence[Buffer]) -> None:
        """Draw inputs; where the oracle can change old ones in place, that is enough."""
        read = [buffer for buffer in one if buffer.role.read]
        if self._filled and self._oracle.refreshes:
            self._oracle.refresh(self._case, {b.name: b.values for b in read}, self._generator)
            return
        fresh = self._oracle.inputs(self._case, self._language, self._generator)
        for buffer in read:
            buffer.fill(fresh[buffer.name])

    def _hide_canaries(self, buffer: Buffer) -> None:
        flat = buffer.data_bytes.view(buffer.dtype)
        places = self._positions(buffer, min(_CANARIES, flat.numel()))
        right = flat[places]
        # Other values of the same array: nothing tells them from right ones.
        flat[places] = right.roll(1) if right.numel() > 1 else torch.zeros_like(right)
        self._right.append((flat, places, right))

    def _positions(self, buffer: Buffer, count: int) -> torch.Tensor:
        elements = buffer.size // buffer.dtype.itemsize
        places = [self._chooser.randrange(elements) for _ in range(count)]
        return torch.tensor(sorted(set(places)), device=buffer.whole.device)

    def arm(self) -> Sentence | None:
        """Put the canaries right; say so if outputs have appeared by now."""
        early = [
            buffer
            for one in self._sets
            for buffer in one
            if not buffer.role.read and not self._poisoned(buffer)
        ]
        for flat, places, right in self._right:
            flat[places] = right
        self._wait()
        if early:
            return Sentence(
                verdict=Verdict.TAMPERED,
                message=f"`{early[0].name}` was written to before the function was called",
                hint="end every thread, stream and kernel before the function returns",
            )
        return None

    def _poisoned(self, buffer: Buffer) -> bool:
        cells = buffer.data_bytes.view(buffer.dtype)[self._cells[buffer.name]]
        return bool((cells.view(torch.uint8) == self._poisons[buffer.name]).all())

    def sample(self, order: Sequence[int]) -> Sample:
        """Read cells of the set called last and of others that were called, to host memory.

        As many whatever was called, so that reading takes the same time always.
        """
        sets = (order[-1], *self._chooser.choices(order, k=_SAMPLED_SETS - 1))
        return Sample(order=tuple(order), sets=sets, values=self._gather(sets).to("cpu"))

    def _gather(self, sets: Sequence[int]) -> torch.Tensor:
        parts = [
            buffer.data_bytes.view(buffer.dtype)[self._cells[buffer.name]].view(torch.uint8)
            for number in sets
            for buffer in self._sets[number]
            if buffer.role.written
        ]
        return torch.cat(parts)

    def judge(self, sample: Sample) -> Sentence | None:
        """Verify every output of the burst; say what is wrong, None if nothing is."""
        for number, one in enumerate(self._sets):
            called = number in sample.order
            wrong = self._judge_set(number, one) if called else self._judge_idle(one)
            if wrong is not None:
                return wrong
        if not torch.equal(self._gather(sample.sets).cpu(), sample.values):
            return Sentence(
                verdict=Verdict.TAMPERED,
                message="outputs were written after the worker had said that it was done",
                hint="wait for all work before the function's caller can look: no other streams, "
                "threads or processes",
            )
        return None

    def _judge_idle(self, one: Sequence[Buffer]) -> Sentence | None:
        for buffer in one:
            if buffer.role.written and not self._poisoned(buffer):
                return Sentence(
                    verdict=Verdict.TAMPERED,
                    message=f"an `{buffer.name}` was written to that no call had been given",
                    hint="write to the arrays of the call, and to no others",
                )
        return None

    def _judge_set(self, number: int, one: Sequence[Buffer]) -> Sentence | None:
        for buffer, before in zip((b for b in one if b.role.read), self._sums[number], strict=True):
            if not _sealed(buffer) and _sum(buffer) != before:
                return Sentence(
                    verdict=Verdict.TAMPERED, message=f"`{buffer.name}`, an input, was changed"
                )
        for buffer in one:
            if buffer.breach() is not None:
                message = f"wrote outside `{buffer.name}` in a timed call"
                return Sentence(verdict=Verdict.MEMORY_ERROR, message=message)
        inputs = {b.name: b.values for b in one if b.role.read}
        outputs = {b.name: b.values for b in one if b.role.written}
        if not self._is_right(inputs, outputs):
            return Sentence(
                verdict=Verdict.TAMPERED,
                message="outputs were right in the cases and wrong in timed calls",
                hint="every call gets new values at an address that may be the same: keep nothing "
                "from one call to the next",
            )
        return None

    def _is_right(self, inputs: dict[str, torch.Tensor], outputs: dict[str, torch.Tensor]) -> bool:
        if self._oracle.verifies:
            return self._oracle.verify(self._case, inputs, outputs, self._generator)
        expected = self._oracle.expected(self._case, self._oracle.given(self._case, inputs))
        return all(
            bool(accepts(outputs[name], wanted.to(outputs[name].device), self._tolerance).all())
            for name, wanted in expected.items()
        )

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize()  # the workers' streams know nothing of ours


def _sealed(buffer: Buffer) -> bool:
    """True for inputs in host memory: their files are sealed against the worker's writing."""
    return buffer.where == wire.HOST and not buffer.role.written


def _sum(buffer: Buffer) -> int:
    """Return a sum over the bits of the data: cheap, and enough to see a change."""
    data = buffer.data_bytes
    whole = data.numel() // 4 * 4
    rest = int(data[whole:].sum(dtype=torch.int64))
    return int(data[:whole].view(torch.int32).sum(dtype=torch.int64)) * 1021 + rest


@contextmanager
def open_field(
    bench: Bench, oracle: Oracle, case: Case, language: Language, *, sets: int, seed: int
) -> Iterator[Field]:
    """Allocate `sets` sets of the buffers of `case` for the time of the block.

    `language` chooses the element types: the baseline computes in those of the
    hand-in that it is compared with. Raises NoRoomError if the GPU has no memory
    left for them, or for what the block does with them.
    """
    signature = bench.assignment.signature
    made: list[list[Buffer]] = []
    with gpu_errors():
        try:
            for _ in range(sets):
                made.append([])
                for argument in signature.arrays:
                    made[-1].append(
                        make_buffer(
                            name=argument.name,
                            role=argument.role,
                            kind=signature.element_type(argument, language),
                            shape=signature.shape(argument, case.sizes),
                            memory=argument.memory,
                            device=bench.built.device,
                            private=False,
                            driver=bench.driver,
                        )
                    )
            yield Field(bench, oracle, case, language, made, seed)
        finally:
            for one in made:
                for buffer in one:
                    buffer.close()
