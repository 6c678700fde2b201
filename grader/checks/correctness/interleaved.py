"""CUDA C++ on the CPU: small cases once more, with the threads of several blocks taking turns.

The fast build runs one thread after another, so `*total += s[0]` from every block gives the right
sum there and a wrong one on a GPU. The checked build can let threads and blocks take turns at every
write to memory that they share; then updates are lost as on a GPU. It also fills local variables
that have no value. Only wrong outputs count, and only for a submission that is right otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.assignment.cases import Case
from grader.checks.common.case_run import RunSetup
from grader.checks.correctness.judging import check_correctness
from grader.judge.oracle import CaseData
from grader.report.evidence import CaseResult, CorrectnessEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run of the checked build, and what it proves if its outputs are wrong."""

    settings: str
    condition: str
    hint: str


_INTERLEAVED = _Run(
    settings="schedule=interleaved",
    condition="if threads and blocks take turns, as on a GPU",
    hint="the result depends on the order in which threads and blocks run: they read and write "
    "one element without an atomic operation or a barrier between; the check of memory names the "
    "line",
)
# The order of the fast build, so only what is in memory without being written differs.
_IN_ORDER = _Run(
    settings="schedule=forward count=0",
    condition="if memory without a value holds something else",
    hint="the result depends on a variable or array that is read before it has a value; the check "
    "of memory names the line",
)


def judge_interleaved(
    setup: RunSetup,
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    verified: CorrectnessEvidence,
    *,
    explain: bool,
) -> CorrectnessEvidence:
    """Return `verified`, with the cases that are wrong if threads take turns as wrong.

    `setup` is that of the checked build. All cases run only if a small one is wrong. `explain` is
    that of `check_correctness`.
    """

    def results(run: _Run, chosen: Sequence[Case], *, explain: bool) -> dict[str, CaseResult]:
        ran = check_correctness(
            setup, chosen, data, _in_silence, host_settings=run.settings, explain=explain
        )
        return {case.name: case for case in ran.cases}

    small = [case for case in cases if case.memory and case.visibility is Visibility.VISIBLE]
    if not any(map(_wrong, results(_INTERLEAVED, small, explain=False).values())):
        return verified
    wrong_in_order = any(map(_wrong, results(_IN_ORDER, small, explain=False).values()))
    run = _IN_ORDER if wrong_in_order else _INTERLEAVED
    found = results(run, cases, explain=explain)
    worse = [_worse(case, found.get(case.name), run) for case in verified.cases]
    return replace(verified, cases=tuple(worse))


def _wrong(case: CaseResult) -> bool:
    return case.verdict is Verdict.WRONG_ANSWER


def _worse(before: CaseResult, found: CaseResult | None, run: _Run) -> CaseResult:
    if found is None or not _wrong(found):
        return before
    wall_s = round(before.wall_s + found.wall_s, 3)
    message = f"{run.condition}: {found.message}"
    return replace(found, message=message, hint=run.hint, wall_s=wall_s)


def _in_silence(step: str) -> None:
    """Report no step: the cases have been counted."""
