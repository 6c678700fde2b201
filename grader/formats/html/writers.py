"""Which thread wrote which element of a small output, and which elements several threads wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from grader.formats.html.panel import WIDTH, Panel, Path, plural, strokes
from grader.protocol.targets import WARP
from grader.report.evidence import Writers

COLOURS = 4  # of blocks, in turn
_LEFT, _TOP = 34.0, 22.0
_LARGEST_CELL = 30.0
_HIGHEST = 340.0
_TEXT_FITS = 19.0
_MOST_SHOWN = 4
_MOST_LABELS = 120
_DIGIT = 5.4  # the width of a label's digit

Writer = tuple[int, int]  # block and thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """All cells of one colour: a path of horizontal strokes."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The thread's number in its cell, or the block's where its cells begin."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Panel):
    """The elements, coloured by block."""

    template: ClassVar[str] = "writers.html"

    layers: tuple[Layer, ...]
    untouched: Path
    doubles: Path
    borders: Path
    labels: tuple[Label, ...]
    size: float
    left: float
    top: float
    across: float
    down: float
    columns: str
    rows: str
    height: float
    legend: tuple[tuple[str, str], ...]


def panel(found: Writers) -> Map | None:
    """Return the picture; None if the cells are not what the grader writes."""
    rows = [_row(text) for text in found.cells]
    if not rows or any(row is None for row in rows):
        return None
    cells = [row for row in rows if row is not None]
    across = max(map(len, cells))
    size = _size(cells)
    blocks = sorted({one[0] for row in cells for one in row if one is not None})
    layers = []
    for colour in range(COLOURS):
        for odd in (0, 1):
            path = strokes(
                [
                    [
                        one is not None and one[0] % COLOURS == colour and one[1] // WARP % 2 == odd
                        for one in row
                    ]
                    for row in cells
                ],
                _LEFT,
                _TOP,
                size,
            )
            if path:
                layers.append(Layer(name=f"block{colour}{' odd' if odd else ''}", path=path))
    untouched = strokes([[one is None for one in row] for row in cells], _LEFT, _TOP, size)
    doubles = _doubles(found, size)
    named = blocks[: _MOST_SHOWN - (bool(untouched) and bool(doubles))]
    return Map(
        title=f"Which thread wrote what: {found.array}",
        caption=_caption(found, cells, blocks),
        layers=tuple(layers),
        untouched=untouched,
        doubles=doubles,
        borders=_borders(cells, size),
        labels=_labels(cells, size),
        size=round(size, 3),
        left=_LEFT,
        top=_TOP,
        across=round(across * size, 1),
        down=round(len(cells) * size, 1),
        columns=f"{found.columns - 1:,}",
        rows=f"{len(cells) - 1:,}" if found.columns != WARP else f"{found.elements - 1:,}",
        height=_TOP + len(cells) * size + 26,
        legend=tuple((f"block{one % COLOURS}", f"block {one}") for one in named),
    )


def _size(cells: Sequence[Sequence[Writer | None]]) -> float:
    """Return the side of a cell."""
    return min(_LARGEST_CELL, (WIDTH - _LEFT - 8) / max(map(len, cells)), _HIGHEST / len(cells))


def _row(text: str) -> list[Writer | None] | None:
    row: list[Writer | None] = []
    for cell in text.split():
        block, _, thread = cell.partition(".")
        if cell == "-":
            row.append(None)
        elif block.isdecimal() and thread.isdecimal():
            row.append((int(block), int(thread)))
        else:
            return None
    return row or None


def _caption(found: Writers, cells: Sequence[Sequence[Writer | None]], blocks: list[int]) -> str:
    writers = [one for row in cells for one in row]
    written = [one for one in writers if one is not None]
    by_thread = Counter(written)
    threads, most = len(by_thread), max(by_thread.values(), default=0)
    launched = found.grid[0] * found.grid[1] * found.grid[2]
    size = found.block_size[0] * found.block_size[1] * found.block_size[2]
    text = (
        f"Case {found.case}: {found.kernel} is launched with {plural(launched, 'block')} of "
        f"{plural(size, 'thread')}. {plural(threads, 'thread')} of {plural(len(blocks), 'block')} "
        f"wrote {plural(len(written), 'element')}"
    )
    text += f", up to {most} each." if most > 1 else ", one each."
    gaps = len(writers) - len(written)
    if gaps:
        text += f" {plural(gaps, 'element')} {'was' if gaps == 1 else 'were'} never written."
    else:
        text += " Nothing is left out."
    if twice := sum(row.count("x") for row in found.doubles):
        text += (
            f" {plural(twice, 'element')} (dotted) {'was' if twice == 1 else 'were'} written by "
        )
        text += "several threads: the last one is shown."
    idle = launched * size - threads
    if idle > 0:
        text += f" {plural(idle, 'thread')} wrote nothing."
    text += " A colour is a block, and its shades are its warps in turn; "
    what = "threads'" if _size(cells) >= _TEXT_FITS else "blocks'"
    return f"{text}numbers are the {what}."


def _doubles(found: Writers, size: float) -> Path:
    """Return a stroke through the elements that several threads wrote."""
    return strokes([[mark == "x" for mark in row] for row in found.doubles], _LEFT, _TOP, size)


def _borders(cells: Sequence[Sequence[Writer | None]], size: float) -> Path:
    """Return lines between cells of different blocks."""

    def block(row: int, column: int) -> int | None:
        if row >= len(cells) or column >= len(cells[row]):
            return None
        one = cells[row][column]
        return None if one is None else one[0]

    parts = []
    for row, line in enumerate(cells):
        for column in range(len(line)):
            here, x, y = block(row, column), _LEFT + column * size, _TOP + row * size
            if here is not None and block(row, column + 1) not in (None, here):
                parts.append(f"M{x + size:.1f} {y:.1f}v{size:.1f}")
            if here is not None and block(row + 1, column) not in (None, here):
                parts.append(f"M{x:.1f} {y + size:.1f}h{size:.1f}")
    return Path("".join(parts))


def _labels(cells: Sequence[Sequence[Writer | None]], size: float) -> tuple[Label, ...]:
    if size < _TEXT_FITS:
        return _block_labels(cells, size)
    return tuple(
        Label(
            x=round(_LEFT + (column + 0.5) * size, 1),
            y=round(_TOP + (row + 0.5) * size + 3, 1),
            text=str(one[1]),
        )
        for row, line in enumerate(cells)
        for column, one in enumerate(line)
        if one is not None
    )


def _block_labels(cells: Sequence[Sequence[Writer | None]], size: float) -> tuple[Label, ...]:
    """Return the block's number at the first cell of each of its regions."""

    def block(row: int, column: int) -> int | None:
        if row < 0 or column < 0 or column >= len(cells[row]):
            return None
        one = cells[row][column]
        return None if one is None else one[0]

    labels = []
    for row, line in enumerate(cells):
        free = 0.0  # right of the label before in this row
        for column in range(len(line)):
            here = block(row, column)
            if here is not None and here not in (block(row - 1, column), block(row, column - 1)):
                half = _DIGIT * len(str(here)) / 2
                x, y = _LEFT + column * size + half + 2, _TOP + row * size + 8.5
                if x - half < free:
                    continue
                free = x + half + 1
                labels.append(Label(x=round(x, 1), y=round(y, 1), text=str(here)))
    return tuple(labels[:_MOST_LABELS])
