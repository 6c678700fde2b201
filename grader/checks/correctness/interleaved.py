"""CUDA C++ on the CPU: small cases once more, with the threads of several blocks taking turns.

The fast build runs one thread after another, so `*total += s[0]` from every block gives the right
sum there and a wrong one on a GPU. The checked build can let threads and blocks take turns at every
write to memory that they share; then updates are lost as on a GPU. Only wrong outputs count, and
only for a submission that is right otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.assignment.cases import Case
from grader.checks.common.case_run import RunSetup
from grader.checks.correctness.judging import check_correctness
from grader.judge.oracle import CaseData
from grader.report.evidence import CaseResult, CorrectnessEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import Visibility

_SETTINGS = "schedule=interleaved"
_HINT = (
    "the result depends on the order in which threads and blocks run: they read and write one "
    "element without an atomic operation or a barrier between; the check of memory names the line"
)


def judge_interleaved(
    setup: RunSetup,
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    verified: CorrectnessEvidence,
) -> CorrectnessEvidence:
    """Return `verified`, with the cases that are wrong if threads take turns as wrong.

    `setup` is that of the checked build. All cases run only if a small one is wrong.
    """
    small = [case for case in cases if case.memory and case.visibility is Visibility.VISIBLE]
    if not any(map(_wrong, _run(setup, small, data).values())):
        return verified
    found = _run(setup, cases, data)
    results = [_worse(case, found.get(case.name)) for case in verified.cases]
    return replace(verified, cases=tuple(results))


def _run(
    setup: RunSetup, cases: Sequence[Case], data: Callable[[Case], CaseData]
) -> dict[str, CaseResult]:
    evidence = check_correctness(setup, cases, data, _in_silence, host_settings=_SETTINGS)
    return {case.name: case for case in evidence.cases}


def _wrong(case: CaseResult) -> bool:
    return case.verdict is Verdict.WRONG_ANSWER


def _worse(before: CaseResult, found: CaseResult | None) -> CaseResult:
    if found is None or not _wrong(found):
        return before
    message = f"if threads and blocks take turns, as on a GPU: {found.message}"
    return replace(
        found, message=message, hint=_HINT, wall_s=round(before.wall_s + found.wall_s, 3)
    )


def _in_silence(step: str) -> None:
    """Report no step: the cases have been counted."""
