"""`grade ci`: grade one hand-in where a course's platform asks for it.

    isolated?     hand-ins are kept apart as well as was asked for, or nothing is run
    draw          a secret seed: this run's hidden cases are nobody's else
    send          to a GPU worker of a cluster, if there is one; meanwhile
    grade         the report so far goes out after each check, whole or not at all
    time's up     what did not fit into the budget is pending; its processes are gone
    deliver       the last report; none at all where a missing score has no word

A platform that kills a run gives 0 points, so the budget must be below its own.
Whatever goes wrong with the grader leaves no file: no score is published.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from grader.assignment.model import Assignment
from grader.commands.batch.cluster_client import Asked, ClusterClient
from grader.commands.ci import gradescope_metadata as metadata
from grader.commands.ci.cluster import NOTE, asked, filled_in
from grader.commands.ci.delivery import Delivery, Format, print_safely, write_text
from grader.errors import GraderError, UsageError
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
from grader.vocabulary import Device

# Of the time that a platform gives unless told otherwise: 10 minutes, 30 s and 60 s.
DEFAULT_BUDGETS_S = {Format.GRADESCOPE: 540.0, Format.PRAIRIELEARN: 25.0, Format.AUTOLAB: 50.0}
_SEED_BITS = 53  # every reader of JSON has numbers so large


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `grade ci`."""

    assignment: str
    source: Path
    format: Format
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

    @property
    def most_s(self) -> float | None:
        """The budget of the whole run, None for ever."""
        return self.budget_s or DEFAULT_BUDGETS_S.get(self.format)


def grade_ci(request: Request) -> int:
    """Grade, write the result, and return 0.

    Raises GraderError, whose exit code is 3, if there is no valid result; then
    there is no file either.
    """
    try:
        with contextlib.suppress(OSError):  # what cannot be removed cannot be written either
            request.output.unlink()
        _run(request)
    except GraderError as error:
        _discard(request.output)
        # 2 would be for a person at a keyboard, who can mend the command line.
        raise GraderError(error.message, tip=error.tip) from error
    except Exception:
        _discard(request.output)
        raise
    return 0


def _run(request: Request) -> None:
    about = _metadata(request)
    if about is not None and request.limit is not None:
        turn = metadata.next_turn(about, request.limit)
        if turn is not None:
            refused = metadata.refusal(about, request.limit, turn)
            write_text(request.output, json_text(refused))
            print(f"not graded: {request.limit.count} were, and the next turn is {turn}")
            return
    assignment = chosen_assignments((request.assignment,))[0]
    submission = read_submission(request.source, assignment)
    submission = replace(submission, called=_called(request.source))
    delivery = Delivery(
        format=request.format,
        folder=_folder(request.source, assignment),
        notes=metadata.notes(about),
        extra=metadata.extra_data(about),
    )
    seed = secrets.randbits(_SEED_BITS) if request.seed is None else request.seed
    report = _within_budget(request, assignment, submission, delivery, seed)
    text = delivery.render(report)
    if request.report_path is not None:
        write_report(report, request.report_path)
    announced = delivery.announce(report)
    if request.format.log_is_for_staff:
        announced += f"\nHidden cases were drawn with --seed {seed}.\n"
        if note := report.environment.get(NOTE):
            announced += f"From --cluster: {note}.\n"
    print_safely(announced)
    if text is None:
        raise GraderError(
            f"there is no score, so nothing is published: {_first_error(report)}",
            tip="grade it again when that is mended; docs/ci.md says what students see",
        )
    write_text(request.output, text)


