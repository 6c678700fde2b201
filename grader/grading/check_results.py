"""Evidence → entries of the report: one for each check, with the points it wins.

a check       all of its points if it earns them, else none
its cases     share its points by number, a group to each visibility
after others  points for memory, speed and counters need right cases
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from grader.assignment.model import Kernel
from grader.build.artifact import Built, Rejected
from grader.checks.common.diagnosis import Diagnosis
from grader.errors import GraderError
from grader.grading.points import points, shares
from grader.report.evidence import (
    CaseResult,
    CorrectnessEvidence,
    CountersEvidence,
    Evidence,
    MemoryEvidence,
    PerformanceEvidence,
    ProgramEvidence,
    RulesEvidence,
)
from grader.report.model import CheckResult
from grader.report.verdict import Verdict, aggregate
from grader.vocabulary import CheckName, Visibility


def build_check(built: Built | Rejected) -> CheckResult:
    """Return the entry for building, which earns no points."""
    if isinstance(built, Built):
        verdict, message, hint = Verdict.ACCEPTED, f"built with {built.evidence.tool}", ""
    else:
        verdict, message, hint = built.verdict, built.message, built.hint
    return CheckResult(
        check=CheckName.BUILD,
        name="build",
        verdict=verdict,
        score=0.0,
        max_score=0.0,
        message=message,
        hint=hint,
        evidence=built.evidence,
    )


def without_build(kernel: Kernel, rejected: Rejected) -> list[CheckResult]:
    """Return the entries of the checks that could not run."""
    pending = rejected.verdict.pending
    verdict = Verdict.NOT_MEASURED if pending else Verdict.SKIPPED
    message = "this machine cannot run it: see build" if pending else "not counted: see build"
    return [
        _check(check, check.value, verdict, most, message=message)
        for check, most in kernel.points.items()
    ]


def grader_error(
    kernel: Kernel, error: GraderError, during: CheckName = CheckName.CORRECTNESS
) -> CheckResult:
    """Return the entry that makes a kernel's score unknown: the fault is ours."""
    return _check(
        during,
        during.value,
        Verdict.GRADER_ERROR,
        kernel.max_score if during is CheckName.CORRECTNESS else kernel.points.get(during, 0.0),
        message=f"the grader failed, not your code: {error.message}",
        hint=error.tip or "",
    )


def correctness_checks(kernel: Kernel, verified: CorrectnessEvidence) -> list[CheckResult]:
    """Return one entry for each visibility, the points shared by number of cases."""
    groups = {
        visibility: tuple(case for case in verified.cases if case.visibility is visibility)
        for visibility in Visibility
    }
    groups = {visibility: cases for visibility, cases in groups.items() if cases}
    most = shares(kernel.points[CheckName.CORRECTNESS], [len(group) for group in groups.values()])
    checks = []
    for (visibility, cases), share in zip(groups.items(), most, strict=True):
        visible = visibility is Visibility.VISIBLE
        right = sum(case.verdict.earns_points for case in cases)
        verdict = _verdict_on(cases)
        # The first of the gravest: what is told must be what it is judged by.
        failed = next((c for c in cases if c.verdict is verdict and not verdict.earns_points), None)
        message = f"{right} of {len(cases)} {visibility.phrase}cases right"
        # Sizes and values of other cases than visible ones stay in the evidence.
        if failed is not None and visible:
            message = f"{failed.name}: {failed.message}"
        checks.append(
            _check(
                CheckName.CORRECTNESS,
                "correctness" if visible else f"correctness, {visibility.phrase.strip()}",
                verdict,
                share,
                message=message,
                hint=failed.hint if failed is not None and visible else "",
                visibility=visibility,
                wall_s=round(sum(case.wall_s for case in cases), 3),
                evidence=replace(
                    verified,
                    cases=cases,
                    cases_total=len(cases),
                    # Told once: a hand-in may print the sizes that it sees.
                    output=verified.output if visible else "",
                ),
            )
        )
    return _unearned(checks, Verdict.TAMPERED, "no points: other cases were tampered with")


def accepted(checks: Iterable[CheckResult], name: CheckName) -> bool | None:
    """True if there are entries of this check and all of them earn points.

    None if some of them are pending and the rest do.
    """
    verdicts = [check.verdict for check in checks if check.check is name]
    if not verdicts or not all(v.earns_points or v.pending for v in verdicts):
        return False
    return None if any(v.pending for v in verdicts) else True


def never_ended(checks: Iterable[CheckResult]) -> bool:
    """True if cases were run, and none of their calls ended in time."""
    evidence = [c.evidence for c in checks if isinstance(c.evidence, CorrectnessEvidence)]
    verdicts = {case.verdict for one in evidence for case in one.cases} - {Verdict.SKIPPED}
    return verdicts == {Verdict.TIME_LIMIT}


def memory_check(
    kernel: Kernel, diagnosis: Diagnosis, evidence: MemoryEvidence | None, *, correct: bool | None
) -> CheckResult:
    """Return the entry for memory safety, whose points need an accepted correctness.

    `correct` is None if it is not known yet: then they are pending with it.
    """
    result = _check(
        CheckName.MEMORY,
        "memory",
        diagnosis.verdict,
        kernel.points[CheckName.MEMORY],
        message=diagnosis.message,
        hint=diagnosis.hint,
        evidence=evidence,
        wall_s=sum(tool.wall_s for tool in evidence.tools) if evidence else 0.0,
    )
    return _if_correct(result, correct)


