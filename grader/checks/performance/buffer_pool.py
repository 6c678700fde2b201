"""Buffer sets for the timed calls of one benchmark, with fresh inputs for every burst.

Nothing that a submission keeps from an earlier call helps it in the next one. Before a burst the
inputs of its sets, and of some decoys, are drawn again, and all outputs are poisoned.
Inputs stay masked until the clock is about to start, and a few of their cells, the canaries, stay
wrong until the last moment: work that begins too early computes garbage.

    order     draw the sets that a burst calls: a random number of them, in random order
    refresh   draw inputs for those and for decoys, mask them, poison outputs
    arm       unmask; refuse if outputs have appeared already; restore the canaries
    sample    read a few cells of some outputs before the clock stops; first a piece of the last
              one, without a kernel, which would wait until the worker's had run
    judge     verify every output, that it is what the sample saw, and that the outputs of sets
              that were not called are untouched

A submission cannot know which call is the last of a burst, so it cannot leave work to that call;
nor can it work ahead, because some calls never come.

On a GPU launching this arithmetic costs more than running it, so operations on all sets are batched
and waited for once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from grader.assignment.cases import Case
from grader.checks.common.case_run import RunSetup, buffer_sets
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.performance.timed_inputs import TimedInputs, sealed
from grader.checks.performance.timed_outputs import TimedOutputs
from grader.judge.arguments import call_arguments, pack_run
from grader.judge.buffers import Buffer
from grader.judge.oracle import Oracle
from grader.report.verdict import Verdict
from grader.vocabulary import Device

_NAN = 0xFF  # in every byte, which is a NaN in every float type
_FEWEST_CALLED = 0.75  # as a share of the sets
_CANARIES = 64
_CELLS = 64  # of each output, for a sample
_SAMPLED_SETS = 3
_PIECE = 1024  # elements


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Cells of some sets' outputs, read before the clock stopped.

    `order` holds the sets that were called, `sets` those that were sampled. `pieces` are bytes of
    the outputs of the last set.
    """

    order: tuple[int, ...]
    sets: tuple[int, ...]
    values: torch.Tensor
    pieces: tuple[torch.Tensor, ...]


