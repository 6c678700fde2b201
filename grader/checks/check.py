"""The interface between the grading, a check and a language.

    applies    whether there is anything to check in this kernel, on this device
    prevented  the outcome if an earlier check rules this one out, else None
    run        one outcome; several if parts of the points differ in visibility

A check is an object in `grader.checks.registry`. Its class imports torch inside `run` only: a
grading loads torch while the compilers work.

`LanguageSupport` says how a language is built, run, watched and counted. A language is an object in
`grader.languages.registry`; it imports torch inside the methods that take a context only. What a
spec can say of it is a row of `assignment.dialects`.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from grader.assignment.cases import Case
from grader.assignment.model import Assignment, Kernel
from grader.assignment.signature import Signature
from grader.build.artifact import Built, Checked, Rejected
from grader.checks.common.diagnosis import Diagnosis
from grader.gpu.nvml import Gpu
from grader.judge.time_budget import TimeBudget
from grader.report.evidence import (
    BuildEvidence,
    CorrectnessEvidence,
    CountersEvidence,
    Evidence,
    MemoryEvidence,
)
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.vocabulary import CheckName, Device, Language, Visibility

if TYPE_CHECKING:
    # These modules import torch.
    from grader.checks.common.case_run import RunSetup
    from grader.judge.oracle import CaseData, Oracle
    from grader.judge.session import Session

E = TypeVar("E", bound=Evidence)


class Cost(IntEnum):
    """When a check runs: all kernels are checked at one cost before the next cost.

    Time may run out, so the cheap checks with the most points come first.
    """

    CASES = 0
    PROGRAM = 1
    TOOLS = 2
    COUNTING = 3
    TIMING = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCode:
    """What the host code of a submission did in the calls of its cases; it is in no report.

    `wrote` is true if it wrote results into an output, `left` if an output ended a call as it had
    left it, other than zeros. `operations` are the names of torch's functions that it called, as
    the worker says.
    """

    wrote: bool
    left: bool
    operations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedCase:
    """What the executor of launches recorded while a case was judged; it is in no report.

    The records are those of the first call, which checked every access. `right` is true if all its
    outputs were.
    """

    case: Case
    records: tuple[dict[str, Any], ...]
    right: bool


@dataclass(frozen=True, kw_only=True)  # no slots: typing sets an attribute on a generic's instances
class CheckOutcome(Generic[E]):
    """The result of a check: a diagnosis and the evidence for it.

    `share` is the part of the points that is won, None for all or nothing. `wall_s` is None for the
    time of the check's `run`. If a check has several outcomes, each has a `label` for its line and
    a `weight` in the points. `host` tells later checks what host code did, if the executor of
    launches saw it, and `watched` what that found in memory. `elsewhere` marks cases that another
    grader runs: their points are pending, and say nothing about this run.
    """

    diagnosis: Diagnosis
    evidence: E | None = None
    share: float | None = None
    wall_s: float | None = None
    label: str = ""
    weight: int = 1
    visibility: Visibility = Visibility.VISIBLE
    host: HostCode | None = None
    watched: tuple[WatchedCase, ...] = ()
    elsewhere: bool = False

    @property
    def verdict(self) -> Verdict:
        """The diagnosis's verdict."""
        return self.diagnosis.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFile:
    """One file to check: a kernel in one language, or the student's program."""

    kernel: Kernel
    language: Language
    source: SourceFile

    @property
    def key(self) -> tuple[str, Language]:
        """Identifies the file within its submission."""
        return self.kernel.name, self.language

    @property
    def title(self) -> str:
        """The name in the progress display."""
        return f"{self.kernel.name} · {self.language.phrase}"

    @property
    def is_program(self) -> bool:
        """True for the student's own main.cu, which runs one of the kernels."""
        return CheckName.PROGRAM in self.kernel.points


class CheckContext(Protocol):
    """The grading as a check sees it: one kernel file and everything needed to check it.

    `support` is how the file's language is built, run, watched and counted. `gpu` is None where the
    CPU grades, `cores` the number of cores of the whole grading, and `public_seed` the seed of
    visible cases. The student's program may run with one of `kernels`,
    which are in CUDA C++, in order. `budget` is the time of the whole submission.
    """

    assignment: Assignment
    file: KernelFile
    support: LanguageSupport
    gpu: Gpu | None
    device: Device
    cores: int
    public_seed: int
    kernels: Sequence[KernelFile]
    budget: TimeBudget

    @property
    def built(self) -> Built:
        """The file as built for this device."""

    def replace_build(self, build: Built | Rejected) -> None:
        """Replace the build by the result of a later compiler. A rejection ends the checks."""

    def checked_build(self) -> Checked | Rejected:
        """Return the checked host build of a file, in a language that has one."""

    def baseline(self) -> Built:
        """Return torch's baseline, built like a submission."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases of this run for the file's language and device."""

    @property
    def oracle(self) -> Oracle:
        """The assignment's oracle, loaded once; it opens the GPU, too."""

    def data(self, case: Case) -> CaseData:
        """Return inputs and expected values of a case."""

    def setup(self, built: Built | None = None, *, private: bool | None = None) -> RunSetup:
        """Return the setup of a worker for this build; `private` overrides the transport."""

    @property
    def can_share(self) -> bool:
        """True if judge and worker can share the GPU's memory (not on WSL 2)."""

    def prestarted(self) -> Mapping[str, Session]:
        """Return the idle workers under the sanitizer's tools, by tool; the caller ends them."""

    def end_prestarted(self) -> None:
        """End all prestarted workers, so that nothing else uses the GPU from here on."""

    def rng(self, check: CheckName) -> random.Random:
        """Return the source of a check's secret choices; it depends on the secret seed only."""

    @property
    def explains(self) -> bool:
        """True if somebody reads what explains wrong results."""

    @property
    def correct(self) -> bool | None:
        """Whether the cases are right; None if that is unknown or was filtered out."""

    def outcomes(self, check: CheckName) -> Sequence[CheckOutcome[Any]]:
        """Return the outcomes of an earlier check of this file; empty if it has not run."""

    def includes(self, check: CheckName) -> bool:
        """True unless the options filter the check out."""

    def is_correct(self, kernel: KernelFile) -> bool | None:
        """Whether one of `kernels` is right; None if this machine cannot judge it."""

    def linked_with(self, kernel: KernelFile) -> Built | Rejected:
        """Return the student's program linked with a kernel."""

    def set_steps(self, steps: int) -> None:
        """Set the number of steps that `advance` will report."""

    def advance(self, step: str) -> None:
        """Report one step as done."""


