"""CUDA C++: built by nvcc, or by g++ with the emulation's runtime; watched by compute-sanitizer or
the checked build, and counted in that.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from grader.assignment.cases import Case
from grader.assignment.counter_bounds import CountName
from grader.assignment.model import Assignment
from grader.assignment.signature import Signature
from grader.build.artifact import Built, Checked, Rejected, unfit
from grader.build.kernel_file import build, build_checked
from grader.checks.check import BuildRequest, CheckContext, CheckOutcome, LanguageSupport
from grader.checks.common import emulation_findings
from grader.checks.common.diagnosis import Diagnosis
from grader.emulation.cuda_cpp import has_bare_locals
from grader.languages.zeros import cuda_zeros
from grader.report.evidence import CorrectnessEvidence, CountersEvidence, MemoryEvidence
from grader.submission.reader import SourceFile
from grader.system import toolchain
from grader.vocabulary import CheckName, Device, Language

if TYPE_CHECKING:
    from grader.checks.common.case_run import RunSetup  # it imports torch


class CudaCpp(LanguageSupport):
    """CUDA C++, in a library that a worker loads."""

    language = Language.CUDA
    tool_on_cpu = emulation_findings.TOOL
    checked_ahead = True
    host_is_native = True

    def build(self, request: BuildRequest) -> Built | Rejected:
        """Build a library with the entry."""
        return build(
            request.assignment,
            request.source,
            request.device,
            architecture=request.architecture,
            contract=request.contract,
        )

    def build_checked(
        self, assignment: Assignment, source: SourceFile, *, mark_locals: bool = False
    ) -> Checked | Rejected:
        """Build for the CPU with every access checked; with marks, reads of locals, too."""
        return build_checked(assignment, source, mark_locals=mark_locals)

    def without_gpu(self, context: CheckContext) -> Built | None:
        """Return the checked build."""
        checked = context.checked_build()
        return checked.built if isinstance(checked, Checked) else None

    def zeros(self, signature: Signature) -> str | None:
        """Return a file with cudaMemset."""
        return cuda_zeros(signature)

    def after_cases(
        self,
        context: CheckContext,
        verified: CorrectnessEvidence,
        launches: Sequence[dict[str, Any]],
    ) -> CorrectnessEvidence:
        """Return the results, less what is right only because threads run one after another."""
        from grader.checks.correctness.interleaved import judge_interleaved

        right = all(case.verdict.earns_points for case in verified.cases)
        if context.device is not Device.CPU or not right:
            return verified
        checked = context.checked_build()
        if isinstance(checked, Rejected):
            return verified
        setup = context.setup(checked.built)
        return judge_interleaved(
            setup, context.cases, context.data, verified, explain=context.explains
        )

    def watch(self, context: CheckContext, cases: Sequence[Case]) -> CheckOutcome[MemoryEvidence]:
        """Run under compute-sanitizer's tools on a GPU, else in the checked build."""
        from grader.checks.correctness.check import always_timed_out
        from grader.checks.memory.on_cpu import check_host_memory, host_result
        from grader.checks.memory.on_gpu import check_gpu_memory

        prepared = [(case, context.data(case)) for case in cases]
        checked = context.checked_build()
        if context.device is Device.CUDA:
            on_host = None
            if isinstance(checked, Checked):
                host = context.setup(checked.built, private=False)
                marked = partial(self._marked, context, False)
                on_host = partial(
                    host_result, host, checked.text, marked, prepared, lambda step: None
                )
            return check_gpu_memory(
                context.setup(private=True),
                toolchain.find_compute_sanitizer(),
                prepared,
                context.advance,
                context.prestarted(),
                on_host,
                hangs=always_timed_out(context.outcomes(CheckName.CORRECTNESS)),
            )
        if isinstance(checked, Rejected):
            return CheckOutcome(diagnosis=Diagnosis(checked.verdict, checked.message))
        setup, marked = context.setup(checked.built), partial(self._marked, context, None)
        return check_host_memory(setup, checked.text, marked, prepared, context.advance)

    def _marked(self, context: CheckContext, private: bool | None) -> tuple[RunSetup, str] | None:
        """Build with marks on local variables; return the setup and the rewritten text.

        None if that fails, or there is no variable to mark.
        """
        own = context.built.text, *context.built.headers.values()
        if not any(map(has_bare_locals, own)):
            return None
        source = context.file.source
        built = self.build_checked(context.assignment, source, mark_locals=True)
        if isinstance(built, Rejected):
            return None
        return context.setup(built.built, private=private), built.text

    def count(self, context: CheckContext) -> CheckOutcome[CountersEvidence]:
        """Count in the checked build."""
        from grader.checks.counters import count

        case, scoring = count.counting(context)
        checked = context.checked_build()
        if isinstance(checked, Rejected):
            return count.not_built(checked, scoring)
        setup = context.setup(checked.built, private=False)
        compiled: dict[CountName, int] = {}
        if context.built.assembled is not None:
            used = context.built.assembled.kernels
            compiled = {"registers": max((kernel.registers for kernel in used), default=0)}
        prepared = case, context.data(case)
        return count.check_host_counters(setup, checked.text, prepared, scoring, compiled)


class TranslatedToCuda(CudaCpp):
    """A language whose files are translated into CUDA C++, which is built, run and checked."""

    @abstractmethod
    def translate(self, assignment: Assignment, source: SourceFile) -> SourceFile | Rejected:
        """Return the file in CUDA C++, with the same path and line numbers, or why there is none.

        `source` could be read, and so could its headers.
        """

    def build(self, request: BuildRequest) -> Built | Rejected:
        """Build the translation."""
        source = unfit(request.source) or self.translate(request.assignment, request.source)
        if isinstance(source, Rejected):
            return source
        built = super().build(replace(request, source=source))
        return built if isinstance(built, Rejected) else replace(built, language=self.language)

    def build_checked(
        self, assignment: Assignment, source: SourceFile, *, mark_locals: bool = False
    ) -> Checked | Rejected:
        """Build the translation for the CPU with every access checked."""
        translated = unfit(source) or self.translate(assignment, source)
        if isinstance(translated, Rejected):
            return translated
        checked = super().build_checked(assignment, translated, mark_locals=mark_locals)
        if isinstance(checked, Rejected):
            return checked
        return replace(checked, built=replace(checked.built, language=self.language))
