"""Lines of a fixed width for a terminal or a log, safe to print with untrusted text.

All text passes through `Page`. It escapes control characters and characters that
the reader's encoding lacks, and cuts long text. It makes rich Text, in which `[red]`
is text and no markup. A bar at the left marks the output of a student's program,
so that no such line can look like one of the grader's.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from grader.text.printable import encodable, one_line, printable

LOG_WIDTH = 100  # without a terminal: a log looks the same on every machine
MOST_WIDTH = 120  # longer lines are hard to read
LEAST_WIDTH = 40
LEAST_BESIDE = 24  # columns beside a row's lead; fewer would leave one word on each line
BAR = "| "
DOTS = "..."
MOST_CHARACTERS = 100_000  # more than a page shows; the cap bounds the time for huge outputs

Piece = str | tuple[str, str]  # text, or text and its style


class Page:
    """Collects lines for one console in `lines`, without line feeds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._encoding = console.encoding
        width = console.width if console.is_terminal else LOG_WIDTH
        self.width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
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
        if cell_len(text.plain) > rest:
            rest -= hanging
        for number, line in enumerate(self._wrapped(text, rest, most)):
            self.lines.append(Text(" " * (indent + (hanging if number else 0))) + line)

    def row(self, lead: Text, *pieces: Piece, most: int = 6) -> None:
        """Add a row: `lead`, which must be safe and short, and a sentence beside it."""
        start = cell_len(lead.plain)
        text = self._text(pieces, most * self.width)
        if self.width - start < LEAST_BESIDE and cell_len(text.plain) > self.width - start:
            lead.rstrip()
            self.lines.append(lead)
            self.sentence(text.plain, indent=4, hanging=0, most=most)
            return
        for number, line in enumerate(self._wrapped(text, self.width - start, most) or [Text()]):
            self.lines.append((Text(" " * start) if number else lead) + line)
            self.lines[-1].rstrip()

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

    def table(self, header: tuple[str, ...], rows: list[tuple[str, ...]], *, indent: int) -> None:
        """Add a table: the first column is left-aligned, the others right-aligned."""
        cells = [[self.clipped(cell, 24) for cell in row] for row in (header, *rows)]
        widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
        for number, row in enumerate(cells):
            padded = [
                cell + pad if place == 0 else pad + cell
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
                for pad in [" " * (width - cell_len(cell))]
            ]
            line = _cut(" " * indent + "   ".join(padded), self.width).rstrip()
            self.lines.append(Text(line, style="dim" if number == 0 else ""))

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

    def _wrapped(self, text: Text, width: int, most: int) -> list[Text]:
        lines = list(text.wrap(self._console, width, overflow="fold"))
        for line in lines:
            line.rstrip()
        return lines if len(lines) <= most else [*lines[:most], Text(DOTS)]

    def _safe(self, text: str) -> str:
        return encodable(text, self._encoding)


def _cut(text: str, width: int) -> str:
    # Zero-width characters take no columns, so limit the characters as well.
    text = text[: 4 * width]
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - len(DOTS)).rstrip() + DOTS
