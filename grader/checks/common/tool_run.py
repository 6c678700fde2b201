"""One run of a hand-in over cases, under whatever watches it: what the judge saw.

For the memory check every case is called twice where allocations are looked at:
a second call on the same sizes needs nothing new, so what it leaves behind has
leaked, and what the first one keeps (scratch memory, allocated once) has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.assignment.cases import Case
from grader.assignment.model import Limits
from grader.checks.common.case_run import CaseRun, RunSetup
from grader.checks.common.diagnosis import Diagnosis, Doing, explain
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError
from grader.judge.oracle import CaseData
from grader.judge.outcome import Outcome
from grader.judge.session import Session

Prepared = tuple[Case, CaseData]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What the judge saw of one run over all cases; `failure` is the first thing wrong.

    `told` is what the worker said meanwhile.
    """

    failure: Diagnosis | None
    wrong: bool
    told: tuple[dict[str, Any], ...]


def run_under_tool(
    setup: RunSetup,
    session: Session,
    cases: Sequence[Prepared],
    limits: Limits,
    *,
    calls: int = 1,
) -> ToolOutcome:
    """Call the hand-in on every case, `calls` times each, until it fails to answer."""
    loaded = session.load()
    told = list(loaded.told)
    if not loaded.done:
        failure = explain(loaded, setup.built, limits, Doing.LOADING)
        return ToolOutcome(failure=failure, wrong=False, told=tuple(told))
    wrong = False
    for case, data in cases:
        case_run = CaseRun(setup, case, data)
        try:
            doing, outcome, right = _call(setup, session, case_run, told, calls)
        except GpuOutOfMemoryError as error:
            return ToolOutcome(
                failure=case_run.out_of_memory(session, error), wrong=wrong, told=tuple(told)
            )
        wrong = wrong or not right
        if not outcome.done:
            failure = explain(outcome, setup.built, limits, doing, case=case.name)
            return ToolOutcome(failure=failure, wrong=wrong, told=tuple(told))
    return ToolOutcome(failure=None, wrong=wrong, told=tuple(told))


def _call(
    setup: RunSetup, session: Session, case_run: CaseRun, told: list[dict[str, Any]], calls: int
) -> tuple[Doing, Outcome, bool]:
    """Call it `calls` times on one case; return what it did last, the outcome, and if all is right.

    What the worker says meanwhile goes into `told`.
    """
    right = True
    with case_run.buffers() as buffers:
        doing, outcome = Doing.BETWEEN, session.attach(buffers, bare=True)
        for number in range(calls):
            if not outcome.done:
                break
            # Another poison the second time: what the first call wrote is not there.
            case_run.fill(buffers, poison=number)
            doing = Doing.CALLING
            outcome = session.call(case_run.arguments(), private=setup.private)
            told += outcome.told
            snapshots = {b.name: b.snapshot() for b in buffers if b.role.written}
            if outcome.done:
                right = right and all(c.accepted for c in case_run.compare(snapshots))
        if outcome.done:
            doing, outcome = Doing.BETWEEN, session.detach()
    return doing, outcome, right
