"""The memory check: run small cases again under a tool that checks every access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.checks.check import Check, CheckContext, CheckOutcome
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.small_case import unnamed
from grader.checks.correctness.check import always_timed_out
from grader.report.evidence import MemoryEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Visibility


class MemoryCheck(Check[MemoryEvidence]):
    """Is memory used safely? Runs after a wrong answer as well, where it helps most."""

    name = CheckName.MEMORY

    def prevented(self, context: CheckContext) -> CheckOutcome[MemoryEvidence] | None:
        """Skip a kernel whose calls never end, unless the tools say why."""
        if context.support.sees_hangs:
            return None
        if not always_timed_out(context.outcomes(CheckName.CORRECTNESS)):
            return None
        diagnosis = Diagnosis(Verdict.SKIPPED, "no call ended: see correctness")
        return CheckOutcome(diagnosis=diagnosis)

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[MemoryEvidence]]:
        """Run the small cases under the tools for the device and language.

        Hidden ones are among them, so what the submission printed is not kept then.
        """
        cases = [case for case in context.cases if case.memory]
        hidden = any(case.visibility is not Visibility.VISIBLE for case in cases)
        outcome = context.support.watch(context, [unnamed(case) for case in cases])
        if hidden and outcome.evidence is not None:
            outcome = replace(outcome, evidence=replace(outcome.evidence, output=""))
        return [outcome]
