"""Where an output is wrong: a picture of its elements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from grader.formats.html.panel import WIDTH, Panel, Path, strokes
from grader.report.evidence import CaseResult, ErrorMap, Mismatch
from grader.text.sizes import case_text

_LEFT, _TOP = 34.0, 22.0
_LARGEST_CELL = 24.0
_HIGHEST = 340.0
_EVERY = (8, 16, 32, 64, 128, 256, 512, 1024)  # elements between two lines, a tile's usual sides
_MARKED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A cell with a known element; `text` is shown when the pointer is on it."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture(Panel):
    """The cells as one path for each state: horizontal strokes through runs of equal cells."""

    template: ClassVar[str] = "error_map.html"

    size: float
    right: Path
    wrong: Path
    unwritten: Path
    has_unwritten: bool
    lines: Path
    marked: tuple[Marked, ...]
    left: float
    top: float
    across: float
    down: float
    columns: str
    rows: str
    height: float


def panel(case: CaseResult) -> Picture | None:
    """Return the picture of a case's errors; None if its report has none."""
    found = case.error_map
    if found is None or not found.cells or not all(found.cells):
        return None
    across = max(map(len, found.cells))
    down = len(found.cells)
    size = min(_LARGEST_CELL, (WIDTH - _LEFT - 8) / across, _HIGHEST / down)

    def drawn(state: str) -> Path:
        marked = ([cell == state for cell in row] for row in found.cells)
        return strokes(marked, _LEFT, _TOP, size)

    return Picture(
        title=f"Where it is wrong: {_array(found)}",
        caption=_caption(case, found),
        size=round(size, 3),
        right=drawn("."),
        wrong=drawn("x"),
        unwritten=drawn("-"),
        has_unwritten=any("-" in row for row in found.cells),
        lines=_lines(found, across, down, size),
        marked=_marked(case, found, size),
        left=_LEFT,
        top=_TOP,
        across=round(across * size, 1),
        down=round(down * size, 1),
        columns=f"{found.columns - 1:,}",
        rows=f"{(found.rows - 1) * (found.columns if len(found.shape) == 1 else 1):,}",
        height=_TOP + down * size + 26,
    )


def _array(found: ErrorMap) -> str:
    extents = " × ".join(f"{extent:,}" for extent in found.shape)
    return f"{found.output}, {extents} {'element' if extents == '1' else 'elements'}"


def _caption(case: CaseResult, found: ErrorMap) -> str:
    of = f"of the {case.elements:,} elements"
    text = f"Case {case_text(case.name, case.sizes)}: {case.mismatched:,} {of} "
    text += f"{'is' if case.mismatched == 1 else 'are'} "
    text += f"wrong{f', {case.pattern}' if case.pattern else ''}."
    elements = found.cell_rows * found.cell_columns
    if elements > 1:
        side = f"{found.cell_rows} × {found.cell_columns}"
        text += f" A cell stands for {side} elements and is marked if one of them is wrong."
    else:
        text += " Each cell is one element."
    if len(found.shape) == 1 and found.rows > 1:
        text += f" The vector is laid out in rows of {found.columns:,}."
    elif len(found.shape) > 2:
        text += " All but the last dimension are laid out as rows."
    if every := _every(found):
        text += f" Thin lines lie {every} elements apart."
    return text


def _every(found: ErrorMap) -> int | None:
    """Return the distance of lines in elements: at least four cells, at most eight lines."""
    widest = max(found.columns, found.rows if len(found.shape) > 1 else 0)
    step = 4 * max(found.cell_columns, found.cell_rows)
    return next((n for n in _EVERY if n >= step and widest / 12 <= n < widest), None)


def _lines(found: ErrorMap, across: int, down: int, size: float) -> Path:
    every = _every(found)
    if every is None:
        return Path()
    parts = []
    for number in range(1, math.ceil(found.columns / every)):
        x = _LEFT + number * every / found.cell_columns * size
        parts.append(f"M{x:.1f} {_TOP:g}v{down * size:.1f}")
    if len(found.shape) > 1:
        for number in range(1, math.ceil(found.rows / every)):
            y = _TOP + number * every / found.cell_rows * size
            parts.append(f"M{_LEFT:g} {y:.1f}h{across * size:.1f}")
    return Path("".join(parts))


def _marked(case: CaseResult, found: ErrorMap, size: float) -> tuple[Marked, ...]:
    marked: dict[tuple[int, int], Marked] = {}
    for one in case.mismatches[:_MARKED]:
        if one.output != found.output or len(one.index) != len(found.shape):
            continue
        number = 0
        for index, extent in zip(one.index, found.shape, strict=True):
            number = number * extent + index
        row, column = divmod(number, found.columns)
        at = row // found.cell_rows, column // found.cell_columns
        if at not in marked and at[0] < len(found.cells):
            marked[at] = Marked(
                x=round(_LEFT + at[1] * size, 2), y=round(_TOP + at[0] * size, 2), text=_values(one)
            )
    return tuple(marked.values())


def _values(one: Mismatch) -> str:
    index = ", ".join(map(str, one.index))
    return f"{one.output}[{index}]: expected {one.expected:.7g}, got {one.actual:.7g}"
