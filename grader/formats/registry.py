"""Which output formats there are. A new one is a module beside the others and a class here.

`register` adds one from outside the package, such as a test's.
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
from grader.formats.output_format import NONE, Extras, OutputFormat, shown
from grader.formats.prairielearn import prairielearn
from grader.report.model import Report, to_json


class Gradescope(OutputFormat):
    """The file results.json; its log is for staff."""

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
    """The last lines of standard output, which are also written to the file."""

    name = "autolab"
    budget_s = 50.0  # of 60 s

    def file(self, report: Report, extras: Extras = NONE) -> str | None:
        """Return the feedback and the scores."""
        return autolab(report)

    def log(self, report: Report, extras: Extras = NONE) -> str:
        """Return the report, and after it what Autolab reads."""
        return f"{shown(report, staff=False)}\n{self.file(report) or ''}"


class GitHub(OutputFormat):
    """Classroom's result, commands on standard output, and the files that GitHub names."""

    name = "github"

    def values(self, report: Report, extras: Extras) -> dict[str, Any] | None:
        """Return Classroom's result."""
        return github.classroom(report)

    def log(self, report: Report, extras: Extras = NONE) -> str:
        """Return report and annotations; append the summary and the step's output."""
        # What a student printed is among it.
        text = github.guarded(shown(report, staff=False), secrets.token_hex(16))
        _append("GITHUB_STEP_SUMMARY", github.summary(report))
        result = github.encoded(github.classroom(report))
        _append("GITHUB_OUTPUT", f"result={result}\n")
        return "\n".join([text, *github.workflow_commands(report, extras.folder)]) + "\n"


class JUnit(OutputFormat):
    """JUnit's XML."""

    name = "junit"

    def file(self, report: Report, extras: Extras = NONE) -> str | None:
        """Return the XML."""
        return junit(report)


class Json(OutputFormat):
    """Our own report."""

    name = "json"

    def values(self, report: Report, extras: Extras) -> dict[str, Any] | None:
        """Return the report."""
        return to_json(report)


GRADESCOPE = Gradescope()
PRAIRIELEARN = PrairieLearn()
AUTOLAB = Autolab()
GITHUB = GitHub()
JUNIT = JUnit()
JSON = Json()
_formats: dict[str, OutputFormat] = {
    str(form): form for form in (GRADESCOPE, PRAIRIELEARN, AUTOLAB, GITHUB, JUNIT, JSON)
}


def formats() -> tuple[OutputFormat, ...]:
    """Return all output formats."""
    return tuple(_formats.values())


def named(name: str) -> OutputFormat:
    """Return the format of this name. Raises KeyError if there is none."""
    return _formats[name]


def register(form: OutputFormat) -> None:
    """Add a format; its name becomes one that options may use."""
    _formats[form.name] = form


def unregister(form: OutputFormat) -> None:
    """Take a format out that `register` added."""
    del _formats[form.name]


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
