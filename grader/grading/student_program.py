"""Grade the student's own main.cu around the student's own kernel, once that is right.

main.cu ──build──→ object ─┐
kernels ──correct?──→ the last right one in CUDA C++ ──link──→ program ──check──→ report
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.assignment.model import PROGRAM_NAME, Assignment
from grader.build.artifact import Built, Rejected
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.program.check import check_program
from grader.checks.rules.symbol_rules import KEPT, worth_a_look
from grader.grading import check_results, score
from grader.grading.context import GradingContext
from grader.grading.internal_error import as_grader_error
from grader.grading.plan import Options, StudentProgram, Unit
from grader.grading.progress import Progress
from grader.report.evidence import RulesEvidence
from grader.report.model import CheckResult, KernelResult
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Language

_ITS_CHECKS = frozenset({CheckName.BUILD, CheckName.PROGRAM})


def asked_for(assignment: Assignment, options: Options) -> bool:
    """True if the assignment has such a program and no filter leaves it out."""
    return (
        assignment.program is not None
        and (not options.kernels or PROGRAM_NAME in options.kernels)
        and (not options.languages or Language.CUDA in options.languages)
        and (not options.checks or bool(options.checks & _ITS_CHECKS))
    )


def grade_program(
    assignment: Assignment,
    context: GradingContext,
    own: StudentProgram,
    graded: Sequence[KernelResult],
    progress: Progress,
) -> KernelResult:
    """Build and check main.cu; `graded` are the kernels' results so far."""
    unit = own.main
    checks: list[CheckResult] = []
    try:
        with progress.step(f"{unit.title} · build"):
            built = context.built(unit)
        serving, pending = None, False
        if isinstance(built, Built) and context.wants(CheckName.PROGRAM):
            serving, pending = _serving(context, own.kernels, graded, progress)
        if isinstance(built, Built) and serving is not None:
            with progress.step(f"{unit.title} · link"):
                built = context.linked(serving)
        checks.append(check_results.build_check(built))
        if isinstance(built, Rejected):
            checks += check_results.without_build(unit.kernel, built)
        elif serving is not None:
            with progress.step(f"{unit.title} · program") as step:
                judged = check_program(
                    assignment,
                    built,
                    kernel=serving.kernel.name,
                    kernel_file=serving.source.path,
                    chooser=context.chooser(CheckName.PROGRAM),
                    advance=step.advance,
                )
            checks.append(
                check_results.program_check(unit.kernel, judged.diagnosis, judged.evidence)
            )
            if context.wants(CheckName.RULES):
                checks += _flags(unit)
        elif context.wants(CheckName.PROGRAM):
            missing = _without_kernel(own.kernels, pending=pending)
            checks.append(check_results.program_check(unit.kernel, missing, None))
    except Exception as error:
        failure = as_grader_error(error)
        checks.append(check_results.grader_error(unit.kernel, failure, CheckName.PROGRAM))
    return score.kernel_result(unit.kernel, unit.language, checks)


def _flags(unit: Unit) -> list[CheckResult]:
    """Return the entry that shows staff the words of main.cu, if there is one to show."""
    found = Diagnosis(verdict=Verdict.ACCEPTED, message=KEPT)
    evidence = RulesEvidence(broken=(), flags=worth_a_look(unit.source.text, program=True))
    return check_results.rules_check(unit.kernel, found, evidence, wall_s=0.0)


def _serving(
    context: GradingContext,
    kernels: Sequence[Unit],
    graded: Sequence[KernelResult],
    progress: Progress,
) -> tuple[Unit | None, bool]:
    """Return the last kernel that is right, else None and whether one may yet turn out to be."""
    pending = False
    for unit in reversed(kernels):
        right = _is_right(context, unit, graded, progress)
        if right:
            return unit, False
        pending = pending or right is None
    return None, pending


def _is_right(
    context: GradingContext, unit: Unit, graded: Sequence[KernelResult], progress: Progress
) -> bool | None:
    """True if all cases are right; None if this machine cannot say."""
    checks = [
        check
        for result in graded
        if (result.name, result.language) == (unit.kernel.name, unit.language)
        for check in result.checks
    ]
    if any(check.verdict is Verdict.FORBIDDEN for check in checks):
        return False
    done = [check for check in checks if check.check is CheckName.CORRECTNESS]
    built = context.built(unit)
    if isinstance(built, Rejected):
        return None if built.verdict.pending else False
    if not done:  # a filter left it out
        cases = context.cases(unit)
        with progress.step(f"{unit.title} · correctness", total=len(cases)) as step:
            verified = context.check_correctness(unit, built, cases, step.advance)
        done = check_results.correctness_checks(unit.kernel, verified)
    return check_results.accepted(done, CheckName.CORRECTNESS)


def _without_kernel(kernels: Sequence[Unit], *, pending: bool) -> Diagnosis:
    files = " or ".join(unit.source.path for unit in kernels)
    if pending:
        return Diagnosis(
            verdict=Verdict.NOT_MEASURED,
            message=f"needs a right kernel in CUDA C++, and this machine cannot judge {files}",
            hint="grade it on a machine with a GPU",
        )
    if not kernels:
        return Diagnosis(
            verdict=Verdict.SKIPPED,
            message="needs your kernel in CUDA C++, which is not handed in",
        )
    return Diagnosis(
        verdict=Verdict.SKIPPED,
        message=f"needs a kernel in CUDA C++ that is right on all cases: {files} is not",
    )
