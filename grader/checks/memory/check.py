"""The memory check: run cases again under a tool that checks every access.

Those are the cases that the spec marks. An executor that has watched them while they were judged
(`WatchedCase`) need not run them again. If all is well with them, but another case is wrong or
crashes, the smallest such case is run, too, without a GPU: a fault on a path that only larger sizes
take may explain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.checks.check import Check, CheckContext, CheckOutcome
from grader.checks.common.small_case import smallest_case, unnamed
from grader.report.evidence import CorrectnessEvidence, MemoryEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Visibility

_FAILED = (Verdict.WRONG_ANSWER, Verdict.RUNTIME_ERROR)


class MemoryCheck(Check[MemoryEvidence]):
    """Is memory used safely? Runs after a wrong answer or a time limit as well: it may say why."""

    name = CheckName.MEMORY

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[MemoryEvidence]]:
        """Run the small cases under the tools for the device and language.

        Hidden ones are among them, so what the submission printed is not kept then.
        """
        cases = [case for case in context.cases if case.memory]
        hidden = any(case.visibility is not Visibility.VISIBLE for case in cases)
        outcome = context.support.watch(context, [unnamed(case) for case in cases])
        if hidden and outcome.evidence is not None:
            outcome = replace(outcome, evidence=replace(outcome.evidence, output=""))
        if outcome.verdict is Verdict.ACCEPTED and context.device is Device.CPU:
            outcome = _watch_failed(context) or outcome
        return [outcome]


def _watch_failed(context: CheckContext) -> CheckOutcome[MemoryEvidence] | None:
    """Watch the smallest visible case that failed; None if there is none, or nothing is found."""
    results = [
        result
        for outcome in context.outcomes(CheckName.CORRECTNESS)
        if isinstance(outcome.evidence, CorrectnessEvidence)
        for result in outcome.evidence.cases
    ]
    failed = {one.name for one in results if one.verdict in _FAILED}
    visible = [case for case in context.cases if case.visibility is Visibility.VISIBLE]
    case = smallest_case(context.assignment, [one for one in visible if one.name in failed])
    if case is None:
        return None
    outcome = context.support.watch(context, [case])
    return outcome if outcome.verdict is Verdict.MEMORY_ERROR else None