class _BufferSet:
    """The buffers of one call."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = buffers
        self.read = [b for b in buffers if b.role.read]
        self.written = [b for b in buffers if b.role.written]
        self.poisonable = [b for b in self.written if not b.role.read]
        # Flat views for reading and writing single cells.
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
        made: Sequence[Sequence[Buffer]],
        seed: int,
    ) -> None:
        self._oracle = oracle
        self._case = case
        self._language = setup.built.language
        self._sets = [_BufferSet(one) for one in made]
        self._signature = setup.assignment.signature_of(case)
        self._rng = random.Random(seed)
        self._device = torch.device("cuda" if setup.built.device is Device.CUDA else "cpu")
        self._generator = torch.Generator(self._device).manual_seed(seed)
        tolerances = {
            output.name: setup.assignment.tolerance(case, self._language, output.name)
            for output in self._signature.outputs
        }
        self._outputs = TimedOutputs(oracle, case, tolerances, self._generator)
        self._order: Sequence[int] = ()
        self._inputs = TimedInputs(random.Random(f"segments {seed}"), self._generator)
        self._cells: dict[str, torch.Tensor] = {}
        self._pieces: dict[str, slice] = {}
        # Every bit pattern may be a right integer, so integer poisons differ from burst to burst.
        self._poisons: dict[str, int] = {}

    @property
    def buffers(self) -> list[Buffer]:
        """All buffers, set after set, which is the order of the slots."""
        return [buffer for one in self._sets for buffer in one.buffers]

    @property
    def sets(self) -> int:
        """The number of sets."""
        return len(self._sets)

    def order(self, most: int) -> list[int]:
        """Draw the sets to call, in random order: at most `most`, at least 75 % of that."""
        fewest = max(1, math.ceil(_FEWEST_CALLED * most))
        return self._rng.sample(range(self.sets), self._rng.randint(fewest, most))

    def calls(self, order: Sequence[int]) -> bytes:
        """Return the payload that asks a worker for one call on each set of `order`."""
        case = self._case
        arguments = call_arguments(self._signature, self._language, case.sizes, dtype=case.dtype)
        return pack_run(arguments, len(self._signature.arrays), order)

    def refresh(self, order: Sequence[int], most: int = 0) -> None:
        """Draw the inputs of these sets anew, masked and with wrong canaries; poison all outputs.

        Refreshes decoys as well, up to `most` sets, so that new inputs and their order do not
        reveal which sets are called.
        """
        self._order = tuple(order)
        self._inputs.renew()
        self._choose_poisons_and_cells()
        canaries = {b.name: self._positions(b, _CANARIES) for b in self._sets[0].read}
        others = [number for number in range(self.sets) if number not in order]
        decoys = self._rng.sample(others, min(max(most - len(order), 0), len(others)))
        for number in sorted((*order, *decoys)):
            self._draw_inputs(number)
            self._inputs.write(number, self._sets[number].read, canaries)
        for number, one in enumerate(self._sets):
            for buffer in one.poisonable:
                # A set that was not called since still holds its poison.
                kept = one.poisoned and buffer.dtype.is_floating_point and number not in order
                if not kept:
                    buffer.poison(self._poisons[buffer.name])
            one.poisoned = True

    def _choose_poisons_and_cells(self) -> None:
        for buffer in self._sets[0].written:
            floating = buffer.dtype.is_floating_point
            self._poisons[buffer.name] = _NAN if floating else self._rng.randrange(256)
            self._cells[buffer.name] = self._positions(buffer, _CELLS)
            elements = buffer.size // buffer.dtype.itemsize
            begin = self._rng.randrange(max(elements - _PIECE, 0) + 1)
            self._pieces[buffer.name] = slice(begin, begin + _PIECE)

    def _draw_inputs(self, number: int) -> None:
        """Draw a set's inputs; an oracle with `refresh` changes the inputs of an earlier draw."""
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
        places = {self._rng.randrange(elements) for _ in range(count)}
        return torch.tensor(sorted(places), device=buffer.whole.device)

    def arm(self) -> Diagnosis | None:
        """Unmask inputs and restore canaries; return a diagnosis if outputs appeared early."""
        self._inputs.unmask()
        called = (self._sets[number] for number in self._order)
        early = self._touched(called)
        self._inputs.restore_canaries()
        self._wait()
        if early is not None:
            return Diagnosis(
                Verdict.TAMPERED,
                f"`{early}` was written to before the function was called",
                hint="end every thread, stream and kernel before the function returns",
            )
        return None

    def _touched(self, sets: Iterable[_BufferSet]) -> str | None:
        """Return the name of an output whose cells are not all poisoned, None if all are."""
        probed = [
            (buffer, one.flat[buffer.name][self._cells[buffer.name]].view(torch.uint8))
            for one in sets
            for buffer in one.poisonable
        ]
        if not probed:
            return None
        still = [(cells == self._poisons[buffer.name]).all() for buffer, cells in probed]
        if bool(torch.stack(still).all()):
            return None
        return next(buffer.name for (buffer, _), one in zip(probed, still, strict=True) if not one)

    def sample(self, order: Sequence[int]) -> Sample:
        """Read cells of the last set called and of other called sets, to host memory.

        The number of cells does not depend on the burst, so reading always takes the same time.
        """
        pieces = self._copied_pieces(order[-1])
        sets = (order[-1], *self._rng.choices(order, k=_SAMPLED_SETS - 1))
        values = self._gather(sets).to("cpu")
        return Sample(order=tuple(order), sets=sets, values=values, pieces=pieces)

    def _copied_pieces(self, number: int) -> tuple[torch.Tensor, ...]:
        """Copy a piece of each output of a set to host memory.

        A kernel may get its turn only after those of other processes, and then sees what a worker
        has not waited for as if it had. A copy needs no turn (docs/decisions/rounds.md).
        """
        one = self._sets[number]
        pieces = (one.flat[buffer.name][self._pieces[buffer.name]] for buffer in one.written)
        return tuple(piece.to("cpu", copy=True).view(torch.uint8) for piece in pieces)

    def _gather(self, sets: Sequence[int]) -> torch.Tensor:
        parts = [
            self._sets[number].flat[buffer.name][self._cells[buffer.name]].view(torch.uint8)
            for number in sets
            for buffer in self._sets[number].written
        ]
        return torch.cat(parts)

    def forget(self, order: Sequence[int]) -> None:
        """Mark the outputs of these sets as written to, for the next refresh."""
        for number in order:
            self._sets[number].poisoned = False

    def judge(self, sample: Sample) -> Diagnosis | None:
        """Verify every output of the burst; return what is wrong, None if nothing is."""
        self.forget(sample.order)
        called = [self._sets[number] for number in sample.order]
        idle = [one for number, one in enumerate(self._sets) if number not in sample.order]
        wrong = self._judge_guards(called)
        if wrong is None and (touched := self._touched(idle)) is not None:
            wrong = Diagnosis(
                Verdict.TAMPERED,
                f"`{touched}` was written to in a set of arrays that no call was given",
                hint="write to the arguments of the current call only",
            )
        if (wrong := wrong or self._judge_calls(sample.order)) is not None:
            return wrong
        now = (self._gather(sample.sets).cpu(), *self._copied_pieces(sample.order[-1]))
        if not all(map(torch.equal, now, (sample.values, *sample.pieces))):
            return Diagnosis(
                Verdict.TAMPERED,
                "outputs were written after the worker had answered",
                hint="finish all work before the function returns: no other streams, threads or "
                "processes",
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
            hint="every call gets new values, perhaps at the same address: keep nothing from one "
            "call to the next",
        )

    def _is_right(self, number: int) -> bool:
        one = self._sets[number]
        inputs = self._inputs.read_back(number, one.read)
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
            torch.cuda.synchronize()  # the workers' streams do not wait for ours


@contextmanager
def open_buffer_pool(
    setup: RunSetup, oracle: Oracle, case: Case, *, sets: int, seed: int
) -> Iterator[BufferPool]:
    """Allocate `sets` sets of the buffers of `case` for the time of the block.

    The baseline computes in the element types of the submission, that of `setup`. Raises
    GpuOutOfMemoryError if the GPU has too little memory for the buffers or for the block.
    """
    with buffer_sets(setup, case, sets) as made:
        yield BufferPool(setup, oracle, case, made, seed)
