"""`grade local`: grade the submission in a folder and print its reports."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from grader.commands.output import write_text
from grader.commands.watch import Change, changes
from grader.errors import ExitCode, GraderError, UsageError
from grader.gpu.nvml import Gpu
from grader.grading.internal_error import as_grader_error
from grader.grading.selection import Selected, chosen_device, selected, where_to_go
from grader.judge.python_server import PythonServer
from grader.report.model import Report, write_report
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language

if TYPE_CHECKING:
    # Imported where they are used, while the Python server imports torch and triton: that takes
    # longest of all.
    from grader.grading.plan import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `grade local`: `assignments` may have source files among them."""

    assignments: tuple[str, ...]
    source: Path | None
    device: str
    kernels: tuple[str, ...]
    languages: tuple[str, ...]
    checks: tuple[str, ...]
    seed: int
    json_path: Path | str | None  # a str for a folder, which ends in a slash
    first: bool = False
    watch: bool = False
    html_path: Path | str | None = None
    sarif_path: Path | str | None = None
    log: bool = False

    def selected(self) -> list[Selected]:
        """Return what to grade, as the files are now."""
        return selected(self.assignments, self.source, self.kernels, map(Language, self.languages))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Where reports and pages go: a file or a folder each, None for nowhere.

    With `log`, progress is lines on standard error, whatever that is.
    """

    json: Path | None
    html: Path | None
    sarif: Path | None
    log: bool


def grade_local(request: Request) -> int:
    """Grade, print the reports, and return the exit code."""
    chosen = request.selected()
    places = _Places(
        json=_place("--json", request.json_path, len(chosen)),
        html=_place("--html", request.html_path, len(chosen)),
        sarif=_place("--sarif", request.sarif_path, len(chosen)),
        log=request.log,
    )
    gpu = chosen_device(request.device)
    with contextlib.ExitStack() as undo:
        server = None
        if any(map(_needs_server, chosen)):
            server = PythonServer(Device.CPU if gpu is None else Device.CUDA)
            undo.callback(server.close)
        return _grade(request, chosen, gpu, places, server)


def _needs_server(one: Selected) -> bool:
    files = one.submission.files
    return any(
        language.imported and path in files and (not one.languages or language in one.languages)
        for kernel in one.assignment.kernels
        for language, path in kernel.files.items()
    )


def _grade(
    request: Request,
    chosen: list[Selected],
    gpu: Gpu | None,
    places: _Places,
    server: PythonServer | None,
) -> ExitCode:
    from grader.grading.plan import Options

    options = Options(
        gpu=gpu,
        checks=frozenset(map(CheckName, request.checks)),
        public_seed=request.seed,
        secret_seed=request.seed,
        first=request.first,
    )
    if request.watch:
        return _watch(request, chosen, options, places, server)
    exit_code = _grade_all(chosen, options, places, server)
    if exit_code is not ExitCode.COMPLETE and request.source is None:
        _say_where_to_go(chosen)
    return exit_code


def _grade_all(
    chosen: Sequence[Selected],
    options: Options,
    places: _Places,
    server: PythonServer | None,
) -> ExitCode:
    exit_code = ExitCode.COMPLETE
    failures = []
    for one in chosen:
        try:
            report = _grade_and_show(one, options, places, server)
        except BrokenPipeError:
            raise  # the reader has closed the output
        except Exception as error:
            failures.append(as_grader_error(error))  # grade the other assignments
        else:
            exit_code = max(exit_code, _exit_code(report))
        if options.first and (failures or exit_code is not ExitCode.COMPLETE):
            break
    if failures:
        raise failures[0]
    return exit_code


def _grade_and_show(
    one: Selected, options: Options, places: _Places, server: PythonServer | None
) -> Report:
    """Grade, print and store one report; after Ctrl-C that of the checks that have finished."""
    from grader.grading.partial import ended
    from grader.grading.pipeline import grade
    from grader.grading.progress import LogProgress, progress_on

    options = replace(options, kernels=one.kernels, languages=one.languages)
    reports: list[Report] = []
    console = Console(stderr=True)
    try:
        with LogProgress(console) if places.log else progress_on(console, log=False) as progress:
            report = grade(
                one.assignment, one.submission, options, progress, server, on_report=reports.append
            )
    except KeyboardInterrupt:
        if reports and any(kernel.checks for kernel in reports[-1].kernels):
            _show(ended(reports[-1], "not graded: interrupted"), one, places)
        raise
    _show(report, one, places)
    return report


def _show(report: Report, one: Selected, places: _Places) -> None:
    from grader.formats.student_view import without_flags
    from grader.formats.terminal import print_report

    try:
        print_report(without_flags(report), Console(), paths=one.paths)
    finally:  # also if the reader has closed the output, as `head` does
        _write(report, one, places)


def _write(report: Report, one: Selected, places: _Places) -> None:
    from grader.formats.output_format import Extras
    from grader.formats.registry import HTML, SARIF

    if places.json is not None:
        write_report(report, _file(places.json, f"{report.assignment}.json"))
    files = ((HTML, places.html), (SARIF, places.sarif))
    for form, place in files:
        if place is not None and (text := form.file(report, Extras(paths=one.paths))) is not None:
            tip = f"free space or choose another place with --{form}"
            write_text(_file(place, f"{report.assignment}.{form}"), text, tip=tip)


def _watch(
    request: Request,
    chosen: list[Selected],
    options: Options,
    places: _Places,
    server: PythonServer | None,
) -> ExitCode:
    """Grade, and grade what changes at each save, until Ctrl-C; the exit code is the last one."""
    console, errors = Console(), Console(stderr=True, soft_wrap=True, highlight=False)
    exit_code = ExitCode.COMPLETE
    again = changes(request.selected, chosen)
    now: Sequence[Selected] = chosen
    while True:
        try:
            exit_code = _grade_all(now, options, places, server)
        except GraderError as error:  # a save may fix it
            exit_code = error.exit_code
            errors.print(f"error: {error.message}", markup=False)
        console.print("watching: save a file to grade it again, Ctrl-C ends", style="dim")
        try:
            change: Change = next(again)
        except KeyboardInterrupt:
            return exit_code
        now = change.selected
        if console.is_terminal:
            console.clear()
        console.print(f"saved: {', '.join(change.paths)}", style="dim", highlight=False)


def _file(path: Path, name: str) -> Path:
    return path / name if path.is_dir() else path


def _exit_code(report: Report) -> ExitCode:
    if report.verdict is Verdict.GRADER_ERROR:
        return ExitCode.GRADER_FAILED
    complete = report.handed_in == report.kernels_total
    return ExitCode.of(complete=report.verdict.earns_points and complete)


def _say_where_to_go(chosen: Sequence[Selected]) -> None:
    """Outside the course, and without a file: say where the stubs are."""
    advice = where_to_go()
    if advice and not any(one.submission.files for one in chosen):
        tip = f"there is no file to grade here; {advice}, or name your folder with --from"
        Console(stderr=True, soft_wrap=True, highlight=False).print(tip, markup=False)


def _place(option: str, path: Path | str | None, count: int) -> Path | None:
    """Return the path of an option; make the folder for several reports or a path ending in "/".

    Raises UsageError if reports cannot be written, before the grading: no work is lost.
    """
    if path is None:
        return None
    target = Path(path)
    if str(path).endswith("/") or (count > 1 and not target.is_dir()):
        if (target.exists() and not target.is_dir()) or (target.suffix and count > 1):
            raise UsageError(
                f"{option} {path} is one file, but there are {count} assignments"
                if count > 1
                else f"{option} {path} is a file, not a folder",
                tip="name a folder",
            )
        target.mkdir(parents=True, exist_ok=True)
    elif not target.is_dir() and not target.absolute().parent.is_dir():
        raise UsageError(f"{option}: there is no folder {target.parent}", tip="make it first")
    return target
