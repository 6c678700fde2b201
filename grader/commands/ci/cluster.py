"""`grade ci --cluster`: a GPU worker measures what this machine leaves pending.

    this machine     grades on the CPU; its result stands, whatever the cluster does
    a GPU worker     grades the whole submission with the same seeds; fills in pending checks

The worker's report is validated against the schema and merged as in `grade merge`.
If it cannot be used, the points stay pending, and the report's environment has the
reason for staff.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from grader.assignment.model import Assignment
from grader.commands.batch.cluster import ClusterRequest, certificates
from grader.commands.batch.job import Answer, Job, Outcome
from grader.errors import UsageError
from grader.grading.merge import merge
from grader.report.model import Report
from grader.report.reader import from_json
from grader.report.verdict import Verdict
from grader.sandbox.level import Level
from grader.vocabulary import Device

NOTE = "cluster"  # the key of a report's environment
_PATIENCE = 0.4  # the share of the budget to wait for a worker, and once more for a lost one


def cluster_job(
    where: str, tls: Path | None, budget_s: float, assignment: Assignment, source: Path, seed: int
) -> tuple[ClusterRequest, Job]:
    """Return the job for the cluster. Raises UsageError for a wrong address or certificates."""
    cluster = ClusterRequest(
        where=where,
        tls=None if tls is None else tls.absolute(),
        workers=None,
        device=Device.CUDA.value,
        patience_s=_PATIENCE * budget_s,
    )
    certificates(cluster)
    job = Job(
        name=assignment.name,  # the submission's folder may have the student's name
        source=source.absolute(),
        assignment=assignment.folder.absolute(),
        device=Device.CUDA,
        secret_seed=seed,
    )
    return cluster, job


def filled_in(report: Report, answer: Answer | None, least: Level, no_answer: str) -> Report:
    """Return the report with the worker's measurements, or with a note why they are missing.

    `least` is the sandbox level that the worker must reach; `no_answer` is the note if
    there is no answer. A report without pending points is returned unchanged.
    """
    if report.score is None or not report.pending:
        return report
    if answer is None:
        return _with_note(report, no_answer)
    if answer.outcome is not Outcome.GRADED:
        return _with_note(report, answer.problem)
    try:
        second = from_json(json.loads(answer.text), "the worker's report")
        level = second.environment.get("sandbox")
        if level is None or not Level(level).reaches(least):
            return _with_note(
                report, f"the worker's sandbox reaches the level {level}, not {least}"
            )
        merged = merge(report, second, "this report and the worker's")
    except UsageError as error:
        return _with_note(report, error.message)
    except (ValueError, RecursionError) as error:
        return _with_note(report, f"the worker's report cannot be read: {type(error).__name__}")
    notes = [f"the reports differ: {difference}" for difference in merged.differences]
    whole = merged.report
    if whole.pending:
        why = second.first_message(Verdict.NOT_MEASURED) or "not graded there"
        notes.append(f"{whole.pending:g} points are pending there too: {why}")
    return _with_note(whole, "; ".join(notes)) if notes else whole


def _with_note(report: Report, note: str) -> Report:
    return replace(report, environment={**report.environment, NOTE: note})
