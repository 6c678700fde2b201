"""Lines for a terminal, a pipe or a platform's page, safe to print with untrusted text.

    terminal    as wide as the terminal, at most 120 columns
    pipe        no line is wrapped, unless COLUMNS sets a width; a finding begins its line
    platform    100 columns, so that a page looks the same on every machine

All text passes through `Page`. It escapes control characters and characters that
the reader's encoding lacks, and cuts long text. It makes rich Text, in which `[red]`
is text and no markup. A bar at the left marks the output of a student's program,
so that no such line can look like one of the grader's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from grader.text.printable import encodable, one_line, printable

PLATFORM_WIDTH = 100
MOST_WIDTH = 120  # longer lines are hard to read
LEAST_WIDTH = 40
# Of a pipe: more than a sentence of ours has.
UNWRAPPED = 1000
BELOW = 4  # columns before a row's sentence that does not fit beside its lead
GAP = 3  # columns between those of a table
BAR = "| "
DOTS = "..."
MOST_CHARACTERS = 100_000  # more than a page shows; the cap bounds the time for huge outputs
# What stays on one line: short code, a dot and the word before it, "3 / 4", "5.2 s", "50 %",
# "n ≤ 3". Its blanks become `_GLUE` while lines are made.
_TOGETHER = re.compile(r"`[^`]*`| (?=[·≤≥])|(?<=[≤≥]) |(?<=\d) / (?=\d)|(?<=\d) (?=s\b|%)")
_GLUE = "\ue000"
_MOST_TOGETHER = 32

Piece = str | tuple[str, str]  # text, or text and its style


class Page:
    """Collects lines for one console in `lines`, without line feeds.

    `width` is for a platform's page. `paths` has the reader's path of each source file, which
    a finding names in a pipe: there other programs read it.
    """

    def __init__(
        self,
        console: Console,
        *,
        width: int | None = None,
        paths: Mapping[str, str] | None = None,
    ) -> None:
        self._console = console
        self._encoding = console.encoding
        self._paths = paths or {}
        self._piped = width is None and not console.is_terminal
        self.width = _width(console) if width is None else width
        self.lines: list[Text] = []

    def print(self) -> None:
        """Write the lines to the console."""
        for line in self.lines:
            # soft_wrap: a log's lines are wider than the 80 columns that rich assumes of a file.
            self._console.print(line, soft_wrap=True, highlight=False)

    def blank(self) -> None:
        """Add an empty line."""
        self.lines.append(Text())

    def clipped(self, text: str, width: int) -> str:
        """Return the text as one safe line of at most `width` columns."""
        return _cut(self._safe(one_line(text[:MOST_CHARACTERS])), width)

    def sentence(self, *pieces: Piece, indent: int = 0, hanging: int = 2, most: int = 6) -> None:
        """Add a sentence; its continuation lines are indented by `hanging` more columns.

        Line feeds become spaces. At most `most` lines are shown.
        """
        text = self._text(pieces, most * self.width)
        rest = self.width - indent
        for number, line in enumerate(self._wrapped(text, rest, rest - hanging, most)):
            self.lines.append(Text(" " * (indent + (hanging if number else 0))) + line)

    def finding(
        self, file: str, place: str, severity: Piece, words: str, *, indent: int, most: int = 6
    ) -> None:
        """Add a finding in the form of a compiler: file, place (":7:3"), severity, words."""
        if self._piped:
            file, indent = self._paths.get(file, file), 0
        self.sentence((f"{file}{place}: ", "bold"), severity, words, indent=indent, most=most)

    def row(self, lead: Text, *pieces: Piece, most: int = 6) -> None:
        """Add a row: `lead`, which must be safe and short, and a sentence beside or below it."""
        text = self._text(pieces, most * self.width)
        if cell_len(lead.plain) + cell_len(text.plain) <= self.width:
            self.lines.append(lead + text)
            self.lines[-1].rstrip()
            return
        lead.rstrip()
        self.lines.append(lead)
        rest = self.width - BELOW
        for line in self._wrapped(text, rest, rest, most):
            self.lines.append(Text(" " * BELOW) + line)

    def quote(self, text: str, *, indent: int, head: int, tail: int = 0) -> None:
        """Add untrusted output behind a bar: its first `head` and last `tail` lines."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
        left_out = len(lines) - head - tail
        if left_out > 1:
            lines[head : head + left_out] = [f"{DOTS} {left_out} more lines {DOTS}"]
        width = self.width - indent - len(BAR)
        for line in lines:
            shown = _cut(self._safe(printable(line[:MOST_CHARACTERS])), width)
            self.lines.append(Text.assemble(" " * indent, (BAR, "dim"), shown.rstrip()))

    def table(
        self,
        header: tuple[str, ...],
        rows: Sequence[tuple[str, ...]],
        *,
        indent: int,
        left: int = 1,
    ) -> None:
        """Add a table: the first `left` columns are left-aligned, the others right-aligned.

        No column is cut. The last ones are left out, by name, if the line is too short for all,
        and a row becomes a list of its cells if even two do not fit.
        """
        width = self.width - indent
        cells = [[self.clipped(cell, width) for cell in row] for row in (header, *rows)]
        widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
        while len(widths) > 2 and sum(widths) + GAP * (len(widths) - 1) > width:
            widths.pop()
        if sum(widths) + GAP * (len(widths) - 1) > width:
            for row in cells[1:]:
                named = (f"{name} {cell}" for name, cell in zip(cells[0], row, strict=True) if cell)
                self.sentence(", ".join(named), indent=indent)
            return
        for number, row in enumerate(cells):
            padded = [
                cell + pad if place < left else pad + cell
                for place, (cell, wide) in enumerate(zip(row, widths, strict=False))
                for pad in [" " * (wide - cell_len(cell))]
            ]
            line = (" " * indent + (" " * GAP).join(padded)).rstrip()
            self.lines.append(Text(line, style="dim" if number == 0 else ""))
        if left_out := cells[0][len(widths) :]:
            self.sentence(
                (f"a wider terminal also shows: {', '.join(left_out)}", "dim"), indent=indent
            )

    def _text(self, pieces: tuple[Piece, ...], most: int) -> Text:
        """Return the pieces as one safe line, each cut to `most` characters."""
        text = Text()
        for piece in pieces:
            words, style = (piece, "") if isinstance(piece, str) else piece
            space = " " if words[:1] == " " else "", " " if words[-1:] == " " else ""
            words = self._safe(one_line(words[:MOST_CHARACTERS]))
            # Count characters, not columns: zero-width characters never fill a line.
            text.append(f"{space[0]}{words[:most]}{space[1] if words else ''}", style)
        return text

    def _wrapped(self, text: Text, first: int, others: int, most: int) -> list[Text]:
        """Return the lines of a text: the first of `first` columns, the others of `others`."""
        glued = _TOGETHER.sub(
            lambda found: (
                found[0] if len(found[0]) > _MOST_TOGETHER else found[0].replace(" ", _GLUE)
            ),
            text.plain,
        )
        text = Text(glued, spans=text.spans)
        lines = list(text.wrap(self._console, first, overflow="fold"))
        if len(lines) > 1 and first != others:
            start = len(lines[0].plain.rstrip())
            start += len(glued) - start - len(glued[start:].lstrip())
            lines[1:] = text[start:].wrap(self._console, others, overflow="fold")
        lines = [Text(line.plain.replace(_GLUE, " "), spans=line.spans) for line in lines]
        for line in lines:
            line.rstrip()
        return lines if len(lines) <= most else [*lines[:most], Text(DOTS)]

    def _safe(self, text: str) -> str:
        return encodable(text, self._encoding)


def _width(console: Console) -> int:
    if console.is_terminal:
        return max(LEAST_WIDTH, min(console.width, MOST_WIDTH))
    wanted = os.environ.get("COLUMNS", "")
    return max(LEAST_WIDTH, min(int(wanted), UNWRAPPED)) if wanted.isdecimal() else UNWRAPPED


def _cut(text: str, width: int) -> str:
    # Zero-width characters take no columns, so limit the characters as well.
    text = text[: 4 * width]
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - len(DOTS)).rstrip() + DOTS
