"""What a run is asked for, and the files it comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.assignment.model import Assignment, Kernel
from grader.gpu.nvml import Gpu
from grader.submission.reader import SourceFile
from grader.vocabulary import CheckName, Device, Language

Transport = Literal["shared", "private"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is asked for. Empty filters leave nothing out.

    `gpu` is the one to use, None for the CPU. `transport` None means shared
    memory where a probe shows that it works.
    """

    gpu: Gpu | None = None
    kernels: frozenset[str] = frozenset()
    languages: frozenset[Language] = frozenset()
    checks: frozenset[CheckName] = frozenset()
    public_seed: int = 0
    secret_seed: int = 0
    transport: Transport | None = None

    @property
    def device(self) -> Device:
        """The device to grade on."""
        return Device.CPU if self.gpu is None else Device.CUDA

    def wants(self, check: CheckName) -> bool:
        """True unless the check was filtered out."""
        return not self.checks or check in self.checks

    def filtered(self, assignment: Assignment) -> bool:
        """True if a filter leaves something of the assignment out that has points or a language."""
        parts = assignment.parts
        return (
            bool(self.kernels and {p.name for p in parts} - self.kernels)
            or bool(self.languages and {n for p in parts for n in p.files} - self.languages)
            or bool(self.checks and {c for p in parts for c in p.points} - self.checks)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One file to grade."""

    kernel: Kernel
    language: Language
    source: SourceFile

    @property
    def title(self) -> str:
        """The name for progress."""
        return f"{self.kernel.name} · {self.language.phrase}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentProgram:
    """The student's main.cu, and the CUDA C++ kernels it may run with, in order."""

    main: Unit
    kernels: tuple[Unit, ...]
