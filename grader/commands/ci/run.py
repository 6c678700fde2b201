"""`grade ci`: grade one submission on a course's platform.

    isolate       refuse to grade if the sandbox is weaker than required
    draw          a secret seed, so that each run has its own hidden cases
    send          the job to a GPU worker of a cluster, if there is one; meanwhile
    grade         and write the partial report atomically after each check
    time out      kill what exceeds the time budget; its points are pending
    deliver       the last report, or nothing if the format cannot express a missing score

A platform that kills a run gives 0 points, so the budget must be below the platform's
own limit. If the grader fails, there is no file: no score is published.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console

from grader.assignment.model import Assignment
from grader.commands.batch.cluster import ClusterRequest
from grader.commands.batch.cluster_client import ClusterClient
from grader.commands.batch.job import Job
from grader.commands.ci import gradescope_metadata as metadata
from grader.commands.ci.cluster import NOTE, cluster_job, filled_in
from grader.commands.ci.delivery import print_safely, write_result
from grader.errors import GraderError, UsageError
from grader.formats.output_format import Extras, OutputFormat
from grader.formats.registry import GRADESCOPE
from grader.formats.student_view import revealed
from grader.grading.environment import describe
from grader.grading.identity import identity
from grader.grading.partial import is_unfinished, out_of_time
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress, progress_on
from grader.grading.selection import chosen_assignments, chosen_device
from grader.report.model import Report, json_text, write_report
from grader.report.verdict import Verdict
from grader.sandbox.level import Level, require
from grader.sandbox.probe import isolation, with_hidden
from grader.submission.reader import ELSEWHERE, Submission, own_folder, read_submission
from grader.system.signals import OutOfTime, deadline
from grader.vocabulary import Device, Visibility

_SEED_BITS = 53  # JSON readers keep 53 bits of a number


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `grade ci`."""

    assignment: str
    source: Path
    format: OutputFormat
    output: Path
    level: Level
    budget_s: float | None
    seed: int | None
    device: str
    report_path: Path | None
    metadata_path: Path | None
    limit: metadata.RateLimit | None
    cluster: str | None = None
    cluster_tls: Path | None = None
    shown: frozenset[Visibility] = frozenset()

    @property
    def most_s(self) -> float | None:
        """The time budget of the whole run; None if there is no limit."""
        return self.budget_s or self.format.budget_s


def grade_ci(request: Request) -> int:
    """Grade, write the result, and return 0.

    If there is no valid result, removes the file and raises GraderError with exit code 3.
    """
    try:
        _discard(request.output)
        _run(request)
    except GraderError as error:
        _discard(request.output)
        # Always exit code 3: nobody is there to correct a command line.
        raise GraderError(error.message, tip=error.tip) from error
    except Exception:
        _discard(request.output)
        raise
    return 0


def _run(request: Request) -> None:
    about = _metadata(request)
    if about is not None and request.limit is not None:
        graded_from = metadata.next_grading(about, request.limit)
        if graded_from is not None:
            refused = metadata.refusal(about, request.limit, graded_from)
            write_result(request.output, json_text(refused))
            print(
                f"not graded: the rate limit of {request.limit.count} is reached; "
                f"the next grading is possible at {graded_from}"
            )
            return
    assignment = chosen_assignments((request.assignment,))[0]
    submission = read_submission(request.source, assignment)
    submission = replace(submission, shown_as=_shown_as(request.source))
    extras = Extras(
        folder=_folder(request.source, assignment),
        notes=metadata.notes(about, assignment.late),
        extra=metadata.extra_data(about),
        share_lost=metadata.share_lost(about, assignment.late),
    )
    seed = secrets.randbits(_SEED_BITS) if request.seed is None else request.seed
    request = replace(
        request, shown=request.shown | metadata.shown(about, datetime.now(timezone.utc))
    )
    report = _within_budget(request, assignment, submission, extras, seed)
    for_students = revealed(report, request.shown)
    text = request.format.file(for_students, extras)
    if request.report_path is not None:
        write_report(report, request.report_path)
    printed = request.format.log(for_students, extras)
    if request.format.log_is_for_staff:
        printed += f"\nHidden cases were drawn with --seed {seed}.\n"
        if note := report.environment.get(NOTE):
            printed += f"From --cluster: {note}.\n"
    print_safely(printed)
    if text is None:
        problem = report.first_message(Verdict.GRADER_ERROR)
        raise GraderError(
            f"there is no score, so nothing is published: {problem}",
            tip="fix it and grade again; docs/ci.md says what students see",
        )
    write_result(request.output, text)


