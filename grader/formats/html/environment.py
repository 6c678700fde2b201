"""The templates of pages, and how they write strings and verdicts."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from grader.formats import student_view
from grader.report.verdict import Verdict

if TYPE_CHECKING:
    import jinja2
    import markupsafe


_MOST_LINE = 400
_CODE = re.compile(r"`([^`\n]+)`")


@functools.cache
def environment(package: str | None = None, folder: str = "pages") -> jinja2.Environment:
    """Return the templates of this package, after those in a folder of another `package`.

    Every string is escaped, and passes `student_view.safe`.
    """
    import jinja2  # takes 0.1 s; other formats do without

    def safe(value: Any) -> Any:
        """Make a string printable; text that is markup already stays."""
        return student_view.safe(value) if type(value) is str else value

    loaders = [jinja2.PackageLoader("grader.formats.html")]
    if package is not None:
        loaders.insert(0, jinja2.PackageLoader(package, folder))
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"symbol": symbol, "tone": tone, "line": line, "prose": prose}
    return made


def line(text: str) -> str:
    """Return the text on one line of a few hundred characters, without control characters."""
    return student_view.safe_line(text, _MOST_LINE)


def prose(text: str) -> markupsafe.Markup:
    """Return a sentence as markup: escaped, and what is in backquotes as code."""
    import markupsafe  # comes with Jinja2

    escaped = str(markupsafe.escape(student_view.safe(text)))
    return markupsafe.Markup(_CODE.sub(r"<code>\1</code>", escaped))


def symbol(verdict: Verdict) -> str:
    """Return the sign in front of a verdict, so that colour says nothing alone."""
    return {"good": "✓", "bad": "✗", "open": "○", "none": "–", "grader": "!"}[tone(verdict)]


def tone(verdict: Verdict) -> str:
    """Return the class of a verdict's badge."""
    if verdict is Verdict.ACCEPTED:
        return "good"
    if verdict is Verdict.GRADER_ERROR:
        return "grader"
    if verdict in (Verdict.NOT_MEASURED, Verdict.INCONCLUSIVE):
        return "open"
    return "bad" if verdict.judged else "none"
