"""The counters check: the accesses of one call, counted without a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from grader.build.artifact import Rejected
from grader.checks.check import Check, CheckContext, CheckOutcome, Cost
from grader.checks.common.diagnosis import Diagnosis
from grader.report.evidence import CountersEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language


class CountersCheck(Check[CountersEvidence]):
    """Are a kernel's memory accesses as few as they could be?"""

    name = CheckName.COUNTERS
    evidence = CountersEvidence
    cost = Cost.COUNTING

    def applies(self, context: CheckContext) -> bool:
        """On a CPU always, on a GPU where a bound asks for it; never for torch's own kernels."""
        kernel, language = context.file.kernel, context.file.language
        by_torch = kernel.rules.torch_allowed and language is Language.TRITON
        asked = kernel.counters is not None or context.device is Device.CPU
        return asked and not by_torch and not context.file.is_program

    def prevented(self, context: CheckContext) -> CheckOutcome[CountersEvidence] | None:
        """Say that wrong cases cost the points, if there are points."""
        if context.correct is not False or self.name not in context.file.kernel.points:
            return None
        diagnosis = Diagnosis(Verdict.SKIPPED, "not counted: see correctness")
        return CheckOutcome(diagnosis=diagnosis)

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[CountersEvidence]]:
        """Count, unless the cases are wrong and nobody would read the figures."""
        if context.correct is False:
            return ()
        outcome = self.count(context)
        if outcome.verdict is Verdict.SKIPPED and context.file.kernel.counters is None:
            return ()  # nobody asked, and a submission that only copies has nothing to show
        return [outcome]

    def count(self, context: CheckContext) -> CheckOutcome[CountersEvidence]:
        """Count the accesses of one call, where this machine can."""
        from grader.checks.counters import count

        kernel, language = context.file.kernel, context.file.language
        if language is Language.TRITON and context.device is Device.CUDA:
            return count.not_counted(kernel)
        case = count.counting_case(context.assignment, kernel, language, context.public_seed)
        prepared = case, context.data(case)
        if language is Language.TRITON:
            return count.check_interpreter_counters(context.setup(private=False), prepared, kernel)
        terms = count.Terms.of(kernel, context.device)
        checked = context.checked_build()
        if isinstance(checked, Rejected):
            return count.not_built(checked, terms)
        setup = context.setup(checked.built, private=False)
        return count.check_host_counters(setup, checked.text, prepared, terms)
