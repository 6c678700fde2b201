"""Write a report in the format of a platform: to a file, and to standard output."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from grader.commands.output import write_text
from grader.errors import GraderError
from grader.formats.output_format import OutputFormat, terminal_text
from grader.formats.registry import GITHUB
from grader.formats.student_view import revealed
from grader.formats.terminal import print_report
from grader.report.reader import read_report
from grader.vocabulary import Visibility


def show_again(
    file: Path,
    form: OutputFormat | None,
    output: Path | None,
    shown: frozenset[Visibility] = frozenset(),
) -> None:
    """Write a report.json in another format (None: terminal) to `output` (None: stdout).

    Students also see the cases of the visibilities `shown`. Raises UsageError if it is not a
    report, GraderError if the format cannot express a missing score or the result cannot be stored.
    """
    report = read_report(file)
    if form is None:
        if output is None:
            print_report(report, Console())
        else:
            write_result(output, terminal_text(report, staff=True))
        return
    report = revealed(report, shown)
    text = form.file(report)
    if text is None:
        raise GraderError(
            f"{file} has no score because the grader failed; {form} cannot express that",
            tip="grade the submission again; `grade report` alone shows what failed",
        )
    if output is not None:
        write_result(output, text)
    if form is GITHUB:
        print_safely(form.log(report))
    elif output is None:
        print_safely(text)


def print_safely(text: str) -> None:
    """Print to standard output; escape characters that its encoding lacks."""
    encoding = sys.stdout.encoding or "ascii"
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)


def write_result(path: Path, text: str) -> None:
    """Write the file of --output atomically. Raises GraderError."""
    write_text(path, text, tip="make its folder, or name another file with --output")
