"""Does the hand-in compute what it should? Case by case, judged on our snapshot.

For one case:

    fresh guarded buffers, inputs filled, outputs poisoned
    one call; then at once a private snapshot, guards and inputs compared
    right: accepted. Wrong: a second call on another poison tells the cells
    that were never written from those that were computed wrong
    at the end the shared memory is compared with the snapshot once more

A worker that crashes is replaced for the next case; after the second crash the
rest is not run. The first failure of a case is the one that counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from grader.build.product import Built
from grader.check.ending import Sentence, explain
from grader.errors import GraderError
from grader.evidence import CaseResult, CorrectnessEvidence
from grader.judge.buffers import Buffer, make_buffer
from grader.judge.compare import Comparison, compare, poison_bytes
from grader.judge.oracle import CaseData
from grader.judge.pattern import Scene, describe
from grader.judge.server import PythonServer
from grader.judge.session import Happening, Outcome, Session, pack_arguments
from grader.spec import Assignment, Case
from grader.verdict import Verdict
from grader.words import Device
from grader.worker import cuda_driver

_CRASHES_ALLOWED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a check of one built hand-in works with."""

    assignment: Assignment
    built: Built
    server: PythonServer | None
    driver: cuda_driver.Driver | None
    private: bool


def check_correctness(
    bench: Bench,
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    advance: Callable[[str], None],
) -> CorrectnessEvidence:
    """Run every case and judge it."""
    results: list[CaseResult] = []
    outputs: list[str] = []
    crashes = 0
    session: Session | None = None
    try:
        for case in cases:
            if crashes >= _CRASHES_ALLOWED:
                results.append(_skipped(case))
                continue
            started_s = time.monotonic()
            if session is None or not session.alive:
                session = _replace(bench, session, outputs)
                loaded = session.load()
            else:
                loaded = Outcome(happening=Happening.DONE)
            if loaded.done:
                judged = _CaseRun(bench, session, case, data(case)).judge()
            else:
                judged = _failed(
                    explain(loaded, bench.built, bench.assignment.limits, doing="loading")
                )
                crashes = _CRASHES_ALLOWED  # it would not load the next time either
            if judged.verdict in _CRASHES:
                crashes += 1
            results.append(_result(case, judged, time.monotonic() - started_s))
            advance(case.name)
    finally:
        if session is not None:
            outputs.append(session.output)
            session.close()
    tolerance = bench.assignment.tolerances[bench.built.language]
    return CorrectnessEvidence(
        cases=tuple(results),
        cases_total=len(cases),
        atol=tolerance.atol,
        rtol=tolerance.rtol,
        exact=tolerance.exact,
        transport="private" if bench.private else "shared",
        output="".join(outputs),
    )


def _replace(bench: Bench, old: Session | None, outputs: list[str]) -> Session:
    if old is not None:
        outputs.append(old.output)
        old.close()
    return Session(bench.built, bench.assignment.limits, bench.server)