class Check(Generic[E]):
    """One check. A subclass defines `name` and `run`, and overrides the rest."""

    name: ClassVar[CheckName]
    cost: ClassVar[Cost] = Cost.TOOLS
    # True if the points count only when the cases are right.
    needs_correct: ClassVar[bool] = True

    def applies(self, context: CheckContext) -> bool:
        """Return whether there is anything to check: by default, whether the spec has points."""
        return self.name in context.file.kernel.points

    def prevented(self, context: CheckContext) -> CheckOutcome[E] | None:
        """Return the outcome if an earlier check rules this one out, None if it may run."""
        return None

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[E]]:
        """Check the file. Returns nothing if there is nothing to report."""
        raise NotImplementedError

    def lines(self, evidence: E) -> Sequence[str]:
        """Return the lines that a student reads below the check's line, from its evidence."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """A file to build for `device`.

    `architecture` is the GPU's compute capability (needed for cuda); `scratch` is a folder that
    lives as long as the result. `contract` is that of `build.host_compiler`.
    """

    assignment: Assignment
    source: SourceFile
    device: Device
    architecture: tuple[int, int] | None
    scratch: Path
    contract: bool = False


class LanguageSupport(ABC):
    """One language. A subclass defines `language` and `build`, and what else it can do.

    `tool_on_cpu` is the name of the tool that watches without a GPU. With `checked_ahead` the build
    with checked accesses starts together with the other builds, and on a GPU so do workers under
    compute-sanitizer, where a check will ask for them. With `host_is_native` the host code of a
    right kernel is searched for work that kernels must do.
    """

    language: ClassVar[Language]
    tool_on_cpu: ClassVar[str] = ""
    checked_ahead: ClassVar[bool] = False
    host_is_native: ClassVar[bool] = False

    @abstractmethod
    def build(self, request: BuildRequest) -> Built | Rejected:
        """Build a file, or return why that is impossible.

        Raises GraderError if a compiler breaks down.
        """

    def build_checked(self, assignment: Assignment, source: SourceFile) -> Checked | Rejected:
        """Build a file for the CPU with every memory access checked."""
        missing = self._unable("builds with checked accesses")
        evidence = BuildEvidence(tool="none", cached=False)
        return Rejected(verdict=missing.verdict, message=missing.message, evidence=evidence)

    def missing(self) -> str:
        """Return the package without which no file can be built on this machine, "" if none is."""
        return ""

    def without_gpu(self, context: CheckContext) -> Built | None:
        """Return what a machine without a GPU runs of a file that one has built for its GPU.

        None if there is no such build.
        """
        return context.built.on_cpu() if self.language.imported else None

    def zeros(self, signature: Signature) -> str | None:
        """Return a file that writes zeros into every output, None if there is no such file."""
        return None

    def before_cases(self, context: CheckContext, setup: RunSetup) -> None:
        """Do what makes the cases faster."""
        return

    def after_cases(
        self,
        context: CheckContext,
        verified: CorrectnessEvidence,
        launches: Sequence[dict[str, Any]],
    ) -> CorrectnessEvidence:
        """Return the results of the cases, less what further runs or compilers refute.

        `launches` are the worker's records of launches, which are untrusted.
        """
        return verified

    def watch(self, context: CheckContext, cases: Sequence[Case]) -> CheckOutcome[MemoryEvidence]:
        """Run cases under a tool that checks every access."""
        return CheckOutcome(diagnosis=self._unable("watches memory accesses"))

    def count(self, context: CheckContext) -> CheckOutcome[CountersEvidence]:
        """Count the accesses of one call."""
        outcome = CheckOutcome[CountersEvidence](diagnosis=self._unable("counts memory accesses"))
        if context.file.kernel.counters is not None:
            return outcome
        return replace(outcome, diagnosis=replace(outcome.diagnosis, verdict=Verdict.SKIPPED))

    def _unable(self, what: str) -> Diagnosis:
        return Diagnosis(Verdict.NOT_MEASURED, f"no tool {what} in {self.language.phrase}")
