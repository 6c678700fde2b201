"""`grade local`: grade the submission in a folder and print its reports."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from grader.assignment.model import Assignment
from grader.errors import ExitCode, UsageError
from grader.gpu.nvml import Gpu
from grader.grading.internal_error import as_grader_error
from grader.grading.selection import (
    check_kernels,
    chosen_assignments,
    chosen_device,
    default_source,
)
from grader.judge.python_server import PythonServer
from grader.report.model import Report, write_report
from grader.report.verdict import Verdict
from grader.submission.reader import Submission, read_submission
from grader.vocabulary import CheckName, Device, Language

if TYPE_CHECKING:
    from grader.grading.plan import Options  # imported later: see `grade_local`


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `grade local`."""

    assignments: tuple[str, ...]
    source: Path | None
    device: str
    kernels: tuple[str, ...]
    languages: tuple[str, ...]
    checks: tuple[str, ...]
    seed: int
    json_path: Path | None


def grade_local(request: Request) -> int:
    """Grade, print the reports, and return the exit code."""
    source = request.source or default_source()
    assignments = chosen_assignments(request.assignments)
    submissions = [(a, read_submission(source, a)) for a in assignments]
    if not request.assignments:
        submissions = [(a, s) for a, s in submissions if s.files]
        if not submissions:
            known = ", ".join(assignment.name for assignment in assignments)
            raise UsageError(
                f"there is no submission in {source}",
                tip=f"name its folder with --from, or an assignment: {known}",
            )
    check_kernels(request.kernels, [a for a, _ in submissions])
    _check_json(request.json_path, len(submissions))
    gpu = chosen_device(request.device)
    with ExitStack() as undo:
        server = None
        wanted = not request.languages or Language.TRITON in request.languages
        if wanted and any(path.endswith(".py") for _, s in submissions for path in s.files):
            # It imports torch and triton, which takes longest, while this process imports the rest.
            server = PythonServer(Device.CPU if gpu is None else Device.CUDA)
            undo.callback(server.close)
        return _grade_all(request, submissions, gpu, server)


def _grade_all(
    request: Request,
    submissions: Sequence[tuple[Assignment, Submission]],
    gpu: Gpu | None,
    server: PythonServer | None,
) -> ExitCode:
    from grader.grading.plan import Options

    options = Options(
        gpu=gpu,
        kernels=frozenset(request.kernels),
        languages=frozenset(map(Language, request.languages)),
        checks=frozenset(map(CheckName, request.checks)),
        public_seed=request.seed,
        secret_seed=request.seed,
    )
    exit_code = ExitCode.COMPLETE
    failures = []
    for assignment, submission in submissions:
        try:
            report = _grade_and_show(assignment, submission, options, server, request.json_path)
        except BrokenPipeError:
            raise  # the reader has closed the output
        except Exception as error:
            failures.append(as_grader_error(error))  # grade the other assignments
        else:
            exit_code = max(exit_code, _exit_code(report))
    if failures:
        raise failures[0]
    return exit_code


def _grade_and_show(
    assignment: Assignment,
    submission: Submission,
    options: Options,
    server: PythonServer | None,
    json_path: Path | None,
) -> Report:
    from grader.formats.terminal import print_report
    from grader.grading.pipeline import grade
    from grader.grading.progress import progress_on

    with progress_on(Console(stderr=True)) as progress:
        report = grade(assignment, submission, options, progress, server)
    print_report(report, Console())
    if json_path is not None:
        folder = json_path.is_dir()
        write_report(report, json_path / f"{assignment.name}.json" if folder else json_path)
    return report


def _exit_code(report: Report) -> ExitCode:
    if report.verdict is Verdict.GRADER_ERROR:
        return ExitCode.GRADER_FAILED
    complete = report.handed_in == report.kernels_total
    return ExitCode.of(complete=report.verdict.earns_points and complete)


def _check_json(path: Path | None, count: int) -> None:
    """Make the folder for several reports; raise UsageError if reports cannot be written.

    Runs before grading, so that no work is lost.
    """
    if path is None:
        return
    if count > 1 and not path.is_dir():
        if path.exists() or path.suffix:
            raise UsageError(
                f"--json {path} is one file, but there are {count} assignments",
                tip="name a folder",
            )
        path.mkdir(parents=True)
    elif not path.is_dir() and not path.absolute().parent.is_dir():
        raise UsageError(f"--json: there is no folder {path.parent}", tip="make it first")
