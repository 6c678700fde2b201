"""The memory check: run small cases again under a tool that checks every access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.checks.check import Check, CheckContext, CheckOutcome
from grader.checks.common.small_case import unnamed
from grader.report.evidence import MemoryEvidence
from grader.vocabulary import CheckName, Visibility


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
        return [outcome]
