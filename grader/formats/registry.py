"""The output formats. A new format is a module in this package and a class here.

`register` adds a format from outside the package.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.formats import github
from grader.formats.autolab import autolab
from grader.formats.gradescope import gradescope
from grader.formats.junit import junit
from grader.formats.output_format import NO_EXTRAS, Extras, OutputFormat, terminal_text
from grader.formats.prairielearn import prairielearn
from grader.report.model import Report, to_json


class Gradescope(OutputFormat):
    """The file results.json; the log is for staff."""

    name = "gradescope"
    budget_s = 540.0  # of 10 minutes
    log_is_for_staff = True

    def values(self, report: Report, extras: Extras) -> dict[str, Any] | None:
        """Return results.json."""
        return gradescope(report, notes=extras.notes, extra=extras.extra)


class PrairieLearn(OutputFormat):
    """The file results.json of an external grader."""

    name = "prairielearn"
    budget_s = 25.0  # of 30 s

    def values(self, report: Report, extras: Extras) -> dict[str, Any] | None:
        """Return results.json."""
        return prairielearn(report)


class Autolab(OutputFormat):
    """The last lines of standard output; `--output` also writes them to a file."""

    name = "autolab"
    budget_s = 50.0  # of 60 s

    def file(self, report: Report, extras: Extras = NO_EXTRAS) -> str | None:
        """Return the feedback and the scores."""
        return autolab(report)

    def log(self, report: Report, extras: Extras = NO_EXTRAS) -> str:
        """Return the report, then the lines that Autolab reads."""
        return f"{terminal_text(report, staff=False)}\n{self.file(report) or ''}"


class GitHub(OutputFormat):
    """Classroom's result, workflow commands on standard output, and the step's files."""

    name = "github"

    def values(self, report: Report, extras: Extras) -> dict[str, Any] | None:
        """Return Classroom's result."""
        return github.classroom(report)

    def log(self, report: Report, extras: Extras = NO_EXTRAS) -> str:
        """Return report and annotations; append the summary and the step's output."""
        text = github.guarded(terminal_text(report, staff=False), secrets.token_hex(16))
        _append("GITHUB_STEP_SUMMARY", github.summary(report))
        result = github.encoded(github.classroom(report))
        _append("GITHUB_OUTPUT", f"result={result}\n")
        return "\n".join([text, *github.workflow_commands(report, extras.folder)]) + "\n"


class JUnit(OutputFormat):
    """JUnit's XML."""

    name = "junit"

    def file(self, report: Report, extras: Extras = NO_EXTRAS) -> str | None:
        """Return the XML."""
        return junit(report)


class Json(OutputFormat):
    """The grader's own report (`grade report` reads it)."""

    name = "json"

    def values(self, report: Report, extras: Extras) -> dict[str, Any] | None:
        """Return the report."""
        return to_json(report)


class Html(OutputFormat):
    """One page with figures, for a browser."""

    name = "html"

    def file(self, report: Report, extras: Extras = NO_EXTRAS) -> str | None:
        """Return the page."""
        from grader.formats.html.document import document

        return document(report)


GRADESCOPE = Gradescope()
PRAIRIELEARN = PrairieLearn()
AUTOLAB = Autolab()
GITHUB = GitHub()
JUNIT = JUnit()
JSON = Json()
HTML = Html()
_formats: dict[str, OutputFormat] = {
    str(form): form for form in (GRADESCOPE, PRAIRIELEARN, AUTOLAB, GITHUB, JUNIT, JSON, HTML)
}


def formats() -> tuple[OutputFormat, ...]:
    """Return all output formats."""
    return tuple(_formats.values())


def named(name: str) -> OutputFormat:
    """Return the format of this name. Raises KeyError if it does not exist."""
    return _formats[name]


def register(form: OutputFormat) -> None:
    """Add a format, which `--format` then accepts."""
    _formats[form.name] = form


def unregister(form: OutputFormat) -> None:
    """Remove a format that `register` added."""
    del _formats[form.name]


def _append(variable: str, text: str) -> None:
    """Append to the file that the environment variable names, if it is set."""
    name = os.environ.get(variable)
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise GraderError(f"cannot write {variable}: {error.strerror or error}") from error
