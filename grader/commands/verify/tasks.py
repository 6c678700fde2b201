"""Tasks of a verification, and the worker pool that does them and returns rows.

A task is data: the command-line process makes it, and a pool worker, which has torch
and a Python server, does it. A failure inside a task becomes a row of that task.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grader.assignment.model import Assignment, Kernel
from grader.commands.verify import judgement
from grader.commands.verify.row import Row, State
from grader.commands.verify.samples import Expectation, Sample
from grader.errors import GraderError
from grader.gpu.nvml import Gpu
from grader.grading.plan import Options
from grader.pool import process_pool
from grader.pool.state import WorkerState
from grader.submission.reader import SourceFile, Submission, read_submission
from grader.vocabulary import CheckName, Language

# Far more than any task takes, including waits for a GPU. Submissions have time limits: only an
# oracle can hang.
_PATIENCE_S = 900.0
_TIMED = frozenset({"too_slow", "tampered"})
# Samples that must exceed the time limit get less time than a student's kernel, to save a minute
# each. A sample that takes longer than these limits but not the real ones belongs in too_slow/.
_SAMPLE_CALL_S = 2.0
_SAMPLE_LOAD_S = 5.0


class Task(Protocol):
    """A piece of work; the task with the largest `weight` starts first."""

    @property
    def title(self) -> str:
        """The text for the progress line."""

    @property
    def weight(self) -> float:
        """The estimated time in seconds."""

    @property
    def subject(self) -> tuple[str, str]:
        """The assignment's name and the subject of the task's rows."""

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Do the task. Raises GraderError."""


class Pool(process_pool.Pool[Task, tuple[Row, ...]]):
    """A pool of `jobs` processes; use as a context manager, from the main thread."""

    def __init__(self, jobs: int, patience_s: float = _PATIENCE_S) -> None:
        super().__init__(
            jobs,
            f"{__name__}:rows_of",
            lambda task, message: (failed(task, message),),
            patience_s=patience_s,
        )


def rows_of(task: Task, state: WorkerState) -> tuple[Row, ...]:
    """Do a task; return its rows, or a row with the grader error."""
    try:
        return task.do(state)
    except GraderError as error:
        return (failed(task, error.message),)
    except Exception as error:
        return (failed(task, f"{type(error).__name__}: {error}"),)


def failed(task: Task, message: str) -> Row:
    """Return the row of a task that has no result."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """The base class of tasks; `gpu` None means the CPU."""

    assignment: Assignment
    gpu: Gpu | None
    seed: int = 0

    @property
    def title(self) -> str:
        """The text for the progress line."""
        return f"{self.assignment.name} · {self._title}"

    @property
    def subject(self) -> tuple[str, str]:
        """The assignment's name and the subject of the task's rows."""
        return self.assignment.name, self._subject

    @property
    def _subject(self) -> str:
        raise NotImplementedError

    @property
    def _title(self) -> str:
        return self._subject


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grading(_Task):
    """A task that grades one kernel in one language."""

    kernel: Kernel
    language: Language

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
    """Proves that a sample gets its folder's verdict and meets its first line.

    `checks` are the checks to run; if it is empty, they depend on the sample.
    """

    sample: Sample
    expectation: Expectation
    checks: frozenset[CheckName] = frozenset()

    @property
    def weight(self) -> float:
        """More for a sample that runs until its time limit, several times."""
        return 8.0 if self.sample.verdict == "time_limit" else 2.0

    @property
    def _subject(self) -> str:
        return f"sample {self.sample.title}"

    @property
    def _title(self) -> str:
        return self.sample.title

    def _checks(self) -> frozenset[CheckName]:
        """Return the checks to run; empty for all."""
        by_time = self.expectation.check == CheckName.PERFORMANCE
        if self.checks or by_time or self.sample.verdict in _TIMED:
            return self.checks
        # Speed has no influence on this verdict.
        return frozenset(CheckName.all()) - {CheckName.PERFORMANCE}

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Grade only this file of the sample's folder."""
        assignment = self.assignment
        if self.sample.verdict == "time_limit":
            limits = dataclasses.replace(
                assignment.limits,
                call_s=min(assignment.limits.call_s, _SAMPLE_CALL_S),
                load_s=min(assignment.limits.load_s, _SAMPLE_LOAD_S),
            )
            assignment = dataclasses.replace(assignment, limits=limits)
        options = dataclasses.replace(self.options(), checks=self._checks())
        if self.sample.has_program:
            options = dataclasses.replace(options, kernels=frozenset())
        report = state.grade(assignment, read_submission(self.sample.folder, assignment), options)
        if self.sample.verdict == "tampered":
            state.renew()  # the sample may have changed the server
        return (judgement.judge_sample(self.sample, self.expectation, report, options.device),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceTask(_Grading):
    """Proves that a solved file earns all of its points."""

    reference: Path
    weight = 5.0  # all cases run to completion

    @property
    def _subject(self) -> str:
        return f"reference {self.file}"

    @property
    def _title(self) -> str:
        return f"reference {self.file}, seed {self.seed}"

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Grade the file on the cases of this seed."""
        submission = read_submission(self.reference, self.assignment)
        report = state.grade(self.assignment, submission, self.options())
        return (judgement.judge_reference(report.kernels[0], report, self.seed),)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrivialTask(_Grading):
    """Proves that a kernel that does no work is built and earns nothing.

    `others` are files submitted with it: the solved kernels, if the trivial file is the
    student's own program.
    """

    what: str
    check: str
    text: str
    others: Mapping[str, str] = dataclasses.field(default_factory=dict)
    weight = 3.0

    @property
    def _subject(self) -> str:
        return self.what

    @property
    def _title(self) -> str:
        return f"{self.what}, {self.check}"

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Grade the text as this kernel's file."""
        texts = {**self.others, self.file: self.text}
        files = {path: SourceFile(path=path, text=text) for path, text in texts.items()}
        submission = Submission(source=Path("made by grade verify"), files=files)
        report = state.grade(self.assignment, submission, self.options())
        return (judgement.judge_trivial(self.what, self.check, report.kernels[0], report),)


@dataclass(frozen=True, slots=True, kw_only=True)
class UntouchedTask(_Task):
    """Proves that unchanged stubs, in all languages of a kernel, are no submission."""

    kernel: Kernel
    template: Path
    weight = 0.1  # nothing is built or run

    @property
    def _subject(self) -> str:
        return f"stub of {self.kernel.name}"

    @property
    def _title(self) -> str:
        return f"untouched stub of {self.kernel.name}"

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Grade the template's folder."""
        submission = read_submission(self.template, self.assignment)
        options = Options(gpu=self.gpu, kernels=frozenset({self.kernel.name}))
        report = state.grade(self.assignment, submission, options)
        return (judgement.judge_untouched(report.kernels[0], report),)


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleTask(_Task):
    """Proves the oracle's properties in one language, and that the comparison refuses mutants."""

    language: Language
    weight = 6.0  # computes all cases several times

    @property
    def _subject(self) -> str:
        return f"oracle, {self.language.phrase}"

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        """Run the proofs on all cases; no submission runs."""
        # Imports torch, which the command-line process does not need.
        from grader.commands.verify.oracle_proofs import oracle_rows

        device = Options(gpu=self.gpu).device
        return tuple(oracle_rows(self.assignment, self.language, device, self.seed))
