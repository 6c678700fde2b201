"""The counters check: count the memory accesses of one call, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from grader.checks.check import Check, CheckContext, CheckOutcome, Cost
from grader.checks.common.diagnosis import Diagnosis
from grader.report.evidence import CountersEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device


class CountersCheck(Check[CountersEvidence]):
    """Counts memory accesses, launches and more, and compares them with the assignment's bounds."""

    name = CheckName.COUNTERS
    cost = Cost.COUNTING

    def applies(self, context: CheckContext) -> bool:
        """Count on a CPU always, on a GPU if there is a bound; never where torch may compute."""
        kernel = context.file.kernel
        by_torch = kernel.rules.torch_allowed and context.file.language.imported
        counted = kernel.counters is not None or context.device is Device.CPU
        return counted and not by_torch and not context.file.is_program

    def prevented(self, context: CheckContext) -> CheckOutcome[CountersEvidence] | None:
        """Skip a kernel with wrong cases if the check has points."""
        if context.correct is not False or self.name not in context.file.kernel.points:
            return None
        diagnosis = Diagnosis(Verdict.SKIPPED, "not counted: see correctness")
        return CheckOutcome(diagnosis=diagnosis)

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[CountersEvidence]]:
        """Count, unless the cases are wrong."""
        if context.correct is False:
            return ()
        outcome = context.support.count(context)
        if outcome.verdict is Verdict.SKIPPED and context.file.kernel.counters is None:
            return ()  # without bounds there is nothing to report
        return [outcome]
