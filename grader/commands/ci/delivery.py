"""A report on its way to another system: the file that it reads, and the log."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from grader.errors import GraderError
from grader.formats.output_format import OutputFormat, shown
from grader.formats.registry import GITHUB
from grader.formats.terminal import print_report
from grader.report.model import write_whole
from grader.report.reader import read_report


def show_again(file: Path, form: OutputFormat | None, output: Path | None) -> None:
    """Read report.json and write it in a format, None for a terminal; to stdout without `output`.

    Raises UsageError if it is no report, GraderError if the format cannot express a missing
    score or the result cannot be stored.
    """
    report = read_report(file)
    if form is None:
        if output is None:
            print_report(report, Console())
        else:
            write_text(output, shown(report, staff=True))
        return
    text = form.file(report)
    if text is None:
        raise GraderError(
            f"{file} has no score, for the grader failed: {form} has no word for that",
            tip="grade the hand-in again; `grade report` alone shows what went wrong",
        )
    if output is not None:
        write_text(output, text)
    if form is GITHUB:
        print_safely(form.log(report))
    elif output is None:
        print_safely(text)


def print_safely(text: str) -> None:
    """Print to standard output in whatever encoding it has."""
    encoding = sys.stdout.encoding or "ascii"
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)


def write_text(path: Path, text: str) -> None:
    """Write a result whole or not at all; raises GraderError."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise GraderError(
            f"cannot write {path}: {error.strerror or error}",
            tip="make its folder, or name another file with --output",
        ) from error
