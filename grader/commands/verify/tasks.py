"""The pieces of work of a verification; each is done in one process and yields rows.

A task is data: it is made where the command line was read, and done by `WorkerState`
in a process that has torch and the Python server ready. What breaks inside is a
row of that task alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grader.assignment.model import Assignment, Kernel
from grader.commands.verify import judgement
from grader.commands.verify.expectation import Expectation
from grader.commands.verify.row import Row, State
from grader.commands.verify.samples import Sample
from grader.errors import GraderError
from grader.gpu.nvml import Gpu
from grader.grading.plan import Options
from grader.pool.state import WorkerState
from grader.submission.reader import SourceFile, Submission, read_submission
from grader.vocabulary import CheckName, Device, Language

# A sample that must meet its time limit is not waited for as long as a student's kernel
# is: it would cost a minute each. What ends by itself within the real limit, but not
# within this one, belongs in too_slow/.
_TIMED = frozenset({"too_slow", "tampered"})
_PATIENCE_S = 2.0
_PATIENCE_LOAD_S = 5.0


class Task(Protocol):
    """A piece of work; `weight` is a guess at its seconds, for the longest to be first."""

    @property
    def title(self) -> str:
        """What a reader of the progress sees."""

    @property
    def weight(self) -> float:
        """A guess at the seconds that it takes."""

    @property
    def subject(self) -> tuple[str, str]:
        """The assignment's name and what is looked at, for a row if all breaks down."""

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Do it. Raises GraderError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grading:
    """One kernel in one language, graded on a device (`gpu` None is the processor)."""

    assignment: Assignment
    kernel: Kernel
    language: Language
    gpu: Gpu | None
    seed: int = 0

    def options(self) -> Options:
        return Options(
            gpu=self.gpu,
            kernels=frozenset({self.kernel.name}),
            languages=frozenset({self.language}),
            public_seed=self.seed,
            secret_seed=self.seed,
        )

    @property
    def file(self) -> str:
        return self.kernel.files[self.language]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTask(_Grading):
    """A sample hand-in gets the verdict of its folder and what its first line says.

    By all checks, or by those of `checks` only.
    """

    sample: Sample
    expectation: Expectation | None
    checks: frozenset[CheckName] = frozenset()

    @property
    def title(self) -> str:
        """The sample's own."""
        return f"{self.assignment.name} · {self.sample.title}"

    @property
    def weight(self) -> float:
        """The endless ones are waited for several times."""
        return 8.0 if self.sample.verdict == "time_limit" else 2.0

    @property
    def subject(self) -> tuple[str, str]:
        """As in the row of a verdict."""
        return self.assignment.name, f"sample {self.sample.title}"

    def _asked(self) -> frozenset[CheckName]:
        """Return the checks that can give the verdict; empty for all."""
        judged_by = self.expectation.check if self.expectation is not None else None
        if self.sample.verdict in _TIMED or judged_by == CheckName.PERFORMANCE:
            return frozenset()
        # Right, or wrong, is what it is to be; how fast it is as well says nothing of it.
        return frozenset(CheckName.all()) - {CheckName.PERFORMANCE}

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Grade the sample's folder, only this file of it."""
        assignment = self.assignment
        if self.sample.verdict == "time_limit":
            limits = assignment.limits
            patience = dataclasses.replace(
                limits,
                call_s=min(limits.call_s, _PATIENCE_S),
                load_s=min(limits.load_s, _PATIENCE_LOAD_S),
            )
            assignment = dataclasses.replace(assignment, limits=patience)
        options = dataclasses.replace(self.options(), checks=self.checks or self._asked())
        if self.sample.has_program:
            options = dataclasses.replace(options, kernels=frozenset())
        report = state.grade(assignment, read_submission(self.sample.folder, assignment), options)
        if self.sample.verdict == "tampered":
            state.renew()  # what it did to the server is nobody else's business
        row = judgement.judge_sample(self.sample, self.expectation, report, options.device)
        return (row,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceTask(_Grading):
    """The solved file earns all of its points."""

    reference: Path

    @property
    def title(self) -> str:
        """With the seed, as each is graded several times."""
        return f"{self.assignment.name} · reference {self.file}, seed {self.seed}"

    @property
    def weight(self) -> float:
        """All cases to their end."""
        return 5.0

    @property
    def subject(self) -> tuple[str, str]:
        """As in the row of a verdict."""
        return self.assignment.name, f"reference {self.file}"

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Grade it on the cases of this seed."""
        submission = read_submission(self.reference, self.assignment)
        report = state.grade(self.assignment, submission, self.options())
        return (judgement.judge_reference(report.kernels[0], report, self.seed),)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorthlessTask(_Grading):
    """A kernel that does no work is built and earns nothing."""

    what: str
    check: str
    text: str
    # What is handed in with it: right kernels, where the student's own program is the junk.
    beside: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the file is."""
        return f"{self.assignment.name} · {self.what}, {self.check}"

    @property
    def weight(self) -> float:
        """Built, and every case wrong."""
        return 3.0

    @property
    def subject(self) -> tuple[str, str]:
        """As in the row of a verdict."""
        return self.assignment.name, self.what

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Grade the text as this kernel's file."""
        submission = in_memory({**self.beside, self.file: self.text})
        report = state.grade(self.assignment, submission, self.options())
        kernel = report.kernels[0]
        return (judgement.judge_worthless(self.what, self.check, kernel, report),)


@dataclass(frozen=True, slots=True, kw_only=True)
class UntouchedTask:
    """The stubs as handed out, all languages of a kernel, are no hand-in."""

    assignment: Assignment
    kernel: Kernel
    template: Path
    gpu: Gpu | None

    @property
    def title(self) -> str:
        """With the kernel, which has a stub in each language."""
        return f"{self.assignment.name} · untouched stub of {self.kernel.name}"

    @property
    def weight(self) -> float:
        """Nothing is built or run."""
        return 0.1

    @property
    def subject(self) -> tuple[str, str]:
        """As in the row of a verdict."""
        return self.assignment.name, f"stub of {self.kernel.name}"

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Grade the template's folder."""
        submission = read_submission(self.template, self.assignment)
        options = Options(gpu=self.gpu, kernels=frozenset({self.kernel.name}))
        report = state.grade(self.assignment, submission, options)
        return (judgement.judge_untouched(report.kernels[0], report),)


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleTask:
    """The oracle keeps its promises, and the comparison refuses junk, in one language."""

    assignment: Assignment
    language: Language
    device: Device
    seed: int

    @property
    def title(self) -> str:
        """With the language, which may bind other types."""
        return f"{self.assignment.name} · oracle, {self.language.phrase}"

    @property
    def weight(self) -> float:
        """All cases several times, in torch alone."""
        return 6.0

    @property
    def subject(self) -> tuple[str, str]:
        """As in the rows of the proofs."""
        return self.assignment.name, f"oracle, {self.language.phrase}"

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Ask for all cases; nothing of a hand-in is run."""
        # They import torch, which the process that only hands out tasks has no need of.
        from grader.commands.verify.mutants import junk_rows
        from grader.commands.verify.oracle_proofs import oracle_rows

        where = self.assignment, self.language, self.device, self.seed
        return (*oracle_rows(*where), *junk_rows(*where))


def in_memory(texts: Mapping[str, str]) -> Submission:
    """Return a hand-in of these files by path, without a folder."""
    files = {path: SourceFile(path=path, text=text) for path, text in texts.items()}
    return Submission(source=Path("made by grade verify"), files=files)


def rows_of(task: Task, state: WorkerState) -> Iterator[Row]:
    """Do a task; yield its rows, or one that says how the grader failed."""
    try:
        yield from task.do(state)
    except GraderError as error:
        yield failed(task, error.message)
    except Exception as error:
        yield failed(task, f"{type(error).__name__}: {error}")


def failed(task: Task, message: str) -> Row:
    """Return the row of a task that came to nothing."""
    assignment, subject = task.subject
    return Row(
        assignment=assignment,
        subject=subject,
        check="verdict",
        state=State.FAILED,
        expected="a result",
        actual="the grader failed",
        note=message,
    )
