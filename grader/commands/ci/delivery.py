"""Deliver a report to another system.

gradescope, prairielearn, json, junit   a file
autolab                                 a file, and the last lines of standard output
github                                  a file, commands on standard output, and the files
                                        that GITHUB_STEP_SUMMARY and GITHUB_OUTPUT name
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

from grader.commands.output import write_text
from grader.errors import GraderError
from grader.formats import github
from grader.formats.autolab import autolab
from grader.formats.gradescope import gradescope
from grader.formats.junit import junit
from grader.formats.prairielearn import prairielearn
from grader.formats.terminal import print_report
from grader.report.model import Report, json_text, to_json
from grader.report.reader import read_report


class Format(str, Enum):
    """The system that reads the file."""

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
    """The system that a report goes to, and what goes with it.

    `folder` is the submission's folder in its repository (github). `notes` are
    lines above the result; `extra` comes back with the next submission (gradescope).
    """

    format: Format
    folder: str = ""
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def render(self, report: Report) -> str | None:
        """Return the file's text; None if this format has no word for a missing score."""
        results: dict[str, Any] | None
        match self.format:
            case Format.AUTOLAB:
                return autolab(report)
            case Format.JUNIT:
                return junit(report)
            case Format.GRADESCOPE:
                results = gradescope(report, notes=self.notes, extra=self.extra)
            case Format.PRAIRIELEARN:
                results = prairielearn(report)
            case Format.GITHUB:
                results = github.classroom(report)
            case Format.JSON:
                results = to_json(report)
        return None if results is None else json_text(results)

    def announce(self, report: Report) -> str:
        """Return what goes to standard output; write what GitHub reads from files."""
        if self.format is Format.AUTOLAB:
            return f"{shown(report, staff=False)}\n{self.render(report) or ''}"
        if self.format is Format.GITHUB:
            # It quotes what the student's code printed, which must not become a command.
            text = github.guarded(shown(report, staff=False), secrets.token_hex(16))
            _append("GITHUB_STEP_SUMMARY", github.summary(report))
            result = github.encoded(github.classroom(report))
            _append("GITHUB_OUTPUT", f"result={result}\n")
            return "\n".join([text, *github.workflow_commands(report, self.folder)]) + "\n"
        return shown(report, staff=self.format.log_is_for_staff)


def show_again(file: Path, form: str | None, output: Path | None) -> None:
    """Write a report.json in another format, None for a terminal; to stdout without `output`.

    Raises UsageError if it is not a report, GraderError if the format has no word
    for a missing score or the result cannot be stored.
    """
    report = read_report(file)
    if form is None:
        if output is None:
            print_report(report, Console())
        else:
            write_result(output, shown(report, staff=True))
        return
    delivery = Delivery(format=Format(form))
    text = delivery.render(report)
    if text is None:
        raise GraderError(
            f"{file} has no score, for the grader failed: {form} has no word for that",
            tip="grade the hand-in again; `grade report` alone shows what went wrong",
        )
    if output is not None:
        write_result(output, text)
    if delivery.format is Format.GITHUB:
        print_safely(delivery.announce(report))
    elif output is None:
        print_safely(text)


def print_safely(text: str) -> None:
    """Print to standard output; escape what its encoding lacks."""
    encoding = sys.stdout.encoding or "ascii"
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)


def shown(report: Report, *, staff: bool) -> str:
    """Return the report as a terminal shows it, to staff or to the student."""
    file = io.StringIO()
    print_report(report, Console(file=file), show_hidden=staff)
    return file.getvalue()


def write_result(path: Path, text: str) -> None:
    """Write the file of --output whole or not at all; raises GraderError."""
    write_text(path, text, tip="make its folder, or name another file with --output")


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
