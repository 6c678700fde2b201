"""The memory check: run small cases again under a tool that checks every access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from grader.assignment.cases import Case
from grader.build.artifact import Rejected
from grader.build.kernel_file import Checked, build_checked
from grader.checks.check import Check, CheckContext, CheckOutcome
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.small_case import unnamed
from grader.checks.correctness.check import always_timed_out
from grader.protocol.targets import target_of
from grader.report.evidence import MemoryEvidence
from grader.report.verdict import Verdict
from grader.system import toolchain
from grader.vocabulary import CheckName, Device, Language, Visibility

if TYPE_CHECKING:
    from grader.checks.common.case_run import RunSetup  # it imports torch


class MemoryCheck(Check[MemoryEvidence]):
    """Is memory used safely? Runs after a wrong answer as well, where it helps most."""

    name = CheckName.MEMORY

    def prevented(self, context: CheckContext) -> CheckOutcome[MemoryEvidence] | None:
        """Skip a Triton kernel whose calls never end, as they would not end here either.

        In CUDA C++ such a kernel may hang in a barrier, which this check reports.
        """
        if context.file.language is not Language.TRITON:
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
        outcome = self._run(context, [unnamed(case) for case in cases])
        if hidden and outcome.evidence is not None:
            outcome = replace(outcome, evidence=replace(outcome.evidence, output=""))
        return [outcome]

    def _run(self, context: CheckContext, chosen: Sequence[Case]) -> CheckOutcome[MemoryEvidence]:
        from grader.checks.memory.on_cpu import (
            check_host_memory,
            check_triton_memory,
            host_result,
        )
        from grader.checks.memory.on_gpu import check_gpu_memory
        from grader.checks.memory.triton_on_gpu import check_triton_gpu_memory

        cases = [(case, context.data(case)) for case in chosen]
        if context.device is Device.CUDA:
            tool = toolchain.find_compute_sanitizer()
            if context.file.language is Language.TRITON:
                assert context.gpu is not None
                major, minor = context.gpu.compute_capability
                setup, target = context.setup(), target_of(10 * major + minor)
                return check_triton_gpu_memory(setup, tool, cases, context.advance, target)
            setup, checked = context.setup(private=True), context.checked_build()
            on_host = None
            if isinstance(checked, Checked):
                host = context.setup(checked.built, private=False)
                marked = partial(_marked, context, False)
                on_host = partial(host_result, host, checked.text, marked, cases, lambda step: None)
            return check_gpu_memory(
                setup, tool, cases, context.advance, context.prestarted(), on_host
            )
        if context.file.language is Language.TRITON:
            setup = context.setup(private=False)
            return check_triton_memory(setup, cases, context.advance)
        checked = context.checked_build()
        if isinstance(checked, Rejected):
            return CheckOutcome(diagnosis=Diagnosis(checked.verdict, checked.message))
        setup, marked = context.setup(checked.built), partial(_marked, context, None)
        return check_host_memory(setup, checked.text, marked, cases, context.advance)


def _marked(context: CheckContext, private: bool | None) -> tuple[RunSetup, str] | None:
    """Build with marks on local variables; return the setup and the rewritten text."""
    built = build_checked(context.assignment, context.file.source, mark_locals=True)
    if isinstance(built, Rejected):
        return None
    return context.setup(built.built, private=private), built.text
