"""An output format: whose file a report becomes, and what goes to the log beside it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rich.console import Console

from grader.formats.terminal import print_report
from grader.report.model import Report, json_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What goes with a report.

    `folder` is the submission's place in its repository (GitHub), `notes` are lines above the
    result, and `extra` comes back with the next submission (Gradescope).
    """

    folder: str = ""
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


NONE = Extras()


class OutputFormat:
    """One format. A subclass gives `name` and `values` or `file`, and what differs of the rest."""

    name: ClassVar[str]
    # Seconds for a whole run unless told otherwise: below the platform's own limit.
    budget_s: ClassVar[float | None] = None
    # True if students never see what is printed.
    log_is_for_staff: ClassVar[bool] = False

    def __str__(self) -> str:
        return self.name

    def values(self, report: Report, extras: Extras) -> dict[str, Any] | None:
        """Return the file as JSON values; None if the format cannot express a missing score."""
        raise NotImplementedError

    def file(self, report: Report, extras: Extras = NONE) -> str | None:
        """Return the file's text; None if the format cannot express a missing score."""
        values = self.values(report, extras)
        return None if values is None else json_text(values)

    def log(self, report: Report, extras: Extras = NONE) -> str:
        """Return what goes to standard output, and write what the platform reads besides."""
        return shown(report, staff=self.log_is_for_staff)


def shown(report: Report, *, staff: bool) -> str:
    """Return the report as at a terminal; without `staff`, as a student may see it."""
    file = io.StringIO()
    print_report(report, Console(file=file), show_hidden=staff)
    return file.getvalue()
