"""A report on its way to another system: the file it reads, and what it hears besides.

gradescope, prairielearn, json, junit   the file
autolab                                 the file, and standard output's last lines
github                                  the file, commands on standard output, and
                                        what GITHUB_STEP_SUMMARY and GITHUB_OUTPUT name
"""

from __future__ import annotations

import io
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.errors import GraderError
from grader.formats import github
from grader.formats.autolab import autolab
from grader.formats.gradescope import gradescope
from grader.formats.junit import junit
from grader.formats.prairielearn import prairielearn
from grader.formats.terminal import print_report
from grader.report.model import Report, json_text, to_json, write_whole
from grader.report.reader import read_report


class Format(str, Enum):
    """Whose reader the file is for."""

    GRADESCOPE = "gradescope"
    PRAIRIELEARN = "prairielearn"
    AUTOLAB = "autolab"
    GITHUB = "github"
    JUNIT = "junit"
    JSON = "json"

    @property
    def log_is_for_staff(self) -> bool:
        """True if students never see what is printed."""
        return self is Format.GRADESCOPE


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """To whom a report goes, and what goes with it.

    `folder` is the hand-in's place in its repository (github), `notes` are lines
    above the result and `extra` comes back next time (gradescope).
    """

    format: Format
    folder: str = ""
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def render(self, report: Report) -> str | None:
        """Return the file's text; None if this format has no word for a missing score."""
        if self.format is Format.AUTOLAB:
            return autolab(report)
        if self.format is Format.JUNIT:
            return junit(report)
        results: dict[str, Any] | None
        if self.format is Format.GRADESCOPE:
            results = gradescope(report, notes=self.notes, extra=self.extra)
        elif self.format is Format.PRAIRIELEARN:
            results = prairielearn(report)
        elif self.format is Format.GITHUB:
            results = github.classroom(report)
        else:
            results = to_json(report)
        return None if results is None else json_text(results)

    def announce(self, report: Report) -> str:
        """Return what goes to standard output; append what GitHub reads from files."""
        if self.format is Format.AUTOLAB:
            return f"{shown(report, staff=False)}\n{self.render(report) or ''}"
        if self.format is Format.GITHUB:
            # What a student printed is among it.
            text = github.guarded(shown(report, staff=False), secrets.token_hex(16))
            _append("GITHUB_STEP_SUMMARY", github.summary(report))
            result = github.encoded(github.classroom(report))
            _append("GITHUB_OUTPUT", f"result={result}\n")
            return "\n".join([text, *github.workflow_commands(report, self.folder)]) + "\n"
        return shown(report, staff=self.format.log_is_for_staff)


def show_again(file: Path, form: str | None, output: Path | None) -> None:
    """Read report.json and write it in a format, None for a terminal; to stdout without `output`.

    Raises UsageError if it is no report, GraderError if the format has no word
    for a missing score or the result cannot be stored.
    """
    report = read_report(file)
    if form is None:
        if output is None:
            print_report(report, Console())
        else:
            write_text(output, shown(report, staff=True))
        return
    delivery = Delivery(format=Format(form))
    text = delivery.render(report)
    if text is None:
        raise GraderError(
            f"{file} has no score, for the grader failed: {form} has no word for that",
            tip="grade the hand-in again; `grade report` alone shows what went wrong",
        )
    if output is not None:
        write_text(output, text)
    if delivery.format is Format.GITHUB:
        print_safely(delivery.announce(report))
    elif output is None:
        print_safely(text)


def print_safely(text: str) -> None:
    """Print to standard output in whatever encoding it has."""
    encoding = sys.stdout.encoding or "ascii"
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)


def shown(report: Report, *, staff: bool) -> str:
    """Return the report as at a terminal; without `staff`, as a student may see it."""
    file = io.StringIO()
    print_report(report, Console(file=file), show_hidden=staff)
    return file.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write a result whole or not at all; raises GraderError."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise GraderError(
            f"cannot write {path}: {error.strerror or error}",
            tip="make its folder, or name another file with --output",
        ) from error


def _append(variable: str, text: str) -> None:
    """Append to the file that an environment variable names, if there is one."""
    name = os.environ.get(variable)
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise GraderError(f"cannot write {variable}: {error.strerror or error}") from error
