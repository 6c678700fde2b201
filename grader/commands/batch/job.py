"""One submission for one assignment, as a job for a pool worker or a cluster.

A job does not write its report. Its answer holds the report's text, and the process
that owns the output folder writes it there.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import grader
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.errors import GraderError
from grader.gpu.target import course_target
from grader.grading.identity import identity
from grader.grading.plan import Options
from grader.grading.selection import chosen_device
from grader.pool.state import WorkerState
from grader.report.model import json_text, to_json
from grader.report.verdict import Verdict
from grader.submission.reader import ELSEWHERE, Submission, read_submission
from grader.vocabulary import Device

# All parts of a grading have time limits: a grading that takes longer than this hangs.
PATIENCE_S = 3600.0
PUBLIC_SEED = 0  # of the visible cases, which students have at home

_assignment = functools.cache(read_assignment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A submission to grade; `attempt` counts from 1."""

    name: str
    source: Path
    assignment: Path
    device: Device
    secret_seed: int
    attempt: int = 1

    @property
    def title(self) -> str:
        """The assignment and the submission, for the progress line."""
        return f"{self.assignment.name} · {self.name}"


class Outcome(str, Enum):
    """How a job ended."""

    GRADED = "graded"
    UNREADABLE = "unreadable"  # the submission's fault: listed for staff
    FAILED = "failed"  # the grader's or the machine's fault: tried again


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The report's text if the job was graded, else the problem."""

    outcome: Outcome
    text: str = ""
    problem: str = ""


def failure(problem: str) -> Answer:
    """Return the answer of a job that the grader could not do."""
    return Answer(outcome=Outcome.FAILED, problem=problem)


def report_key(
    assignment: Assignment, submission: Submission, device: Device, secret_seed: int
) -> dict[str, object]:
    """Return everything that a report depends on, by key of the report's environment.

    A report with the same values is current.
    """
    return {
        **identity(assignment, submission),
        "device": device.value,
        "target": course_target().name if device is Device.CPU else None,
        "public_seed": PUBLIC_SEED,
        "secret_seed": secret_seed,
        "grader": grader.__version__,
    }


def do(job: Job, state: WorkerState) -> Answer:
    """Grade a job in a pool worker; every problem becomes an answer."""
    try:
        assignment = _assignment(job.assignment)
    except GraderError as error:
        return failure(error.message)
    try:
        submission = replace(read_submission(job.source, assignment), shown_as=ELSEWHERE)
    except GraderError as error:
        return Answer(outcome=Outcome.UNREADABLE, problem=error.message)
    return grade_submission(assignment, submission, job.device, job.secret_seed, state)


def grade_submission(
    assignment: Assignment,
    submission: Submission,
    device: Device,
    secret_seed: int,
    state: WorkerState,
) -> Answer:
    """Grade a submission that has been read; every problem becomes an answer."""
    try:
        options = Options(
            gpu=chosen_device(device.value), public_seed=PUBLIC_SEED, secret_seed=secret_seed
        )
        report = state.grade(assignment, submission, options)
        if report.verdict is Verdict.TAMPERED:
            state.renew()  # this submission may have changed the server
        values = to_json(report)
    except GraderError as error:
        return failure(error.message)
    except Exception as error:
        return failure(f"{type(error).__name__}: {error}")
    if report.verdict is Verdict.GRADER_ERROR:
        return failure(report.first_message(Verdict.GRADER_ERROR) or "the grader failed")
    return Answer(outcome=Outcome.GRADED, text=json_text(values))
