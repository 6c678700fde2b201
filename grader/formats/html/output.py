"""The output format `html`."""

from __future__ import annotations

from grader.formats.output_format import NO_EXTRAS, Extras, OutputFormat
from grader.report.model import Report


class Html(OutputFormat):
    """One page with figures, for a browser."""

    name = "html"

    def file(self, report: Report, extras: Extras = NO_EXTRAS) -> str:
        """Return the page."""
        from grader.formats.html.document import document

        return document(report)
