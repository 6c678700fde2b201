"""Triton: imported by a worker; without a GPU an executor runs the launches, watches and counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader.assignment.cases import Case
from grader.assignment.signature import Signature
from grader.build.artifact import Built, Rejected, unfit
from grader.build.compile_gate import compile_launches
from grader.build.python_source import build_python
from grader.checks.check import BuildRequest, CheckContext, CheckOutcome, LanguageSupport
from grader.checks.common import executor_findings
from grader.languages.zeros import triton_zeros
from grader.protocol.targets import target_of
from grader.report.evidence import CorrectnessEvidence, CountersEvidence, MemoryEvidence
from grader.system import toolchain
from grader.vocabulary import CheckName, Device, Language

if TYPE_CHECKING:
    from grader.checks.common.case_run import RunSetup  # it imports torch


class Triton(LanguageSupport):
    """Triton, in a Python file that a worker imports."""

    language = Language.TRITON
    tool_on_cpu = executor_findings.TOOL

    def build(self, request: BuildRequest) -> Built | Rejected:
        """Check the file's syntax and its entry."""
        signature, source = request.assignment.signature, request.source
        return unfit(source) or build_python(signature, source, request.device, request.scratch)

    def zeros(self, signature: Signature) -> str | None:
        """Return a file with `zero_`."""
        return triton_zeros(signature)

    def before_cases(self, context: CheckContext, setup: RunSetup) -> None:
        """Compile the configurations of autotuners on several cores."""
        from grader.checks.correctness.compile_ahead import compile_ahead

        if context.gpu is not None and "autotune" in context.file.source.text:
            compile_ahead(setup, context.cases, context.data, context.gpu, context.cores)

    def after_cases(
        self,
        context: CheckContext,
        verified: CorrectnessEvidence,
        launches: Sequence[dict[str, Any]],
    ) -> CorrectnessEvidence:
        """Compile the launches that were executed, for a GPU.

        On a GPU no case is right if a kernel does not compile, or cannot be launched.
        """
        if launches and any(case.verdict.earns_points for case in verified.cases):
            context.replace_build(compile_launches(context.built, launches))
        return verified

    def watch(self, context: CheckContext, cases: Sequence[Case]) -> CheckOutcome[MemoryEvidence]:
        """Replay the launches under compute-sanitizer on a GPU, else check them in the executor."""
        from grader.checks.memory.on_cpu import check_triton_memory
        from grader.checks.memory.triton_on_gpu import check_triton_gpu_memory

        prepared = [(case, context.data(case)) for case in cases]
        if context.device is Device.CPU:
            setup = context.setup(private=False)
            judged = context.outcomes(CheckName.CORRECTNESS)
            return check_triton_memory(setup, prepared, context.advance, judged)
        assert context.gpu is not None
        major, minor = context.gpu.compute_capability
        tool, target = toolchain.find_compute_sanitizer(), target_of(10 * major + minor)
        return check_triton_gpu_memory(context.setup(), tool, prepared, context.advance, target)

    def count(self, context: CheckContext) -> CheckOutcome[CountersEvidence]:
        """Count in the executor."""
        from grader.checks.counters.count import counting
        from grader.checks.counters.count_triton import check_triton_counters

        case, scoring = counting(context)
        built = context.built.on_cpu()
        setup = context.setup(built, private=False)
        return check_triton_counters(setup, (case, context.data(case)), scoring)
