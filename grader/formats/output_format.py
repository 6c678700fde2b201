"""An output format: the file that a platform reads, and the text for its log."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rich.console import Console

from grader.formats.page import PLATFORM_WIDTH
from grader.formats.terminal import print_report
from grader.report.model import Report, json_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """Additions to a report.

    `folder` is the submission's folder in its repository (GitHub), `paths` the reader's path of
    each source file (SARIF), `notes` are lines above the result, `extra` comes back with the next
    submission, and the whole score loses the share `share_lost` (Gradescope).
    """

    folder: str = ""
    paths: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    share_lost: float = 0.0


NO_EXTRAS = Extras()


class OutputFormat:
    """One format. A subclass defines `name` and either `values` or `file`."""

    name: ClassVar[str]
    # The default time budget of a run: below the platform's own limit.
    budget_s: ClassVar[float | None] = None
    # True if students never see standard output.
    log_is_for_staff: ClassVar[bool] = False

    def __str__(self) -> str:
        return self.name

    def values(self, report: Report, extras: Extras) -> dict[str, Any] | None:
        """Return the file as JSON values; None if the format cannot express a missing score."""
        raise NotImplementedError

    def file(self, report: Report, extras: Extras = NO_EXTRAS) -> str | None:
        """Return the file's text; None if the format cannot express a missing score."""
        values = self.values(report, extras)
        return None if values is None else json_text(values)

    def log(self, report: Report, extras: Extras = NO_EXTRAS) -> str:
        """Return the text for standard output; write the other files that the platform reads."""
        return terminal_text(report, staff=self.log_is_for_staff)


def terminal_text(report: Report, *, staff: bool) -> str:
    """Return the report as a terminal shows it; without `staff`, hidden cases stay hidden."""
    file = io.StringIO()
    print_report(report, Console(file=file), show_hidden=staff, width=PLATFORM_WIDTH)
    return file.getvalue()
