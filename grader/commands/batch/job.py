"""One hand-in, one assignment: what is graded by whichever process or machine is free.

A job does not write its report: it answers with the report's text, and the one
process that owns the output folder puts it there.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import grader
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.errors import GraderError
from grader.grading.identity import hand_in_hash, spec_hash
from grader.grading.plan import Options
from grader.grading.selection import chosen_device
from grader.pool.state import WorkerState
from grader.report.model import json_text, to_json
from grader.report.verdict import Verdict
from grader.submission.reader import ELSEWHERE, Submission, read_submission
from grader.vocabulary import Device

# A grading has limits for all that it runs: one that takes longer than this has hung.
PATIENCE_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """All that a report depends on: one with the same key need not be made again."""

    spec_hash: str
    hand_in_hash: str
    device: str
    public_seed: int
    secret_seed: int
    grader: str = grader.__version__

    @classmethod
    def of(cls, assignment: Assignment, submission: Submission, terms: Terms) -> Key:
        """Return the key of the report that is wanted."""
        return cls(
            spec_hash=spec_hash(assignment),
            hand_in_hash=hand_in_hash(submission),
            device=terms.device.value,
            public_seed=terms.public_seed,
            secret_seed=terms.secret_seed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all jobs of a batch have in common."""

    device: Device
    public_seed: int
    secret_seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A hand-in to grade; `attempt` counts from 1."""

    name: str
    source: Path
    assignment: Path
    terms: Terms
    attempt: int = 1
    weight: float = 1.0

    @property
    def title(self) -> str:
        """What a reader of the progress sees."""
        return f"{self.assignment.name} · {self.name}"


class Outcome(str, Enum):
    """What became of a job."""

    GRADED = "graded"
    UNREADABLE = "unreadable"  # the hand-in's own fault, and for a human to look at
    FAILED = "failed"  # ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The report's text if it was graded, else a sentence that says why not."""

    outcome: Outcome
    text: str = ""
    problem: str = ""


def do(job: Job, state: WorkerState) -> Answer:
    """Grade: what a process of the pool calls. Whatever goes wrong is the answer."""
    try:
        assignment = _assignment(job.assignment)
    except GraderError as error:
        return failed(job, error.message)
    try:
        submission = replace(read_submission(job.source, assignment), called=ELSEWHERE)
    except GraderError as error:
        return Answer(outcome=Outcome.UNREADABLE, problem=error.message)
    return grade_submission(assignment, submission, job.terms, state)


def grade_submission(
    assignment: Assignment, submission: Submission, terms: Terms, state: WorkerState
) -> Answer:
    """Grade what was read; whatever goes wrong is the answer."""
    try:
        options = Options(
            gpu=chosen_device(terms.device.value),
            public_seed=terms.public_seed,
            secret_seed=terms.secret_seed,
        )
        report = state.grade(assignment, submission, options)
        if report.verdict is Verdict.TAMPERED:
            state.renew()  # what it did to the server is nobody else's business
        text = json_text(to_json(report))
    except GraderError as error:
        return Answer(outcome=Outcome.FAILED, problem=error.message)
    except Exception as error:
        return Answer(outcome=Outcome.FAILED, problem=f"{type(error).__name__}: {error}")
    if report.verdict is Verdict.GRADER_ERROR:
        return Answer(outcome=Outcome.FAILED, text=text, problem=_reason(text))
    return Answer(outcome=Outcome.GRADED, text=text)


def failed(job: Job, problem: str) -> Answer:
    """Return the answer of a job that came to nothing."""
    return Answer(outcome=Outcome.FAILED, problem=problem)


def _reason(text: str) -> str:
    for kernel in json.loads(text)["kernels"]:
        for check in kernel["checks"]:
            if check["verdict"] == Verdict.GRADER_ERROR.value:
                return f"{kernel['name']}: {check['message']}"
    return "the grader failed"


@functools.cache
def _assignment(folder: Path) -> Assignment:
    return read_assignment(folder)
