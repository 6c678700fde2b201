"""Numba: imported by a worker; without a GPU an executor runs the PTX of its kernels, and watches.

On a GPU Numba compiles and launches as it does for anybody; the memory check and the counters are
those of the executor on every machine.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import replace

from grader.assignment.cases import Case
from grader.assignment.signature import Signature
from grader.build.artifact import Built, Rejected, unfit
from grader.build.python_source import build_python
from grader.checks.check import BuildRequest, CheckContext, CheckOutcome, LanguageSupport
from grader.checks.common import executor_findings
from grader.languages.zeros import numba_zeros
from grader.report.evidence import BuildEvidence, CountersEvidence, MemoryEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Language

_PACKAGES = ("numba", "numba_cuda", "llvmlite")


class Numba(LanguageSupport):
    """Numba's CUDA target, in a Python file that a worker imports."""

    language = Language.NUMBA
    tool_on_cpu = executor_findings.tool_of(Language.NUMBA)

    def build(self, request: BuildRequest) -> Built | Rejected:
        """Check the file's syntax and its entry."""
        rejected = unfit(request.source)
        if rejected is not None:
            return rejected
        if self.missing():
            return Rejected(
                verdict=Verdict.NOT_MEASURED,
                message="Numba is not on this machine: its kernels cannot be compiled",
                hint='install the extra `numba`, in the course folder: pip install ".[numba]"',
                evidence=BuildEvidence(tool="Numba", cached=False),
            )
        signature, source = request.assignment.signature, request.source
        return build_python(signature, source, request.device, request.scratch, self.language)

    def missing(self) -> str:
        """Return "Numba" if it or its CUDA target is not installed."""
        there = all(importlib.util.find_spec(name) is not None for name in _PACKAGES)
        return "" if there else "Numba"

    def zeros(self, signature: Signature) -> str | None:
        """Return a file whose host code writes zeros."""
        return numba_zeros(signature)

    def watch(self, context: CheckContext, cases: Sequence[Case]) -> CheckOutcome[MemoryEvidence]:
        """Check every access in the executor, on a GPU too."""
        from grader.checks.memory.on_cpu import check_triton_memory

        prepared = [(case, context.data(case)) for case in cases]
        built = context.built.on_cpu()
        setup = replace(context.setup(built, private=False), driver=None)
        judged = context.outcomes(CheckName.CORRECTNESS)
        return check_triton_memory(setup, prepared, context.advance, judged)

    def count(self, context: CheckContext) -> CheckOutcome[CountersEvidence]:
        """Count in the executor."""
        from grader.checks.counters.count import counting
        from grader.checks.counters.count_numba import check_numba_counters

        case, scoring = counting(context)
        built = context.built.on_cpu()
        setup = context.setup(built, private=False)
        return check_numba_counters(setup, (case, context.data(case)), scoring)
