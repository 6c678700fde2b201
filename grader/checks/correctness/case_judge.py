"""Judge one case of a submission on the judge's own snapshot of the outputs.

    allocate guarded buffers, fill the inputs, poison the outputs
    call the entry, take a private snapshot at once, verify guards and inputs
    compare the snapshot with the expected values
    wrong: call again with another poison, to distinguish cells that were never
    written from cells that were computed wrong, unless the values tell
    compare the shared memory with the snapshot again

The first failure of a case decides its verdict.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from grader.assignment.cases import Case
from grader.assignment.model import Limits
from grader.assignment.signature import Signature
from grader.checks.check import WatchedCase
from grader.checks.common.case_run import CaseRun, RunSetup
from grader.checks.common.crash import OUTSIDE_HINT, last_record
from grader.checks.common.diagnosis import Diagnosis, Phase, explain
from grader.checks.common.executor_findings import fault
from grader.checks.common.findings import INPUT_HINT
from grader.checks.common.launch_words import configuration_text, launch_text
from grader.checks.correctness.answer_hint import TRIALS, Seen, answer_hint, failure_hint
from grader.checks.source.copies import copy_into
from grader.checks.source.launch_arguments import grid_text
from grader.judge.buffers import Buffer, same_bytes
from grader.judge.compare import (
    Comparison,
    accepts,
    computable,
    has_arithmetic,
    parts,
    raw_bytes,
    widened,
)
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError
from grader.judge.oracle import CaseData, Oracle
from grader.judge.outcome import Outcome, Status
from grader.judge.patterns import input_hypothesis, known_mistake
from grader.judge.patterns.error_map import error_map
from grader.judge.patterns.error_pattern import Detectors
from grader.judge.patterns.pattern_input import (
    PatternInput,
    count_unwritten_bytes,
    may_be_unwritten,
)
from grader.judge.session import Session
from grader.report.evidence import CaseResult
from grader.report.verdict import Verdict
from grader.vocabulary import Device, Language, Memory, Role, Visibility

_MASK_HINT = (
    "an index is outside its tensor: look for a load or store without its mask, `mask=offsets < n`"
)
# How long processes that a call left behind get to write to the outputs.
_LEFTOVER_PROCESS_S = 0.03
_STEADY = 3  # cases whose second call gave the same values, before others go without one


def case_result(case: Case, diagnosis: Diagnosis) -> CaseResult:
    """Return the result of a case, without the figures of a comparison."""
    return CaseResult(
        name=case.name,
        visibility=case.visibility,
        sizes=dict(case.sizes),
        verdict=diagnosis.verdict,
        message=diagnosis.message,
        hint=diagnosis.hint,
        title=case.title,
        title_shown=case.title_shown,
    )


class CaseJudge:
    """One case in one session."""

    def __init__(
        self,
        setup: RunSetup,
        session: Session,
        case: Case,
        data: CaseData,
        on_record: Callable[[dict[str, Any]], None],
        limits: Limits,
        oracle: Oracle | None,
        detectors: Detectors,
    ) -> None:
        self._setup = setup
        self._detectors = detectors
        self._oracle = oracle
        self._on_record = on_record
        self._limits = limits
        self._session = session
        self._case = case
        self._case_run = CaseRun(setup, case, data)
        self._data = data
        self._returned = False  # True if the entry returned a value, which is ignored
        # The output of the second call, and what it was filled with.
        self._again: tuple[torch.Tensor, torch.Tensor] | None = None
        self._nondeterministic = False  # True if the second call gave other values
        self._checked = case.name in setup.watched
        self._first: Outcome | None = None  # of the first call
        self.watched: WatchedCase | None = None  # if the first call was checked, and ended
        self.failure: Diagnosis | None = None  # the worker's last failure
        self.ended_well = False  # True if the worker ended, with exit code 0

    @property
    def _hidden(self) -> bool:
        return self._case.visibility is not Visibility.VISIBLE

    @property
    def _launched(self) -> list[dict[str, Any]]:
        """What the first call launched, as the worker says."""
        return [one for one in self._told if one.get("record") == "launched"]

    @property
    def _tried(self) -> bool:
        """True if the first call had trials of an autotuner."""
        return any(one.get("record") == "trial" for one in self._told)

    @property
    def _told(self) -> tuple[dict[str, Any], ...]:
        return () if self._first is None else self._first.records

    def judge(self) -> CaseResult:
        """Judge the case; report it if the submission holds all of the GPU's memory."""
        try:
            return self._attach_and_call()
        except GpuOutOfMemoryError as error:
            return case_result(self._case, self._case_run.out_of_memory(self._session, error))

    def _attach_and_call(self) -> CaseResult:
        """Attach the buffers, judge the case, and detach them."""
        with self._case_run.buffers() as buffers:
            attached = self._session.attach(buffers, uninitialised=self._checked)
            if not attached.done:
                return case_result(self._case, self._failure(attached, Phase.BETWEEN_CALLS))
            judged = self._judge(buffers)
            if not self._session.alive:
                return judged
            detached = self._session.detach()
        stray = detached.status is Status.STRAY_ANSWER
        if stray or (judged.verdict is Verdict.ACCEPTED and not detached.done):
            return case_result(self._case, self._failure(detached, Phase.BETWEEN_CALLS))
        return judged

    def _failure(self, outcome: Outcome, phase: Phase) -> Diagnosis:
        self.ended_well = outcome.ended is not None and outcome.ended.exit_code == 0
        diagnosis = explain(outcome, self._setup.built, self._limits, phase)
        usual_s = self._setup.assignment.limits.call_s
        timed_out = diagnosis.verdict is Verdict.TIME_LIMIT and phase is Phase.CALLING
        if timed_out and not outcome.detail and self._limits.call_s < usual_s:
            limit = f"within {self._limits.call_s:g} s"
            note = f" (reduced from {usual_s:g} s because an earlier call did not end)"
            message = diagnosis.message.replace(limit, limit + note, 1)
            diagnosis = replace(diagnosis, message=message)
        self.failure = diagnosis
        return diagnosis

    def _judge(self, buffers: list[Buffer]) -> CaseResult:
        """Call, snapshot, compare."""
        failure, snapshots = self._call_once(buffers, poison=0, first=True)
        assert self._first is not None
        # With trials of an autotuner a call has other launches than the check of memory makes.
        watched = self._checked and self._first.done and not self._tried
        comparisons = self._case_run.compare(snapshots) if watched or failure is None else []
        if watched:
            right = all(c.accepted for c in comparisons)
            self.watched = WatchedCase(case=self._case, records=self._first.records, right=right)
        if failure is not None:
            return case_result(self._case, self._with_source(failure))
        elements = sum(c.wrong.numel() for c in comparisons)
        if self._session.has_other_processes:
            time.sleep(_LEFTOVER_PROCESS_S)
        written_late = self._written_late(buffers, snapshots)
        if written_late is not None:
            return case_result(self._case, written_late)
        refusal = next((c.refusal for c in comparisons if not c.accepted), "")
        if refusal:
            refused = case_result(self._case, Diagnosis(Verdict.WRONG_ANSWER, refusal))
            return replace(refused, elements=elements)
        wrong = next((c for c in comparisons if not c.accepted), None)
        if wrong is not None and self._detectors.know_enough(wrong, hidden=self._hidden):
            return self._counted(wrong, comparisons)
        found = self._first_wrong(wrong, comparisons, buffers, snapshots)
        if found is None:
            tolerated = [_within_fraction(c) for c in comparisons if c.within_fraction]
            accepted = Diagnosis(Verdict.ACCEPTED, "; ".join(tolerated) or "right")
            return replace(case_result(self._case, accepted), elements=elements)
        return self._wrong_answer(*found, comparisons, snapshots)

    def _first_wrong(
        self,
        wrong: Comparison | None,
        comparisons: Sequence[Comparison],
        buffers: list[Buffer],
        snapshots: dict[str, torch.Tensor],
    ) -> tuple[Comparison, torch.Tensor] | None:
        """Return the output that is not accepted, and how many bytes of each element are unwritten.

        What is never written is wrong, whatever fraction of the elements may be.
        """
        for one in [wrong] if wrong else [c for c in comparisons if c.within_fraction]:
            unwritten = self._unwritten_bytes(buffers, one, snapshots)
            missing = one.wrong & (unwritten == one.element_bytes)
            if not one.accepted or bool(missing.any()):
                return one, unwritten
        return None

    def _wrong_answer(
        self,
        wrong: Comparison,
        unwritten: torch.Tensor,
        comparisons: Sequence[Comparison],
        snapshots: dict[str, torch.Tensor],
    ) -> CaseResult:
        """Return the result of a case of which an output is `wrong`, with what explains it."""
        again, poison = self._again or (None, None)
        given = PatternInput(
            comparison=wrong,
            inputs={k: v for k, v in self._data.inputs.items() if has_arithmetic(v)},
            unwritten_bytes=unwritten,
            tolerance=self._case_run.tolerances[wrong.output],
            again=again,
            poison=poison,
            sizes=self._case.sizes,
            known_mistake=lambda: self._known_mistake(wrong),
            other_inputs=lambda: self._as_with_other_inputs(wrong),
            kept=self._data.kept,
        )
        pattern = self._of_trials(given) or self._detectors.describe(given)
        if pattern and re.search("never written|nothing was ever written", pattern):
            # A complex element is compared as two numbers.
            shape = snapshots[wrong.output].shape
            pattern += self._launched_words(
                given.unwritten.reshape(*shape, -1).any(dim=-1), wrong.output
            )
        counted = self._counted(wrong, comparisons)
        return replace(
            counted,
            message=f"{counted.message}: {pattern}" if pattern else counted.message,
            hint=self._hint(pattern or "", wrong.output),
            pattern=pattern,
            error_map=error_map(wrong, given.unwritten),
        )

    def _counted(self, wrong: Comparison, comparisons: Sequence[Comparison]) -> CaseResult:
        """Return the result of a case of which an output is `wrong`, without what explains it."""
        elements = sum(c.wrong.numel() for c in comparisons)
        mismatched = sum(c.mismatched for c in comparisons)
        verb = "is" if mismatched == 1 else "are"
        of = f" of `{wrong.output}`" if len(comparisons) > 1 else ""
        assert self._first is not None
        tuned = None if self._hidden else last_record(self._first, "autotune")
        message = f"{mismatched} of {elements} elements{of} {verb} wrong"
        message += configuration_text(tuned) if tuned else ""
        if wrong.wrong_allowed and not wrong.accepted:
            message += f", {wrong.wrong_allowed} may be"
        counted = replace(
            case_result(self._case, Diagnosis(Verdict.WRONG_ANSWER, message)),
            elements=elements,
            mismatched=mismatched,
        )
        if not self._detectors.used:
            return counted
        return replace(counted, mismatches=wrong.mismatches(), max_error=wrong.max_error)

    def _hint(self, pattern: str, output: str) -> str:
        """Return a hint for the pattern, "" if there is none."""
        kernel = str(self._launched[-1].get("kernel")) if self._launched else None
        seen = Seen(
            pattern=pattern,
            output=output,
            returned=self._returned,
            nondeterministic=self._nondeterministic,
            kernel=kernel,
        )
        return answer_hint(seen, self._setup.built, self._setup.assignment.signature)

    def _with_source(self, failure: Diagnosis) -> Diagnosis:
        """Return the failure with what the source shows about its cause."""
        words = failure_hint(
            failure.message,
            failure.hint,
            failure.verdict,
            self._setup.built,
            self._setup.assignment.signature,
        )
        return replace(failure, hint=words) if words else failure

    def _launched_words(self, unwritten: torch.Tensor, output: str) -> str:
        """Return what the first call launched, as evidence for elements that were not written."""
        built = self._setup.built
        if built.device is not Device.CPU or (built.torch_allowed and not self._launched):
            return ""
        if not self._launched:
            arrays = self._setup.assignment.signature.arrays
            if any(array.memory is Memory.HOST for array in arrays):
                words = copy_into(built.text, output, self._setup.assignment.signature)
                if not bool(unwritten.all()):
                    return f"; {words}" if words else ""
                return "; no copy and no kernel wrote to it"
            triton = built.language.base is Language.TRITON
            return "; no kernel ran" + (" (a grid of 0 runs no program)" if triton else "")
        # The last kernel writes the output, as a rule.
        written = int((~unwritten).sum())
        rows = ~unwritten.reshape(unwritten.shape[0], -1)
        launched = launch_text(
            self._launched[-1],
            unwritten.shape,
            written,
            built.text,
            only_first=_only_first(rows) or _only_first(rows.t()),
            of_every=_first_of_every(rows) or _first_of_every(rows.t()) or (0, 0),
            turned=_turned_input(self._setup.assignment.signature, output),
        )
        # A program has no number of threads that shows whether there are enough.
        programs = built.language.imported and launched.endswith(("program", "programs"))
        if launched.endswith("too few for one each") or programs:
            kernel = str(self._launched[-1].get("kernel"))
            launched += grid_text(built.text, built.language.base, kernel)
        return f"; {launched}"

    def _call_once(
        self, buffers: list[Buffer], *, poison: int, first: bool = False
    ) -> tuple[Diagnosis | None, dict[str, torch.Tensor]]:
        """Fill, call, take snapshots; return the failure (None if there is none) and snapshots."""
        self._case_run.fill(buffers, poison=poison)
        outcome = self._session.call(
            self._case_run.arguments(),
            private=self._setup.private,
            checked=self._checked and first,
        )
        for record in outcome.executed:
            self._on_record({**record, "hidden": self._hidden})
        for record in outcome.records:
            if record.get("record") == "torch":
                self._on_record(record)
        if first:
            self._first = outcome
        self._returned = any(record.get("record") == "returned" for record in outcome.records)
        snapshots = {b.name: b.snapshot() for b in buffers if b.role.written}
        violation = fault(outcome.executed, self._setup.built.file) or _guard_violation(
            buffers, self._setup.built.language
        )
        if violation is not None:
            return violation, snapshots
        if not outcome.done:
            return self._failure(outcome, Phase.CALLING), snapshots
        return self._changed_input(buffers), snapshots

    def _changed_input(self, buffers: list[Buffer]) -> Diagnosis | None:
        for buffer in buffers:
            if buffer.role.written or buffer.sealed:
                continue
            if not same_bytes(buffer.data_bytes.cpu(), raw_bytes(self._data.inputs[buffer.name])):
                message = f"the input `{buffer.name}` was changed"
                return Diagnosis(Verdict.WRONG_ANSWER, message, hint=INPUT_HINT)
        return None

    def _written_late(
        self, buffers: list[Buffer], snapshots: dict[str, torch.Tensor]
    ) -> Diagnosis | None:
        """Return a failure if an output has changed since the call ended."""
        for buffer in buffers:
            if buffer.role.written and not same_bytes(
                buffer.data_bytes.cpu(), raw_bytes(snapshots[buffer.name])
            ):
                return Diagnosis(
                    Verdict.TAMPERED,
                    f"`{buffer.name}` was written to after the call had ended",
                    hint="end every thread and process that you start before the function returns",
                )
        return None

    def _unwritten_bytes(
        self, buffers: list[Buffer], wrong: Comparison, first: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        """Call again with another poison; return for each element how many bytes are unwritten."""
        unwritten = torch.zeros(wrong.wrong.shape, dtype=torch.int64)
        buffer = next(b for b in buffers if b.name == wrong.output)
        if not buffer.role.read and self._second_call_tells(wrong, first[wrong.output]):
            failed, again = self._call_once(buffers, poison=1)
            if failed is None:
                native, other = first[wrong.output], again[wrong.output]
                poisons = self._case_run.poisons[wrong.output]
                unwritten = count_unwritten_bytes(parts(native), parts(other), poisons)
                tolerance = self._case_run.tolerances[wrong.output]
                if not same_bytes(raw_bytes(other), raw_bytes(native)):
                    same = accepts(other, widened(native), tolerance) | (unwritten > 0)
                    self._nondeterministic = not bool(same.all())
                self._detectors.steady = 0 if self._nondeterministic else self._detectors.steady + 1
                poison = torch.full((other.element_size(),), poisons[1], dtype=torch.uint8)
                self._again = computable(other), computable(poison.view(other.dtype)).flatten()[:1]
        return unwritten

    def _second_call_tells(self, wrong: Comparison, first: torch.Tensor) -> bool:
        """True if a second call may show more: unwritten elements, a sum with the poison, chance.

        Without a GPU threads run in a fixed order: what several cases did not show, others do not.
        """
        on_gpu = self._setup.built.device is Device.CUDA
        if on_gpu or self._tried or self._detectors.steady < _STEADY:
            return True
        # A sum with the first poison is not finite.
        finite = bool((torch.isfinite(wrong.actual) & wrong.wrong).any())
        poison = self._case_run.poisons[wrong.output][0]
        return not finite or may_be_unwritten(parts(first), poison, wrong.wrong)

    def _of_trials(self, given: PatternInput) -> str | None:
        """Recognise the sum of a trial and the call; the second call had no trial, and is right."""
        if not self._tried or given.again is None:
            return None
        actual, expected = given.comparison.actual, given.comparison.expected
        doubled = accepts(actual, 2 * expected, given.tolerance)
        right = accepts(given.again, expected, given.tolerance)
        return TRIALS if bool((doubled & right).all()) else None

    def _known_mistake(self, wrong: Comparison) -> str | None:
        if self._oracle is None:
            return None
        tolerance = self._case_run.tolerances[wrong.output]
        return known_mistake.explain(self._oracle, self._case, self._data, wrong, tolerance)

    def _as_with_other_inputs(self, wrong: Comparison) -> str | None:
        if self._oracle is None:
            return None
        signature = self._setup.assignment.signature_of(self._case)
        tolerance = self._case_run.tolerances[wrong.output]
        return input_hypothesis.explain(
            self._oracle, signature, self._case, self._data, wrong, tolerance
        )


def _turned_input(signature: Signature, output: str) -> str:
    """Return the input that has the output's rows as columns, "" if there is none or one as it."""
    (shape,) = (one.shape or () for one in signature.outputs if one.name == output)
    inputs = {one.shape: one.name for one in signature.arrays if one.role is Role.IN}
    return "" if len(shape) != 2 or shape in inputs else inputs.get(shape[::-1], "")


def _only_first(rows: torch.Tensor) -> int:
    """Return how many rows are marked, if they are the first ones and nothing else is; else 0."""
    first = int(rows.all(1).sum())
    return first if bool(rows[:first].all()) and not bool(rows[first:].any()) else 0


def _first_of_every(rows: torch.Tensor) -> tuple[int, int] | None:
    """Return how many of how many rows are marked, if they are the first of each group."""
    marked = rows.all(1)
    if not bool(marked.any()) or not torch.equal(marked, rows.any(1)):
        return None
    for period in (8, 16, 32, 64, 128, 256, 512, 1024):
        if period >= marked.numel():
            return None
        index = torch.arange(marked.numel()) % period
        count = int(marked[:period].sum())
        if count < period and torch.equal(marked, index < count):
            return count, period
    return None


def _within_fraction(comparison: Comparison) -> str:
    """Return how many elements of a right output are wrong, and how many may be."""
    return (
        f"right: {comparison.mismatched} of {comparison.wrong.numel()} elements of "
        f"`{comparison.output}` are outside the tolerance, {comparison.wrong_allowed} may be"
    )


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
        # Others may have been written as well: this is the nearest.
        element = "the element" if distance == 1 else f"the {_ordinal(distance)} element"
        return Diagnosis(
            Verdict.MEMORY_ERROR,
            f"wrote outside `{buffer.name}`: {element} {place}",
            hint=_MASK_HINT if language.base is Language.TRITON else OUTSIDE_HINT,
        )
    return None


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if number % 100 in (11, 12, 13) else endings.get(number % 10, "th")
    return f"{number}{ending}"
