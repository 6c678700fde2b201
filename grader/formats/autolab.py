"""Autolab's last lines of output: the feedback, then the scores.

    {"_presentation": "semantic", "stages": ["build", …], "build": {"silu": {…}}, …}
    {"scores": {"silu": 90.0, "main": 10.0}, "scoreboard": […]}

The problems of the lab must be named like the kernels. Before it parses the line,
Autolab puts quotes around every word before a colon, even inside strings. So no
string here has a letter or digit right before a colon, and each line is ASCII.
"""

from __future__ import annotations

import json
import re
from typing import Any

from grader.formats import student_view
from grader.formats.output_format import NO_EXTRAS, Extras, OutputFormat, terminal_text
from grader.report.model import Report
from grader.text.printable import encodable, one_line

MOST_BYTES = 200_000  # a job's log keeps 1000 KiB of output, and the scores come last
_MOST_HINT = 500
_WORD_AND_COLON = re.compile(r"(?<=[A-Za-z0-9]):")


class Autolab(OutputFormat):
    """The last lines of standard output; `--output` also writes them to a file."""

    name = "autolab"
    budget_s = 50.0  # of 60 s

    def file(self, report: Report, extras: Extras = NO_EXTRAS) -> str | None:
        """Return the two lines; None if there is no score to publish."""
        if report.score is None:
            return None
        scores = {_plain(kernel.name): kernel.score for kernel in report.kernels if kernel.counted}
        last = json.dumps({"scores": scores, "scoreboard": [*scores.values()]})
        feedback = json.dumps(_feedback(report))
        return f"{feedback}\n{last}\n" if len(feedback) <= MOST_BYTES else f"{last}\n"

    def log(self, report: Report, extras: Extras = NO_EXTRAS) -> str:
        """Return the report, then the lines that Autolab reads."""
        return f"{terminal_text(report, staff=False)}\n{self.file(report) or ''}"


def _feedback(report: Report) -> dict[str, Any]:
    stages: dict[str, dict[str, Any]] = {}
    for entry in student_view.checks(report):
        cell: dict[str, Any] = {"passed": student_view.status(entry.check) == "passed"}
        if not cell["passed"]:
            cell["hint"] = _plain(entry.text)[:_MOST_HINT]
        stages.setdefault(entry.check.check.capitalize(), {})[_plain(entry.name)] = cell
    return {"_presentation": "semantic", "stages": [*stages], **stages}


def _plain(text: str) -> str:
    ascii_only = encodable(one_line(text), "ascii").replace("\\", "/")
    return _WORD_AND_COLON.sub(" :", ascii_only)
