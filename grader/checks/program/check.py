"""The program check: run the student's main.cu with the student's own kernel, once it is right."""

from __future__ import annotations

from collections.abc import Sequence

from grader.build.artifact import Rejected
from grader.checks.check import Check, CheckContext, CheckOutcome, Cost, KernelFile
from grader.checks.common.diagnosis import Diagnosis
from grader.report.evidence import ProgramEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName


class ProgramCheck(Check[ProgramEvidence]):
    """Tests whether the student's program tells a right kernel from a wrong one."""

    name = CheckName.PROGRAM
    cost = Cost.PROGRAM
    needs_correct = False

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[ProgramEvidence]]:
        """Link main.cu with the last right kernel, and run the program."""
        from grader.checks.program.runs import check_program

        kernel, pending = _right_kernel(context)
        if kernel is None:
            return [CheckOutcome(diagnosis=_without_kernel(context.kernels, pending=pending))]
        linked = context.linked_with(kernel)
        context.replace_build(linked)
        if isinstance(linked, Rejected):
            return ()
        return [
            check_program(
                context.assignment,
                linked,
                context.budget,
                kernel=kernel.kernel.name,
                kernel_file=kernel.source.path,
                rng=context.rng(self.name),
                advance=context.advance,
            )
        ]


def _right_kernel(context: CheckContext) -> tuple[KernelFile | None, bool]:
    """Return the last kernel that is right (None if there is none), and if one is undecided."""
    pending = False
    for kernel in reversed(context.kernels):
        right = context.is_correct(kernel)
        if right:
            return kernel, False
        pending = pending or right is None
    return None, pending


def _without_kernel(kernels: Sequence[KernelFile], *, pending: bool) -> Diagnosis:
    files = " or ".join(kernel.source.path for kernel in kernels)
    if pending:
        return Diagnosis(
            Verdict.NOT_MEASURED,
            f"needs a right kernel in CUDA C++, but this machine cannot judge {files}",
            hint="grade it on a machine with a GPU",
        )
    if not kernels:
        return Diagnosis(Verdict.SKIPPED, "needs your kernel in CUDA C++, which was not handed in")
    return Diagnosis(
        Verdict.SKIPPED, f"needs a kernel in CUDA C++ that is right on all cases: {files} is not"
    )
