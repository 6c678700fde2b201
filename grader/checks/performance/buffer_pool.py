"""Many sets of buffers for one benchmark, with inputs that nobody has seen before.

What a hand-in could keep from an earlier call is worth nothing in the next:
before a burst the inputs that it will be given, and some that it will not, are
drawn anew and all outputs are poisoned. Such inputs are covered until the clock
is about to start, and a few of their cells, the canaries, stay wrong until the
last moment: what begins too early computes garbage.

    order     which sets a burst calls: a random number of them, in random order
    refresh   new inputs for those and for decoys, covered, canaries wrong, outputs poisoned
    arm       uncovered; have outputs appeared already? canaries put right: the clock may start
    sample    a few cells of some outputs: the judge's own read, before the clock stops
    judge     is every output right, is it still what the sample saw, and are the
              outputs of sets that were not called untouched?

A hand-in cannot know which call is a burst's last one, so it cannot leave work
to it; nor can it do the work of calls to come, for some never come.

On a GPU the arithmetic of all this takes less than asking for it: what can be
asked of all sets at once is asked once, and waited for once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from grader.assignment.model import Case
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.performance.timed_inputs import TimedInputs, sealed
from grader.checks.performance.timed_outputs import TimedOutputs
from grader.judge.arguments import call_arguments, pack_run
from grader.judge.buffers import Buffer, make_buffer
from grader.judge.gpu_out_of_memory import gpu_errors
from grader.judge.oracle import Oracle
from grader.report.verdict import Verdict
from grader.vocabulary import Device, Language

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


class _BufferSet:
    """The buffers of one call."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = buffers
        self.read = [b for b in buffers if b.role.read]
        self.written = [b for b in buffers if b.role.written]
        self.poisonable = [b for b in self.written if not b.role.read]
        # As they lie in memory, for reading and writing single cells.
        self.flat = {b.name: b.data_bytes.view(b.dtype) for b in buffers}
        self.filled = False
        self.poisoned = False