def performance_check(
    kernel: Kernel,
    diagnosis: Diagnosis,
    evidence: PerformanceEvidence | None,
    *,
    share: float,
    correct: bool | None,
    wall_s: float = 0.0,
) -> CheckResult:
    """Return the entry for speed, whose points are won in shares, tier by tier."""
    most = kernel.points[CheckName.PERFORMANCE]
    result = _check(
        CheckName.PERFORMANCE,
        "performance",
        diagnosis.verdict,
        most,
        message=diagnosis.message,
        hint=diagnosis.hint,
        evidence=evidence,
        wall_s=wall_s,
    )
    if not result.pending:
        result = replace(result, score=round(most * share, 2))
    return _if_correct(result, correct)


def without_performance(kernel: Kernel, *, correct: bool | None) -> CheckResult:
    """Return the entry of a kernel that was not timed: its cases are wrong, or not yet right."""
    if correct is False:
        diagnosis = Diagnosis(verdict=Verdict.SKIPPED, message="not timed: see correctness")
    else:
        diagnosis = Diagnosis(verdict=Verdict.NOT_MEASURED, message="not timed: see correctness")
    return performance_check(kernel, diagnosis, None, share=0.0, correct=correct)


def counters_check(
    kernel: Kernel,
    diagnosis: Diagnosis,
    evidence: CountersEvidence | None,
    *,
    correct: bool | None,
    wall_s: float = 0.0,
) -> CheckResult:
    """Return the entry for access counters; its points are as those for memory."""
    result = _check(
        CheckName.COUNTERS,
        "counters",
        diagnosis.verdict,
        kernel.points.get(CheckName.COUNTERS, 0.0),
        message=diagnosis.message,
        hint=diagnosis.hint,
        evidence=evidence,
        wall_s=wall_s,
    )
    return _if_correct(result, correct)


def without_memory(kernel: Kernel) -> CheckResult:
    """Return the entry of a kernel whose calls never ended."""
    diagnosis = Diagnosis(verdict=Verdict.SKIPPED, message="no call ended: see correctness")
    return memory_check(kernel, diagnosis, None, correct=False)


def without_counters(kernel: Kernel) -> list[CheckResult]:
    """Return the entry of a kernel that is not counted because its cases are wrong."""
    if CheckName.COUNTERS not in kernel.points:
        return []  # nothing is lost, and there is more urgent news
    diagnosis = Diagnosis(verdict=Verdict.SKIPPED, message="not counted: see correctness")
    return [counters_check(kernel, diagnosis, None, correct=False)]


def _if_correct(result: CheckResult, correct: bool | None) -> CheckResult:
    """Return an entry whose points need an accepted correctness; None is not known yet."""
    if correct or not (result.score or result.pending):
        return result
    if correct is None:
        waits = "; its points wait for the correctness check" if result.score else ""
        message = f"{result.message}{waits}"
        return replace(result, score=0.0, pending=result.max_score, message=message)
    if result.pending:
        return replace(result, pending=0.0)
    unearned = "its points count only when the cases are right"
    return replace(result, score=0.0, message=f"{result.message}; {unearned}")


def program_check(
    kernel: Kernel, diagnosis: Diagnosis, evidence: ProgramEvidence | None
) -> CheckResult:
    """Return the entry for the student's own program."""
    return _check(
        CheckName.PROGRAM,
        "program",
        diagnosis.verdict,
        kernel.points[CheckName.PROGRAM],
        message=diagnosis.message,
        hint=diagnosis.hint,
        evidence=evidence,
        wall_s=round(sum(run.wall_s for run in evidence.runs), 3) if evidence else 0.0,
    )


def rules_check(
    kernel: Kernel, diagnosis: Diagnosis, evidence: RulesEvidence, *, wall_s: float
) -> list[CheckResult]:
    """Return the entry for the rules: for the student if one is broken, else for staff's flags."""
    if diagnosis.verdict is Verdict.ACCEPTED and not evidence.flags:
        return []
    broken = bool(evidence.broken)
    return [
        _check(
            CheckName.RULES,
            "rules",
            diagnosis.verdict,
            0.0,
            message=diagnosis.message,
            hint=diagnosis.hint,
            visibility=Visibility.VISIBLE if broken else Visibility.HIDDEN,
            wall_s=wall_s,
            evidence=evidence,
        )
    ]


def forbidden(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Return a kernel's entries as they count: a forbidden kernel earns no points in any."""
    return _unearned(checks, Verdict.FORBIDDEN, "no points: the kernel breaks a rule")


def _unearned(checks: Sequence[CheckResult], verdict: Verdict, why: str) -> list[CheckResult]:
    """Return the entries as they are, or without points if one of them has this verdict."""
    hit = any(check.verdict is verdict for check in checks)
    return [
        replace(check, score=0.0, pending=0.0, message=f"{check.message}; {why}")
        if hit and (check.score or check.pending)
        else check
        for check in checks
    ]


def _verdict_on(cases: Sequence[CaseResult]) -> Verdict:
    """Return the verdict on a group of cases: points take every one of them.

    That a case was not measured is the worker's word, which wins nothing.
    """
    verdict = aggregate(case.verdict for case in cases)
    whole = all(case.verdict.earns_points for case in cases)
    return verdict if whole or not verdict.earns_points else Verdict.NOT_MEASURED


def _check(
    check: CheckName,
    name: str,
    verdict: Verdict,
    most: float,
    *,
    message: str,
    hint: str = "",
    visibility: Visibility = Visibility.VISIBLE,
    wall_s: float = 0.0,
    evidence: Evidence | None = None,
) -> CheckResult:
    won, pending = points(verdict, most)
    return CheckResult(
        check=check,
        name=name,
        verdict=verdict,
        score=won,
        max_score=most,
        pending=pending,
        visibility=visibility,
        message=message,
        hint=hint,
        wall_s=wall_s,
        evidence=evidence,
    )