def _within_budget(
    request: Request,
    assignment: Assignment,
    submission: Submission,
    extras: Extras,
    seed: int,
) -> Report:
    """Grade with this secret seed; return the report so far if the time budget runs out."""
    job = _cluster_job(request, assignment, seed)
    # At the level `none` a submission could read the cluster's address and keys.
    level = Level.PARTIAL if job and request.level is Level.NONE else request.level
    hidden = [assignment.folder, *([request.cluster_tls] if job and request.cluster_tls else [])]
    started_s = time.monotonic()
    latest: Report | None = None
    with ClusterClient() as client:
        try:
            with deadline(request.most_s):
                gpu = chosen_device("cpu" if job else request.device)
                require(level, with_hidden(isolation(gpu=gpu is not None), hidden))
                if job and submission.files:
                    client.send(*job)
                options = Options(gpu=gpu, public_seed=0, secret_seed=seed)
                environment = describe(assignment, gpu, public_seed=0, secret_seed=seed)
                environment |= identity(assignment, submission)

                def on_report(report: Report) -> None:
                    nonlocal latest
                    latest = replace(report, environment=environment)
                    _write_partial(request, extras, latest)

                with _progress(request.format) as progress:
                    latest = grade(assignment, submission, options, progress, on_report=on_report)
                    if client.sent and latest.pending:
                        _write_partial(request, extras, latest)
                        with progress.step("wait for the cluster"):
                            client.answer(wait=True)
        except OutOfTime:
            if latest is None:
                raise GraderError(
                    f"the budget of {request.most_s:g} s was spent before grading began",
                    tip="give it more with --budget, and the platform's own limit more than that",
                ) from None
        assert latest is not None
        if is_unfinished(latest):
            latest = out_of_time(latest, request.most_s or 0.0)
        if client.sent:
            no_answer = f"{request.cluster} had not answered when {request.most_s:g} s were over"
            latest = filled_in(latest, client.answer(wait=False), level, no_answer)
            latest = replace(latest, wall_s=round(time.monotonic() - started_s, 3))
    return latest


def _cluster_job(
    request: Request, assignment: Assignment, seed: int
) -> tuple[ClusterRequest, Job] | None:
    """Return the job for the cluster; None if there is no cluster. Raises UsageError."""
    if request.cluster is None:
        return None
    if request.device == Device.CUDA.value:
        raise UsageError(
            "--cluster is for a machine that grades on its CPU, but --device is cuda",
            tip="leave one of them out",
        )
    if request.most_s is None:
        raise UsageError(
            f"--cluster needs a time budget: --format {request.format} has none",
            tip="set the seconds for the whole run with --budget",
        )
    cluster = request.cluster, request.cluster_tls
    return cluster_job(*cluster, request.most_s, assignment, request.source, seed)


def _progress(form: OutputFormat) -> contextlib.AbstractContextManager[Progress]:
    """Show progress on stderr only if students cannot read it: it shows sizes of hidden cases."""
    return progress_on(Console(stderr=True)) if form.log_is_for_staff else Progress()


def _write_partial(request: Request, extras: Extras, report: Report) -> None:
    text = request.format.file(revealed(report, request.shown), extras)
    if text is None:
        _discard(request.output)  # do not publish a partial score after a grader error
    else:
        write_result(request.output, text)


def _discard(output: Path) -> None:
    with contextlib.suppress(OSError):  # writing the file then fails, too
        output.unlink()


def _metadata(request: Request) -> metadata.Metadata | None:
    if request.format is not GRADESCOPE:
        return None
    path = request.metadata_path or metadata.DEFAULT_PATH
    required = request.metadata_path is not None
    return metadata.read_metadata(path) if required or path.is_file() else None


def _shown_as(source: Path) -> str:
    """Return a relative path as it is: it is in the student's repository. Hide other paths."""
    return ELSEWHERE if source.is_absolute() or source == Path() else str(source)


def _folder(source: Path, assignment: Assignment) -> str:
    """Return the submission's folder relative to the repository; "" if it is outside."""
    folder = own_folder(source, assignment.name) or source
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    try:
        relative = folder.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return ""
    return "" if relative == "." else relative