# After these the same would most likely happen again.
_CRASHES = frozenset(
    {
        Verdict.RUNTIME_ERROR,
        Verdict.COMPILE_ERROR,
        Verdict.OUTPUT_LIMIT,
        Verdict.TIME_LIMIT,
        Verdict.MEMORY_LIMIT,
        Verdict.TAMPERED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    verdict: Verdict
    message: str
    hint: str = ""
    comparison: Comparison | None = None
    pattern: str | None = None
    elements: int = 0
    mismatched: int = 0


def _failed(sentence: Sentence) -> _Judged:
    return _Judged(verdict=sentence.verdict, message=sentence.message, hint=sentence.hint)


def _skipped(case: Case) -> CaseResult:
    return CaseResult(
        name=case.name,
        visibility=case.visibility,
        sizes=dict(case.sizes),
        verdict=Verdict.SKIPPED,
        message="not run: the hand-in had failed to run before",
    )


def _result(case: Case, judged: _Judged, wall_s: float) -> CaseResult:
    comparison = judged.comparison
    return CaseResult(
        name=case.name,
        visibility=case.visibility,
        sizes=dict(case.sizes),
        verdict=judged.verdict,
        message=judged.message,
        hint=judged.hint,
        elements=judged.elements,
        mismatched=judged.mismatched,
        mismatches=comparison.mismatches() if comparison else (),
        pattern=judged.pattern,
        max_error=comparison.max_error if comparison else None,
        wall_s=wall_s,
    )


class _CaseRun:
    """One case on one session."""

    def __init__(self, bench: Bench, session: Session, case: Case, data: CaseData) -> None:
        self._bench = bench
        self._session = session
        self._case = case
        self._data = data
        self._signature = bench.assignment.signature
        self._language = bench.built.language
        self._tolerance = bench.assignment.tolerances[self._language]
        self._poisons = {
            name: self._poison_pair(name, expected) for name, expected in data.expected.items()
        }

    def judge(self) -> _Judged:
        """Call, snapshot, compare."""
        with self._buffers() as buffers:
            judged, snapshots = self._once(buffers, poison=0)
            if judged is not None:
                return judged
            comparisons = self._compare(snapshots)
            wrong = next((c for c in comparisons if not c.accepted), None)
            elements = sum(c.wrong.numel() for c in comparisons)
            late = self._late(buffers, snapshots)
            if late is not None:
                return late
            if wrong is None:
                return _Judged(verdict=Verdict.ACCEPTED, message="right", elements=elements)
            pattern = self._pattern(buffers, wrong, snapshots)
            mismatched = sum(c.mismatched for c in comparisons)
        verb = "is" if mismatched == 1 else "are"
        of = f" of `{wrong.output}`" if len(comparisons) > 1 else ""
        return _Judged(
            verdict=Verdict.WRONG_ANSWER,
            message=f"{mismatched} of {elements} elements{of} {verb} wrong"
            + (f": {pattern}" if pattern else ""),
            comparison=wrong,
            pattern=pattern,
            elements=elements,
            mismatched=mismatched,
        )

    def _poison_pair(self, name: str, expected: torch.Tensor) -> tuple[int, int]:
        argument = next(a for a in self._signature.outputs if a.name == name)
        kind = self._signature.element_type(argument, self._language)
        try:
            return poison_bytes(expected, getattr(torch, kind.word), self._tolerance)
        except ValueError as error:
            raise GraderError(
                f"{self._bench.assignment.oracle}: {self._case.name}: {error}"
            ) from error

    @contextmanager
    def _buffers(self) -> Iterator[list[Buffer]]:
        """Make the case's buffers and show them to the worker, for the time of the block."""
        made: list[Buffer] = []
        try:
            for argument in self._signature.arrays:
                made.append(
                    make_buffer(
                        name=argument.name,
                        role=argument.role,
                        kind=self._signature.element_type(argument, self._language),
                        shape=self._signature.shape(argument, self._case.sizes),
                        memory=argument.memory,
                        device=self._bench.built.device,
                        private=self._bench.private,
                        driver=self._bench.driver,
                    )
                )
            yield made
            if self._session.alive:
                self._session.detach()
        finally:
            for buffer in made:
                buffer.close()

    def _once(
        self, buffers: list[Buffer], *, poison: int
    ) -> tuple[_Judged | None, dict[str, torch.Tensor]]:
        """Fill, call, snapshot; return what went wrong, or None, and the snapshots."""
        self._fill(buffers, poison)
        # Attaching again for the second call would be harmless but is not needed.
        outcome = self._session.attach(buffers) if poison == 0 else None
        if outcome is not None and not outcome.done:
            raise GraderError(f"the worker could not map its buffers ({outcome.happening.value})")
        outcome = self._session.call(self._arguments(), private=self._bench.private)
        snapshots = {b.name: b.snapshot() for b in buffers if b.role.written}
        breach = self._breach(buffers)
        if breach is not None:
            return breach, snapshots
        if not outcome.done:
            doing = f"calling {self._signature.entry}"
            limits = self._bench.assignment.limits
            return _failed(explain(outcome, self._bench.built, limits, doing=doing)), snapshots
        return self._changed_input(buffers), snapshots

    def _fill(self, buffers: list[Buffer], poison: int) -> None:
        for buffer in buffers:
            if buffer.role.read:
                buffer.fill(self._data.inputs[buffer.name])
            else:
                buffer.poison(self._poisons[buffer.name][poison])
        if self._bench.built.device is Device.CUDA:
            torch.cuda.synchronize()  # the worker's streams know nothing of ours

    def _arguments(self) -> bytes:
        slots = {argument.name: slot for slot, argument in enumerate(self._signature.arrays)}
        kinds = [
            (a, self._signature.element_type(a, self._language)) for a in self._signature.arguments
        ]
        values = [
            slots[a.name] if a.is_array else self._signature.scalar(a, self._case.sizes)
            for a in self._signature.arguments
        ]
        return pack_arguments(kinds, values)

    def _breach(self, buffers: list[Buffer]) -> _Judged | None:
        for buffer in buffers:
            offset = buffer.breach()
            if offset is None:
                continue
            width = buffer.size // max(1, _count(buffer))
            if offset < 0:
                place = f"{-(offset // width)} elements before the first of"
            else:
                place = f"{(offset - buffer.size) // width + 1} elements past the last of"
            return _Judged(
                verdict=Verdict.MEMORY_ERROR,
                message=f"wrote {place.replace('1 elements', '1 element')} `{buffer.name}`",
                hint="an index is outside its array: look for a missing guard such as `if (i < n)`",
            )
        return None

    def _changed_input(self, buffers: list[Buffer]) -> _Judged | None:
        for buffer in buffers:
            if buffer.role.written:
                continue
            given = self._data.inputs[buffer.name].contiguous().view(-1).view(torch.uint8)
            if not torch.equal(buffer.data_bytes.cpu(), given):
                return _Judged(
                    verdict=Verdict.WRONG_ANSWER,
                    message=f"`{buffer.name}` was changed: it is an input",
                    hint="inputs are read-only: write to the output",
                )
        return None

    def _compare(self, snapshots: dict[str, torch.Tensor]) -> list[Comparison]:
        return [
            compare(name, snapshots[name], expected, self._tolerance)
            for name, expected in self._data.expected.items()
        ]

    def _late(self, buffers: list[Buffer], snapshots: dict[str, torch.Tensor]) -> _Judged | None:
        """Look again: nothing of the hand-in should be running any more."""
        for buffer in buffers:
            if buffer.role.written and not torch.equal(
                buffer.data_bytes.cpu(), snapshots[buffer.name].view(-1).view(torch.uint8)
            ):
                return _Judged(
                    verdict=Verdict.TAMPERED,
                    message=f"`{buffer.name}` was written to after the call had ended",
                )
        return None

    def _pattern(
        self, buffers: list[Buffer], wrong: Comparison, first: dict[str, torch.Tensor]
    ) -> str | None:
        unwritten = torch.zeros_like(wrong.wrong)
        buffer = next(b for b in buffers if b.name == wrong.output)
        if not buffer.role.read:
            failed, second = self._once(buffers, poison=1)
            if failed is None:
                low, high = self._poisons[wrong.output]
                unwritten = _holds(first[wrong.output], low) & _holds(second[wrong.output], high)
        return describe(
            Scene(
                comparison=wrong,
                inputs=self._data.inputs,
                unwritten=unwritten,
                tolerance=self._tolerance,
            )
        )


def _count(buffer: Buffer) -> int:
    count = 1
    for extent in buffer.shape:
        count *= extent
    return count


def _holds(values: torch.Tensor, byte: int) -> torch.Tensor:
    """Mark the elements all of whose bytes are `byte`."""
    raw = values.contiguous().view(-1).view(torch.uint8).view(-1, values.element_size())
    return (raw == byte).all(dim=1).view(values.shape)