def _within_budget(
    request: Request,
    assignment: Assignment,
    submission: Submission,
    delivery: Delivery,
    seed: int,
) -> Report:
    """Grade with this secret seed; return what is known when the time is spent."""
    job = _job(request, assignment, seed)
    # What leads to the cluster is in a hand-in's reach at no level but `none`.
    level = Level.PARTIAL if job and request.level is Level.NONE else request.level
    hidden = [assignment.folder, *([request.cluster_tls] if job and request.cluster_tls else [])]
    started_s = time.monotonic()
    so_far: list[Report] = []
    # Their log is the student's: the sizes of hidden cases are in the lines of progress.
    quiet = Progress() if not request.format.log_is_for_staff else None
    with ClusterClient() as errand:
        try:
            with deadline(request.most_s):
                gpu = chosen_device("cpu" if job else request.device)
                require(level, with_hidden(isolation(gpu=gpu is not None), hidden))
                if job and submission.files:
                    errand.send(job)
                # Visible cases are those that students have at home: their seed is no secret.
                options = Options(gpu=gpu, public_seed=0, secret_seed=seed)
                environment = describe(assignment, gpu, public_seed=0, secret_seed=seed)
                environment |= identity(assignment, submission)

                def hear(report: Report) -> None:
                    so_far[:] = [replace(report, environment=environment)]
                    _write_partial(request.output, delivery, so_far[0])

                with quiet or progress_on(Console(stderr=True)) as progress:
                    so_far[:] = [grade(assignment, submission, options, progress, hear=hear)]
                    if errand.sent and so_far[0].pending:
                        _write_partial(request.output, delivery, so_far[0])
                        with progress.step("wait for the cluster"):
                            errand.answer(wait=True)
        except OutOfTime:
            if not so_far:
                raise GraderError(
                    f"the budget of {request.most_s:g} s was spent before grading began",
                    tip="give it more with --budget, and the platform's own limit more than that",
                ) from None
        report = so_far[0]
        if errand.sent:
            silence = f"{request.cluster} had not answered when {request.most_s:g} s were over"
            report = filled_in(report, errand.answer(wait=False), level, silence)
            report = replace(report, wall_s=round(time.monotonic() - started_s, 3))
    return out_of_time(report, request.most_s or 0.0) if is_unfinished(report) else report


def _job(request: Request, assignment: Assignment, seed: int) -> Asked | None:
    """Return what a cluster is asked for, None if there is none. Raises UsageError."""
    if request.cluster is None:
        return None
    if request.device == Device.CUDA.value:
        raise UsageError(
            "--cluster is for a machine that grades on its processor, and --device is cuda",
            tip="leave one of them out",
        )
    if request.most_s is None:
        raise UsageError(
            f"--cluster is waited for within a budget: --format {request.format.value} has none",
            tip="say with --budget how many seconds the whole run may take",
        )
    place = request.cluster, request.cluster_tls
    return asked(*place, request.most_s, assignment, request.source, seed)


def _write_partial(output: Path, delivery: Delivery, report: Report) -> None:
    text = delivery.render(report)
    if text is None:
        _discard(output)  # the score of a part must not outlive the grader's error
    else:
        write_text(output, text)


def _discard(output: Path) -> None:
    with contextlib.suppress(OSError):
        output.unlink()


def _metadata(request: Request) -> metadata.Metadata | None:
    if request.format is not Format.GRADESCOPE:
        return None
    if request.metadata_path is not None:
        return metadata.read_metadata(request.metadata_path)
    default = metadata.DEFAULT_PATH
    return metadata.read_metadata(default) if default.is_file() else None


def _called(source: Path) -> str:
    """Return the place's name if it is one in the student's repository."""
    return ELSEWHERE if source.is_absolute() or source == Path() else str(source)


def _folder(source: Path, assignment: Assignment) -> str:
    """Return the hand-in's place relative to the repository, "" if it is outside."""
    place = own_folder(source, assignment.name) or source
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    try:
        relative = place.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return ""
    return "" if relative == "." else relative


def _first_error(report: Report) -> str:
    return next(
        check.message
        for kernel in report.kernels
        for check in kernel.checks
        if check.verdict is Verdict.GRADER_ERROR
    )
