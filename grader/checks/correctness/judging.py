"""Judge each case of a submission on the judge's own snapshot of the outputs.

For each case:

    allocate guarded buffers, fill the inputs, poison the outputs
    call the entry, take a private snapshot at once, verify guards and inputs
    compare the snapshot with the expected values
    wrong: call again with another poison, to distinguish cells that were never
    written from cells that were computed wrong
    compare the shared memory with the snapshot again

A worker that crashes is replaced for the next case; after the second crash the remaining cases are
not run. After a call that exceeded its time limit, the next calls get a part of the limit, because
a loop that never ends would exceed it again. The first failure of a case decides its verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from grader.assignment.cases import Case
from grader.assignment.model import Limits
from grader.checks.common.case_run import CaseRun, RunSetup
from grader.checks.common.crash import OUTSIDE_HINT
from grader.checks.common.diagnosis import Diagnosis, Phase, explain
from grader.checks.common.executor_findings import fault
from grader.checks.common.findings import INPUT_HINT
from grader.judge.buffers import Buffer
from grader.judge.compare import Comparison, accepts
from grader.judge.error_map import error_map
from grader.judge.error_pattern import TORN, PatternInput, count_unwritten_bytes, describe
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError
from grader.judge.oracle import CaseData
from grader.judge.outcome import Outcome, Status
from grader.judge.session import Session
from grader.report.evidence import CaseResult, CorrectnessEvidence, ErrorMap
from grader.report.verdict import Verdict
from grader.vocabulary import Language, Visibility

_CRASHES_ALLOWED = 2
_TIME_SHARE_AFTER_TIMEOUT = 0.25
_NONDETERMINISTIC_HINT = (
    "a second call with the same inputs gave other results: look for state kept between calls, "
    "uninitialized memory and data races"
)
_MASK_HINT = (
    "an index is outside its tensor: look for a load or store without its mask, `mask=offsets < n`"
)
# Elements of a case that is drawn, if there is one.
_ENOUGH_FOR_A_MAP = 256
_NARROW = 16  # cells
# How long processes that a call left behind get to write to the outputs.
_LEFTOVER_PROCESS_S = 0.03


def check_correctness(
    setup: RunSetup,
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    advance: Callable[[str], None],
    on_record: Callable[[dict[str, Any]], None] = lambda record: None,
) -> CorrectnessEvidence:
    """Run every case and judge it; `on_record` gets each record of Triton's executor.

    Output is kept for visible cases only, because a submission may print the sizes that it gets.
    """
    limits = setup.assignment.limits
    results: list[CaseResult] = []
    outputs: list[str] = []
    crashes: list[Verdict] = []
    session: Session | None = None
    visibility = Visibility.VISIBLE
    try:
        for case in cases:
            if len(crashes) >= _CRASHES_ALLOWED:
                results.append(_not_run(case, crashes))
                continue
            started_s = time.monotonic()
            if session is not None and case.visibility is not visibility:
                _keep_output(session, visibility, outputs)
                # Kernels compiled later could reveal the sizes of hidden cases.
                session.contribute_kernels()
            visibility = case.visibility
            if session is None or not session.alive:
                _end(session, visibility, outputs)
                shown = visibility is Visibility.VISIBLE
                session = Session(setup.built, limits, setup.server, contributes=shown)
                loaded = session.load()
            else:
                loaded = Outcome(status=Status.DONE)
            if loaded.done:
                judged = _CaseRun(setup, session, case, data(case), on_record, limits).judge()
            else:
                judged = _failed(explain(loaded, setup.built, limits, Phase.LOADING))
                crashes += [judged.verdict] * _CRASHES_ALLOWED  # loading would fail again
            if judged.verdict in _CRASHES:
                crashes.append(judged.verdict)
            if judged.verdict is Verdict.TIME_LIMIT:
                whole = setup.assignment.limits
                limits = replace(whole, call_s=_TIME_SHARE_AFTER_TIMEOUT * whole.call_s)
            results.append(_result(case, judged, time.monotonic() - started_s))
            advance(case.name)
    finally:
        _end(session, visibility, outputs)
    tolerance = setup.assignment.tolerances[setup.built.language]
    return CorrectnessEvidence(
        cases=_one_map(results),
        cases_total=len(cases),
        atol=tolerance.atol,
        rtol=tolerance.rtol,
        exact=tolerance.exact,
        transport="private" if setup.private else "shared",
        output="".join(outputs),
    )


def _end(session: Session | None, visibility: Visibility, outputs: list[str]) -> None:
    if session is not None:
        _keep_output(session, visibility, outputs)
        session.close()


def _keep_output(session: Session, visibility: Visibility, outputs: list[str]) -> None:
    """Append the output of the cases so far if they are visible; discard it otherwise."""
    if visibility is Visibility.VISIBLE:
        outputs.append(session.output)
    session.forget_output()


# After these verdicts the next case would most likely end the same way.
_CRASHES = frozenset(
    {
        Verdict.RUNTIME_ERROR,
        Verdict.COMPILE_ERROR,
        Verdict.OUTPUT_LIMIT,
        Verdict.TIME_LIMIT,
        Verdict.MEMORY_LIMIT,
        Verdict.TAMPERED,
        Verdict.NOT_MEASURED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgement:
    verdict: Verdict
    message: str
    hint: str = ""
    comparison: Comparison | None = None
    pattern: str | None = None
    elements: int = 0
    mismatched: int = 0
    error_map: ErrorMap | None = None


def _failed(diagnosis: Diagnosis) -> _Judgement:
    return _Judgement(verdict=diagnosis.verdict, message=diagnosis.message, hint=diagnosis.hint)


def _not_run(case: Case, crashes: Sequence[Verdict]) -> CaseResult:
    """Return the result of a case that is not run.

    Its points are pending, not lost, if the earlier cases could not be measured either.
    """
    failed = any(verdict is not Verdict.NOT_MEASURED for verdict in crashes)
    why = "the submission failed in earlier cases" if failed else "see the earlier cases"
    return CaseResult(
        name=case.name,
        visibility=case.visibility,
        sizes=dict(case.sizes),
        verdict=Verdict.SKIPPED if failed else Verdict.NOT_MEASURED,
        message=f"not run: {why}",
    )


def _result(case: Case, judged: _Judgement, wall_s: float) -> CaseResult:
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
        error_map=judged.error_map,
    )


def _one_map(results: Sequence[CaseResult]) -> tuple[CaseResult, ...]:
    """Return the results; of the wrong cases of each visibility one keeps its error map.

    It is the smallest with enough elements to show a pattern, of matrices one that is not narrow.
    """
    best: dict[Visibility, CaseResult] = {}

    def rank(result: CaseResult) -> tuple[bool, bool, int]:
        small = result.elements < _ENOUGH_FOR_A_MAP
        cells = result.error_map.cells if result.error_map else ()
        narrow = len(result.error_map.shape) > 1 if result.error_map else False
        narrow = narrow and min(len(cells), *map(len, cells)) < _NARROW
        return small, narrow, -result.elements if small else result.elements

    for result in results:
        before = best.get(result.visibility)
        if result.error_map and (before is None or rank(result) < rank(before)):
            best[result.visibility] = result
    return tuple(
        result if result is best.get(result.visibility) else replace(result, error_map=None)
        for result in results
    )


class _CaseRun:
    """One case in one session."""

    def __init__(
        self,
        setup: RunSetup,
        session: Session,
        case: Case,
        data: CaseData,
        on_record: Callable[[dict[str, Any]], None],
        limits: Limits,
    ) -> None:
        self._setup = setup
        self._on_record = on_record
        self._limits = limits
        self._session = session
        self._case_run = CaseRun(setup, case, data)
        self._data = data
        self._returned = False  # True if the entry returned a value, which is ignored
        self._nondeterministic = False  # True if the second call gave other values

    def judge(self) -> _Judgement:
        """Judge the case; report it if the submission holds all of the GPU's memory."""
        try:
            return self._attach_and_call()
        except GpuOutOfMemoryError as error:
            return _failed(self._case_run.out_of_memory(self._session, error))

    def _attach_and_call(self) -> _Judgement:
        """Attach the buffers, judge the case, and detach them."""
        with self._case_run.buffers() as buffers:
            attached = self._session.attach(buffers)
            if not attached.done:
                return self._failure(attached, Phase.BETWEEN_CALLS)
            judged = self._judge(buffers)
            if not self._session.alive:
                return judged
            detached = self._session.detach()
        stray = detached.status is Status.STRAY_ANSWER
        if stray or (judged.verdict is Verdict.ACCEPTED and not detached.done):
            return self._failure(detached, Phase.BETWEEN_CALLS)
        return judged

    def _failure(self, outcome: Outcome, phase: Phase) -> _Judgement:
        diagnosis = explain(outcome, self._setup.built, self._limits, phase)
        usual_s = self._setup.assignment.limits.call_s
        timed_out = diagnosis.verdict is Verdict.TIME_LIMIT and phase is Phase.CALLING
        if timed_out and self._limits.call_s < usual_s:
            note = (
                f"{diagnosis.message} (reduced from {usual_s:g} s because an earlier call did not "
                "end)"
            )
            diagnosis = replace(diagnosis, message=note)
        return _failed(diagnosis)

    def _judge(self, buffers: list[Buffer]) -> _Judgement:
        """Call, snapshot, compare."""
        judged, snapshots = self._call_once(buffers, poison=0)
        if judged is not None:
            return judged
        comparisons = self._case_run.compare(snapshots)
        wrong = next((c for c in comparisons if not c.accepted), None)
        elements = sum(c.wrong.numel() for c in comparisons)
        if self._session.has_other_processes:
            time.sleep(_LEFTOVER_PROCESS_S)
        written_late = self._written_late(buffers, snapshots)
        if written_late is not None:
            return written_late
        if wrong is None:
            return _Judgement(verdict=Verdict.ACCEPTED, message="right", elements=elements)
        unwritten_bytes = self._unwritten_bytes(buffers, wrong, snapshots)
        given = PatternInput(
            comparison=wrong,
            inputs=self._data.inputs,
            unwritten_bytes=unwritten_bytes,
            tolerance=self._case_run.tolerance,
        )
        pattern = describe(given)
        mismatched = sum(c.mismatched for c in comparisons)
        verb = "is" if mismatched == 1 else "are"
        of = f" of `{wrong.output}`" if len(comparisons) > 1 else ""
        return _Judgement(
            verdict=Verdict.WRONG_ANSWER,
            message=f"{mismatched} of {elements} elements{of} {verb} wrong"
            + (f": {pattern}" if pattern else ""),
            hint=self._hint(pattern or "", wrong.output),
            comparison=wrong,
            pattern=pattern,
            elements=elements,
            mismatched=mismatched,
            error_map=error_map(wrong, given.unwritten),
        )

    def _hint(self, pattern: str, output: str) -> str:
        """Return a hint for the pattern, "" if there is none."""
        entry = self._setup.built.entry
        if pattern == "nothing was ever written" and self._returned:
            return f"{entry} returned a value: write the result into `{output}` instead"
        if pattern == "nothing was ever written":
            return "is the kernel launched, and does it store its result?"
        if "never written" in pattern:
            return "do the launched blocks cover all elements, including the last, partial block?"
        if "not a number" in pattern:
            return "look for 0/0, infinity - infinity, or memory read before it was written"
        if TORN in pattern:
            return "sizes, offsets and pitches of copies count bytes: n * sizeof(float)"
        return _NONDETERMINISTIC_HINT if self._nondeterministic else ""

    def _call_once(
        self, buffers: list[Buffer], *, poison: int
    ) -> tuple[_Judgement | None, dict[str, torch.Tensor]]:
        """Fill, call, take snapshots; return the failure (None if there is none) and snapshots."""
        self._case_run.fill(buffers, poison=poison)
        outcome = self._session.call(self._case_run.arguments(), private=self._setup.private)
        for record in outcome.executed:
            self._on_record(record)
        self._returned = any(record.get("record") == "returned" for record in outcome.records)
        snapshots = {b.name: b.snapshot() for b in buffers if b.role.written}
        violation = fault(outcome.executed, self._setup.built.file) or _guard_violation(
            buffers, self._setup.built.language
        )
        if violation is not None:
            return _failed(violation), snapshots
        if not outcome.done:
            return self._failure(outcome, Phase.CALLING), snapshots
        return self._changed_input(buffers), snapshots

    def _changed_input(self, buffers: list[Buffer]) -> _Judgement | None:
        for buffer in buffers:
            if buffer.role.written:
                continue
            given = self._data.inputs[buffer.name].contiguous().view(-1).view(torch.uint8)
            if not torch.equal(buffer.data_bytes.cpu(), given):
                return _Judgement(
                    verdict=Verdict.WRONG_ANSWER,
                    message=f"the input `{buffer.name}` was changed",
                    hint=INPUT_HINT,
                )
        return None

    def _written_late(
        self, buffers: list[Buffer], snapshots: dict[str, torch.Tensor]
    ) -> _Judgement | None:
        """Return a failure if an output has changed since the call ended."""
        for buffer in buffers:
            if buffer.role.written and not torch.equal(
                buffer.data_bytes.cpu(), snapshots[buffer.name].view(-1).view(torch.uint8)
            ):
                return _Judgement(
                    verdict=Verdict.TAMPERED,
                    message=f"`{buffer.name}` was written to after the call had ended",
                    hint="end every thread and process that you start before the function returns",
                )
        return None

    def _unwritten_bytes(
        self, buffers: list[Buffer], wrong: Comparison, first: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        """Call again with another poison; return for each element the bytes never written."""
        unwritten = torch.zeros(wrong.wrong.shape, dtype=torch.int64)
        buffer = next(b for b in buffers if b.name == wrong.output)
        if buffer.role.read:
            return unwritten
        failed, again = self._call_once(buffers, poison=1)
        if failed is None:
            one, other = first[wrong.output], again[wrong.output]
            poisons = self._case_run.poisons[wrong.output]
            unwritten = count_unwritten_bytes(one, other, poisons)
            like = one.double() if one.dtype.is_floating_point else one.long()
            same = accepts(other, like, self._case_run.tolerance) | (unwritten > 0)
            self._nondeterministic = not bool(same.all())
        return unwritten


def _guard_violation(buffers: Sequence[Buffer], language: Language) -> Diagnosis | None:
    """Return how far outside a buffer a write was, None if all guards are intact."""
    for buffer in buffers:
        offset = buffer.guard_violation()
        if offset is None:
            continue
        width = buffer.dtype.itemsize
        if offset < 0:
            distance, place = -(offset // width), "before the first"
        else:
            distance, place = (offset - buffer.size) // width + 1, "past the last"
        elements = "1 element" if distance == 1 else f"{distance} elements"
        return Diagnosis(
            Verdict.MEMORY_ERROR,
            f"wrote {elements} {place} of `{buffer.name}`",
            hint=_MASK_HINT if language is Language.TRITON else OUTSIDE_HINT,
        )
    return None