class BufferPool:
    """The buffers of `sets` calls; made by `open_buffer_pool`."""

    def __init__(
        self,
        setup: RunSetup,
        oracle: Oracle,
        case: Case,
        language: Language,
        made: Sequence[Sequence[Buffer]],
        seed: int,
    ) -> None:
        self._oracle = oracle
        self._case = case
        self._language = language
        self._sets = [_BufferSet(one) for one in made]
        self._signature = setup.assignment.signature
        self._chooser = random.Random(seed)
        self._device = torch.device("cuda" if setup.built.device is Device.CUDA else "cpu")
        self._generator = torch.Generator(self._device).manual_seed(seed)
        tolerance = setup.assignment.tolerance(case, language)
        self._outputs = TimedOutputs(oracle, case, tolerance, self._generator)
        self._order: Sequence[int] = ()
        self._inputs = TimedInputs(random.Random(f"segments {seed}"), self._generator)
        self._cells: dict[str, torch.Tensor] = {}
        # Of integers every pattern may be a right answer: theirs is another one each time.
        self._poisons: dict[str, int] = {}

    @property
    def buffers(self) -> list[Buffer]:
        """All buffers, set after set: the order of the slots."""
        return [buffer for one in self._sets for buffer in one.buffers]

    @property
    def sets(self) -> int:
        """How many sets there are."""
        return len(self._sets)

    def order(self, most: int) -> list[int]:
        """Return the sets to call, in a random order: at most `most` and most of those."""
        fewest = max(1, math.ceil(_FEWEST_CALLED * most))
        return self._chooser.sample(range(self.sets), self._chooser.randint(fewest, most))

    def calls(self, order: Sequence[int]) -> bytes:
        """Return the payload that asks a worker for one call on each set of `order`."""
        arguments = call_arguments(self._signature, self._language, self._case.sizes)
        return pack_run(arguments, len(self._signature.arrays), order)

    def refresh(self, order: Sequence[int], most: int = 0) -> None:
        """Draw the inputs of these sets anew and cover them, canaries wrong; poison all outputs.

        With those of others, so that they are `most`: what is new, and which is new first, does
        not tell what is called.
        """
        self._order = tuple(order)
        self._inputs.renew()
        self._choose()
        canaries = {b.name: self._positions(b, _CANARIES) for b in self._sets[0].read}
        others = [number for number in range(self.sets) if number not in order]
        decoys = self._chooser.sample(others, min(max(most - len(order), 0), len(others)))
        for number in sorted((*order, *decoys)):
            self._draw(number)
            self._inputs.give(number, self._sets[number].read, canaries)
        for number, one in enumerate(self._sets):
            for buffer in one.poisonable:
                # What no call has been given since is as it was.
                kept = one.poisoned and buffer.dtype.is_floating_point and number not in order
                if not kept:
                    buffer.poison(self._poisons[buffer.name])
            one.poisoned = True

    def _choose(self) -> None:
        for buffer in self._sets[0].written:
            floating = buffer.dtype.is_floating_point
            self._poisons[buffer.name] = _NAN if floating else self._chooser.randrange(256)
            self._cells[buffer.name] = self._positions(buffer, _CELLS)

    def _draw(self, number: int) -> None:
        """Draw inputs; where the oracle can change earlier ones in place, once for all sets."""
        one = self._sets[number]
        places = self._inputs.places(one.read)
        pattern = next((other for other in self._sets if other.filled), None)
        if not self._oracle.refreshes or pattern is None:
            fresh = self._oracle.inputs(self._case, self._language, self._generator)
            for name, place in places.items():
                place.copy_(fresh[name])
        elif not one.filled:
            for buffer in filter(sealed, one.read):
                one.flat[buffer.name].copy_(pattern.flat[buffer.name])
        one.filled = True
        if self._oracle.refreshes:
            self._oracle.refresh(self._case, places, self._generator)

    def _positions(self, buffer: Buffer, count: int) -> torch.Tensor:
        elements = buffer.size // buffer.dtype.itemsize
        places = {self._chooser.randrange(elements) for _ in range(count)}
        return torch.tensor(sorted(places), device=buffer.whole.device)

    def arm(self) -> Diagnosis | None:
        """Uncover the inputs and put the canaries right; say so if outputs have appeared by now."""
        self._inputs.uncover()
        called = (self._sets[number] for number in self._order)
        early = self._touched(called)
        self._inputs.put_right()
        self._wait()
        if early is not None:
            return Diagnosis(
                Verdict.TAMPERED,
                f"`{early}` was written to before the function was called",
                hint="end every thread, stream and kernel before the function returns",
            )
        return None

    def _touched(self, sets: Iterable[_BufferSet]) -> str | None:
        """Return the name of an output whose cells are no longer poisoned, None if all are."""
        asked = [
            (buffer, one.flat[buffer.name][self._cells[buffer.name]].view(torch.uint8))
            for one in sets
            for buffer in one.poisonable
        ]
        if not asked:
            return None
        still = [(cells == self._poisons[buffer.name]).all() for buffer, cells in asked]
        if bool(torch.stack(still).all()):
            return None
        return next(buffer.name for (buffer, _), one in zip(asked, still, strict=True) if not one)

    def sample(self, order: Sequence[int]) -> Sample:
        """Read cells of the set called last and of others that were called, to host memory.

        As many whatever was called, so that reading takes the same time always.
        """
        sets = (order[-1], *self._chooser.choices(order, k=_SAMPLED_SETS - 1))
        return Sample(order=tuple(order), sets=sets, values=self._gather(sets).to("cpu"))

    def _gather(self, sets: Sequence[int]) -> torch.Tensor:
        parts = [
            self._sets[number].flat[buffer.name][self._cells[buffer.name]].view(torch.uint8)
            for number in sets
            for buffer in self._sets[number].written
        ]
        return torch.cat(parts)

    def forget(self, order: Sequence[int]) -> None:
        """Count the outputs of these sets as written to, for the next refresh."""
        for number in order:
            self._sets[number].poisoned = False

    def judge(self, sample: Sample) -> Diagnosis | None:
        """Verify every output of the burst; say what is wrong, None if nothing is."""
        self.forget(sample.order)
        called = [self._sets[number] for number in sample.order]
        idle = [one for number, one in enumerate(self._sets) if number not in sample.order]
        wrong = self._judge_guards(called)
        if wrong is None and (touched := self._touched(idle)) is not None:
            wrong = Diagnosis(
                Verdict.TAMPERED,
                f"an `{touched}` was written to that no call had been given",
                hint="write to the arrays of the call, and to no others",
            )
        if (wrong := wrong or self._judge_calls(sample.order)) is not None:
            return wrong
        if not torch.equal(self._gather(sample.sets).cpu(), sample.values):
            return Diagnosis(
                Verdict.TAMPERED,
                "outputs were written after the worker had said that it was done",
                hint="wait for all work before the function's caller can look: no other streams, "
                "threads or processes",
            )
        return None

    def _judge_calls(self, order: Sequence[int]) -> Diagnosis | None:
        right = all(map(self._is_right, order))
        if (changed := self._inputs.changed()) is not None:
            return Diagnosis(Verdict.TAMPERED, f"`{changed}`, an input, was changed")
        if right:
            return None
        return Diagnosis(
            Verdict.TAMPERED,
            "outputs were right in the cases and wrong in timed calls",
            hint="every call gets new values at an address that may be the same: keep nothing "
            "from one call to the next",
        )

    def _is_right(self, number: int) -> bool:
        one = self._sets[number]
        inputs = self._inputs.taken_back(number, one.read)
        return self._outputs.right(inputs, {b.name: b.values for b in one.written})

    def _judge_guards(self, called: Sequence[_BufferSet]) -> Diagnosis | None:
        buffers = [buffer for one in called for buffer in one.buffers]
        intact = [buffer.intact() for buffer in buffers]
        if bool(torch.stack([one.to(self._device) for one in intact]).all()):
            return None
        broken = next(b.name for b, one in zip(buffers, intact, strict=True) if not one)
        message = f"wrote outside `{broken}` in a timed call"
        return Diagnosis(Verdict.MEMORY_ERROR, message)

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize()  # the workers' streams know nothing of ours


@contextmanager
def open_buffer_pool(
    setup: RunSetup, oracle: Oracle, case: Case, language: Language, *, sets: int, seed: int
) -> Iterator[BufferPool]:
    """Allocate `sets` sets of the buffers of `case` for the time of the block.

    `language` chooses the element types: the baseline computes in those of the
    hand-in that it is compared with. Raises NoRoomError if the GPU has no memory
    left for them, or for what the block does with them.
    """
    signature = setup.assignment.signature
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
                            device=setup.built.device,
                            private=False,
                            driver=setup.driver,
                        )
                    )
            yield BufferPool(setup, oracle, case, language, made, seed)
        finally:
            for one in made:
                for buffer in one:
                    buffer.close()
