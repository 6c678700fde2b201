"""The counters check: count the memory accesses of one call, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.assignment.counter_bounds import CountName
from grader.build.artifact import Rejected
from grader.checks.check import Check, CheckContext, CheckOutcome, Cost
from grader.checks.common.diagnosis import Diagnosis
from grader.report.evidence import CountersEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language


class CountersCheck(Check[CountersEvidence]):
    """Counts memory accesses, launches and more, and compares them with the assignment's bounds."""

    name = CheckName.COUNTERS
    cost = Cost.COUNTING

    def applies(self, context: CheckContext) -> bool:
        """Count on a CPU always, on a GPU if there is a bound; never where torch may compute."""
        kernel, language = context.file.kernel, context.file.language
        by_torch = kernel.rules.torch_allowed and language is Language.TRITON
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
        outcome = self.count(context)
        if outcome.verdict is Verdict.SKIPPED and context.file.kernel.counters is None:
            return ()  # without bounds there is nothing to report
        return [outcome]

    def count(self, context: CheckContext) -> CheckOutcome[CountersEvidence]:
        """Count the accesses of one call, if this machine can."""
        from grader.checks.counters import count
        from grader.checks.counters.count_triton import check_triton_counters

        kernel, language = context.file.kernel, context.file.language
        rng = context.rng(self.name)
        case = count.counting_case(context.assignment, kernel, language, context.public_seed, rng)
        prepared = case, context.data(case)
        scoring = count.CounterScoring.of(kernel, language, context.device)
        if language is Language.TRITON:
            built = replace(context.built, device=Device.CPU)
            return check_triton_counters(context.setup(built, private=False), prepared, scoring)
        checked = context.checked_build()
        if isinstance(checked, Rejected):
            return count.not_built(checked, scoring)
        setup = context.setup(checked.built, private=False)
        compiled: dict[CountName, int] = {}
        if context.built.assembled is not None:
            used = context.built.assembled.kernels
            compiled = {"registers": max((kernel.registers for kernel in used), default=0)}
        return count.check_host_counters(setup, checked.text, prepared, scoring, compiled)
