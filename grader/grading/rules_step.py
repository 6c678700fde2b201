"""The step of the pipeline that holds one kernel to the assignment's rules."""

from __future__ import annotations

from collections.abc import Sequence

from grader.build.artifact import Built
from grader.grading import check_results
from grader.grading.context import GradingContext
from grader.grading.plan import Unit
from grader.grading.progress import Progress
from grader.report.model import CheckResult
from grader.vocabulary import CheckName, Language


def asked_of(context: GradingContext, unit: Unit, checks: Sequence[CheckResult]) -> bool:
    """True if the rules are to be looked at; `checks` are the entries so far.

    A kernel that may be torch's is exempt. A Triton kernel whose cases are
    wrong wins nothing anyway, and need not run once more.
    """
    if unit.kernel.rules.torch_allowed or not context.wants(CheckName.RULES):
        return False
    wrong = context.wants(CheckName.CORRECTNESS) and (
        check_results.accepted(checks, CheckName.CORRECTNESS) is False
    )
    return unit.language is Language.CUDA or not wrong


def hold_to_rules(
    context: GradingContext, unit: Unit, built: Built, progress: Progress
) -> list[CheckResult]:
    """Return the entry for the rules, if there is something to say."""
    from grader.checks.rules.check import check_rules

    bench, oracle = context.tools(built)
    with progress.step(f"{unit.title} · rules"):
        held = check_rules(
            bench,
            unit.source.text,
            context.cases(unit),
            lambda case: oracle.data(case, unit.language),
        )
    return check_results.rules_check(unit.kernel, held.diagnosis, held.evidence, wall_s=held.wall_s)
