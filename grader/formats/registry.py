"""The output formats. A new format is a module in this package and an instance here.

`register` adds a format from outside the package.
"""

from __future__ import annotations

from typing import Any

from grader.formats.autolab import Autolab
from grader.formats.github import GitHub
from grader.formats.gradescope import Gradescope
from grader.formats.html.output import Html
from grader.formats.junit import JUnit
from grader.formats.output_format import Extras, OutputFormat
from grader.formats.prairielearn import PrairieLearn
from grader.formats.sarif import Sarif
from grader.report.model import Report, to_json


class Json(OutputFormat):
    """The grader's own report (`grade report` reads it)."""

    name = "json"

    def values(self, report: Report, extras: Extras) -> dict[str, Any]:
        """Return the report."""
        return to_json(report)


GRADESCOPE = Gradescope()
PRAIRIELEARN = PrairieLearn()
AUTOLAB = Autolab()
GITHUB = GitHub()
JUNIT = JUnit()
JSON = Json()
HTML = Html()
SARIF = Sarif()
_formats: dict[str, OutputFormat] = {
    form.name: form
    for form in (GRADESCOPE, PRAIRIELEARN, AUTOLAB, GITHUB, JUNIT, JSON, HTML, SARIF)
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
