"""The protocol of a check: what the grading asks of it, and what it gives back.

    applies    is there anything to check in this kernel, on this device?
    prevented  what it says if it cannot run after what the checks before it found out
    run        one outcome; several where parts of the points differ in who may see them

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
from grader.report.evidence import Evidence
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.vocabulary import CheckName, Device, Language, Visibility

if TYPE_CHECKING:
    # They import torch.
    from grader.build.kernel_file import Checked
    from grader.checks.common.case_run import RunSetup
    from grader.judge.oracle import CaseData, Oracle
    from grader.judge.session import Session

E = TypeVar("E", bound=Evidence)


class Cost(IntEnum):
    """When a check runs: all checks of one cost, kernel by kernel, before the next cost.

    Time may run out, so what is cheap and worth most comes first.
    """

    CASES = 0
    PROGRAM = 1
    TOOLS = 2
    COUNTING = 3
    TIMING = 4


@dataclass(frozen=True, kw_only=True)  # no slots: typing sets an attribute on a generic's instances
class CheckOutcome(Generic[E]):
    """What a check found out: a verdict in words, and the evidence that it rests on.

    `share` of the points is won where they are not all or nothing. Of a check with several
    outcomes each has a `label` for its line and its `weight` in the points.
    """

    diagnosis: Diagnosis
    evidence: E | None = None
    share: float | None = None
    wall_s: float = 0.0
    label: str = ""
    weight: int = 1
    visibility: Visibility = Visibility.VISIBLE

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
        """What distinguishes the file from the others of its submission."""
        return self.kernel.name, self.language

    @property
    def title(self) -> str:
        """The name that progress shows."""
        return f"{self.kernel.name} · {self.language.phrase}"

    @property
    def is_program(self) -> bool:
        """True for the student's own main.cu, which runs one of the kernels."""
        return CheckName.PROGRAM in self.kernel.points


class CheckContext(Protocol):
    """What a check may ask of the grading, about the kernel file that it checks."""

    @property
    def assignment(self) -> Assignment:
        """The assignment that is graded."""

    @property
    def file(self) -> KernelFile:
        """The file that is checked."""

    @property
    def gpu(self) -> Gpu | None:
        """The GPU to grade on, None for the CPU."""

    @property
    def device(self) -> Device:
        """The device to grade on."""

    @property
    def public_seed(self) -> int:
        """The seed of visible cases."""

    @property
    def built(self) -> Built:
        """The file as built for this device."""

    def rebuilt(self, build: Built | Rejected) -> None:
        """Replace the build: a later compiler had more to say. A rejection ends the checks."""

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
        """Return what a worker for this build needs; `private` buffers if asked for."""

    @property
    def can_share(self) -> bool:
        """True if judge and worker can share the GPU's memory (not on WSL 2)."""

    def prestarted(self) -> Mapping[str, Session]:
        """Return the workers that wait under the sanitizer's tools; the caller ends them."""

    def alone(self) -> None:
        """End every worker that waits: nothing else may use the GPU from here on."""

    def chooser(self, check: CheckName) -> random.Random:
        """Return what a check draws secrets from: the same in each run with the same seed."""

    @property
    def correct(self) -> bool | None:
        """Whether the cases are right; None if that is not known, or was not asked for."""

    def outcomes(self, check: CheckName) -> Sequence[CheckOutcome[Any]]:
        """Return what an earlier check of this file found out; empty if it has not run."""

    def wants(self, check: CheckName) -> bool:
        """True unless a filter leaves the check out."""

    @property
    def kernels(self) -> Sequence[KernelFile]:
        """The CUDA C++ kernels that the student's program may run with, in order."""

    def is_correct(self, kernel: KernelFile) -> bool | None:
        """Whether one of `kernels` is right; None if this machine cannot say."""

    def linked_with(self, kernel: KernelFile) -> Built | Rejected:
        """Return the student's program linked with a kernel."""

    def expect(self, steps: int) -> None:
        """Announce how many steps `advance` will be told."""

    def advance(self, step: str) -> None:
        """Report one step as done."""


class Check(Generic[E]):
    """One check. A subclass gives `name`, `evidence` and `run`, and what differs of the rest."""

    name: ClassVar[CheckName]
    evidence: ClassVar[type[Any]]
    cost: ClassVar[Cost] = Cost.TOOLS
    # Whether its points count only if the cases are right.
    needs_correct: ClassVar[bool] = True

    def applies(self, context: CheckContext) -> bool:
        """Say whether there is anything to check: by default, if a spec gives points for it."""
        return self.name in context.file.kernel.points

    def prevented(self, context: CheckContext) -> CheckOutcome[E] | None:
        """Return what the check says if it cannot run now, None if it can."""
        return None

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[E]]:
        """Check the file. Empty if there is nothing worth a line in the report."""
        raise NotImplementedError

    def lines(self, evidence: E) -> Sequence[str]:
        """Return what a student reads below the check's line, for evidence of its own."""
        return ()
