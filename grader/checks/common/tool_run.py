"""Run a submission over cases under a tool, as the judge sees it.

To find leaks the memory check calls a case twice, unless the first call has freed all memory: a
second call with the same sizes needs no new memory, so what it leaves has leaked, unlike scratch
memory that the first call keeps. Several calls of one small case find memory that only some leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grader.assignment.cases import Case
from grader.assignment.model import Limits
from grader.checks.common.case_run import CaseRun, RunSetup
from grader.checks.common.diagnosis import Diagnosis, Phase, explain
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError
from grader.judge.oracle import CaseData
from grader.judge.outcome import Outcome
from grader.judge.session import Session
from grader.vocabulary import Visibility

Prepared = tuple[Case, CaseData]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """The result of a run over all cases, as the judge saw it.

    `failure` is the first call or command that failed, `wrong` whether an output was wrong, and
    `records` are the worker's untrusted records, each with the name of its `case`.
    """

    failure: Diagnosis | None = None
    wrong: bool = False
    records: tuple[dict[str, Any], ...] = ()


def run_under_tool(
    setup: RunSetup,
    session: Session,
    cases: Sequence[Prepared],
    limits: Limits,
    *,
    calls: int = 1,
    for_leaks: int = 0,
    checked: bool = False,
) -> ToolOutcome:
    """Call the submission on every case, `calls` times each, until a call fails.

    The case with the least data is called `for_leaks` times more. Of these calls only leaks count;
    and then another case is not called again if its first call has freed all memory. `checked` is
    that of `Session.call`.
    """
    least = min((case for case, _ in cases), key=partial(_bytes, setup)).name if for_leaks else ""
    loaded = session.load()
    records = list(loaded.records)
    if not loaded.done:
        failure = explain(loaded, setup.built, limits, Phase.LOADING)
        return ToolOutcome(failure=failure, records=tuple(records))
    wrong = False
    for case, data in cases:
        case_run = CaseRun(setup, case, data)
        try:
            smallest = case.name == least
            more = for_leaks if smallest else 0
            phase, outcome, right = _call(
                setup, session, case.name, case_run, records, calls, more,
                checked=checked, if_kept=for_leaks > 0 and not smallest,
            )  # fmt: skip
        except GpuOutOfMemoryError as error:
            return ToolOutcome(
                failure=case_run.out_of_memory(session, error), wrong=wrong, records=tuple(records)
            )
        wrong = wrong or not right
        if not outcome.done:
            failure = explain(outcome, setup.built, limits, phase, case=case.name)
            if case.visibility is not Visibility.VISIBLE:
                # An exception's text, or the figure of a refused launch, tells the size.
                words = f"{setup.built.entry} ended with a {failure.verdict.phrase} on {case.name}"
                failure = replace(failure, message=words, hint="")
            return ToolOutcome(failure=failure, wrong=wrong, records=tuple(records))
    return ToolOutcome(wrong=wrong, records=tuple(records))


def _freed_all(outcome: Outcome) -> bool:
    """True if the runtime says that the call has left no memory allocated."""
    left = [one.get("unfreed") for one in outcome.records if one.get("record") == "summary"]
    return bool(left) and left[-1] == 0


def _bytes(setup: RunSetup, case: Case) -> int:
    signature = setup.assignment.signature_of(case)
    return sum(signature.read_and_written_bytes(case.sizes, setup.built.language))


def _call(
    setup: RunSetup,
    session: Session,
    case: str,
    case_run: CaseRun,
    records: list[dict[str, Any]],
    calls: int,
    more: int,
    *,
    checked: bool,
    if_kept: bool,
) -> tuple[Phase, Outcome, bool]:
    """Make the calls on one case; return the last phase and outcome, and if outputs are right.

    Of the calls that are `more`, only leaks count. With `if_kept`, none follows one that has freed
    all memory. Appends the worker's records to `records`.
    """
    right = True
    with case_run.buffers() as buffers:
        phase, outcome = Phase.BETWEEN_CALLS, session.attach(buffers, uninitialised=True)
        for number in range(calls + more):
            if not outcome.done or (if_kept and number > 0 and _freed_all(outcome)):
                break
            # A new poison overwrites what an earlier call wrote.
            case_run.fill(buffers, poison=number % 2)
            phase = Phase.CALLING
            outcome = session.call(case_run.arguments(), private=setup.private, checked=checked)
            new = outcome.records
            if number >= calls:
                new = tuple(record for record in new if record.get("kind") == "leak")
            records += ({**record, "case": case} for record in new)
            snapshots = {b.name: b.snapshot() for b in buffers if b.role.written}
            if outcome.done:
                right = right and all(c.accepted for c in case_run.compare(snapshots))
        if outcome.done:
            phase, outcome = Phase.BETWEEN_CALLS, session.detach()
    return phase, outcome, right
