"""The performance check: speed relative to torch on a GPU, by the judge's own clock."""

from __future__ import annotations

from collections.abc import Sequence

from grader.checks.check import Check, CheckContext, CheckOutcome, Cost
from grader.checks.common.diagnosis import Diagnosis
from grader.report.evidence import PerformanceEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName

_NO_SHARING = "speed is not measured where memory cannot be shared between processes (WSL)"


class PerformanceCheck(Check[PerformanceEvidence]):
    """How fast is the kernel relative to torch?"""

    name = CheckName.PERFORMANCE
    cost = Cost.TIMING

    def prevented(self, context: CheckContext) -> CheckOutcome[PerformanceEvidence] | None:
        """Time only a kernel whose cases are right."""
        if context.correct or not context.includes(CheckName.CORRECTNESS):
            return None
        verdict = Verdict.SKIPPED if context.correct is False else Verdict.NOT_MEASURED
        return _without_figures(verdict, "not timed: see correctness")

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[PerformanceEvidence]]:
        """Time every benchmark relative to torch."""
        from grader.checks.performance.benchmarks import check_speed

        gpu = context.gpu
        if gpu is None:
            return [_without_figures(Verdict.NOT_MEASURED, "speed is measured on a GPU")]
        context.end_prestarted()
        oracle = context.oracle
        if not context.can_share:
            return [_without_figures(Verdict.NOT_MEASURED, _NO_SHARING)]
        tiers = context.file.kernel.tiers
        baseline = context.baseline()  # starts the server, which the setup has
        return [
            check_speed(
                context.setup(private=False),
                baseline,
                oracle,
                gpu,
                tiers.of(context.file.language, gpu.name, gpu.architecture),
                context.advance,
                scale=tiers.scale,
                seed=context.rng(self.name).getrandbits(62),
            )
        ]


def _without_figures(verdict: Verdict, message: str) -> CheckOutcome[PerformanceEvidence]:
    return CheckOutcome(diagnosis=Diagnosis(verdict, message), share=0.0)
