"""`grade ci --cluster`: what this machine leaves pending, measured by a GPU worker meanwhile.

    this machine     the processor's report; the result whatever the cluster does
    a GPU worker     the whole hand-in, with the same seeds; fills in what is pending

What comes is held against the report's schema and merged as `grade merge` does.
What cannot be used is no fault of the student's: the points stay pending, and
the report's environment tells staff why.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.assignment.model import Assignment
from grader.commands.batch.cluster import Request, check_address
from grader.commands.batch.cluster_client import Asked
from grader.commands.batch.job import Answer, Job, Outcome, Terms
from grader.errors import UsageError
from grader.report.merge import merge
from grader.report.model import Report, to_json
from grader.report.reader import from_json
from grader.report.verdict import Verdict
from grader.sandbox.level import Level
from grader.vocabulary import Device

NOTE = "cluster"  # the key of a report's environment
# Of the budget: until a worker is there, and then again, without one, until it is given up.
_PATIENCE = 0.4


def asked(
    where: str, tls: Path | None, budget_s: float, assignment: Assignment, source: Path, seed: int
) -> Asked:
    """Return what the cluster is asked for. Raises UsageError for no address, or no keys to it."""
    request = Request(
        where=where,
        tls=None if tls is None else tls.absolute(),
        workers=None,
        device=Device.CUDA.value,
        patience_s=_PATIENCE * budget_s,
    )
    check_address(request)
    job = Job(
        name=assignment.name,  # a hand-in's folder may have its student's
        source=source.absolute(),
        assignment=assignment.folder.absolute(),
        terms=Terms(device=Device.CUDA, public_seed=0, secret_seed=seed),
    )
    return Asked(cluster=request, job=job)


def filled_in(report: Report, answer: Answer | None, wanted: Level, silence: str) -> Report:
    """Return the report with what the worker measured, or with the reason why it is without.

    `wanted` is the least level of the worker's sandbox, `silence` the reason if
    there is no answer. A report without pending points has nothing to fill in.
    """
    if report.score is None or not report.pending:
        return report
    if answer is None:
        return _noted(report, silence)
    if answer.outcome is not Outcome.GRADED:
        return _noted(report, answer.problem)
    try:
        theirs = json.loads(answer.text)
        level = from_json(theirs, "the worker's report").environment.get("sandbox")
        if level is None or not Level(level).reaches(wanted):
            return _noted(report, f"the worker's sandbox reaches the level {level}, not {wanted}")
        merged = merge(to_json(report), theirs, "this report and the worker's")
        whole = from_json(merged.report, "the merged report")
    except UsageError as error:
        return _noted(report, error.message)
    except (ValueError, RecursionError) as error:
        return _noted(report, f"the worker's report cannot be read: {type(error).__name__}")
    notes = [f"the reports differ: {difference}" for difference in merged.differences]
    if whole.pending:
        notes.append(f"{whole.pending:g} points are pending there, too: {_why(theirs)}")
    return _noted(whole, "; ".join(notes)) if notes else whole


def _noted(report: Report, note: str) -> Report:
    return replace(report, environment={**report.environment, NOTE: note})


def _why(report: dict[str, Any]) -> str:
    """Return what the first check that was not measured says."""
    return next(
        (
            str(check["message"])
            for kernel in report["kernels"]
            for check in kernel["checks"]
            if check["verdict"] == Verdict.NOT_MEASURED.value
        ),
        "it was not graded there",
    )
