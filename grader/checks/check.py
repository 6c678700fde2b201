"""The interface between the grading and a check.

    applies    whether there is anything to check in this kernel, on this device
    prevented  the outcome if an earlier check rules this one out, else None
    run        one outcome; several if parts of the points differ in visibility

A check is an object in `grader.checks.registry`. Its class imports torch inside `run` only: a
grading loads torch while the compilers work.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from grader.assignment.cases import Case
from grader.assignment.model import Assignment, Kernel
from grader.build.artifact import Built, Rejected
from grader.checks.common.diagnosis import Diagnosis
from grader.gpu.nvml import Gpu
from grader.judge.time_budget import TimeBudget
from grader.report.evidence import Evidence
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.vocabulary import CheckName, Device, Language, Visibility

if TYPE_CHECKING:
    # These modules import torch.
    from grader.build.kernel_file import Checked
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


@dataclass(frozen=True, kw_only=True)  # no slots: typing sets an attribute on a generic's instances
class CheckOutcome(Generic[E]):
    """The result of a check: a diagnosis and the evidence for it.

    `share` is the part of the points that is won, None for all or nothing. `wall_s` is None for the
    time of the check's `run`. If a check has several
    outcomes, each has a `label` for its line and a `weight` in the points. `host_wrote` tells later
    checks that host code wrote results into an output; it is in no report. `elsewhere` marks cases
    that another grader runs: their points are pending, and say nothing about this run.
    """

    diagnosis: Diagnosis
    evidence: E | None = None
    share: float | None = None
    wall_s: float | None = None
    label: str = ""
    weight: int = 1
    visibility: Visibility = Visibility.VISIBLE
    host_wrote: bool = False
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

    `gpu` is None where the CPU grades, `cores` the number of cores of the whole grading, and
    `public_seed` the seed of visible cases. The student's program may run with one of `kernels`,
    which are in CUDA C++, in order. `budget` is the time of the whole submission.
    """

    assignment: Assignment
    file: KernelFile
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
        """Return the checked host build of a CUDA C++ file."""

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
