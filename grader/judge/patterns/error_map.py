"""Draw where an output is wrong: a picture of at most 64 × 64 cells for the report.

An output of one dimension is laid out in rows of 64 cells, one of more dimensions as a matrix with
its last dimension as columns. The sides of a cell are powers of two, so that its borders meet those
of tiles and blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import torch

from grader.judge.compare import Comparison
from grader.report.evidence import CaseResult, ErrorMap
from grader.vocabulary import Visibility

SIDE = 64
_NARROW = 16  # cells
_FEW = 16  # wrong elements
_ENOUGH = 256  # elements of a case that is drawn, if there is one
_RIGHT, _WRONG, _UNWRITTEN, _NOTHING = range(4)
_STATES = ".x- "


def error_map(comparison: Comparison, unwritten: torch.Tensor) -> ErrorMap | None:
    """Return the picture; None if the output has no element.

    `unwritten` marks the elements that were never written, in the output's shape.
    """
    shape = tuple(comparison.wrong.shape)
    total = math.prod(shape)
    if total == 0:
        return None
    if len(shape) > 1:
        rows, columns = total // shape[-1], shape[-1]
        cell_rows, cell_columns = _cell(rows), _cell(columns)
    else:
        cell_rows, cell_columns = 1, _cell(math.ceil(total / SIDE))
        columns = min(total, SIDE * cell_columns)
        rows = math.ceil(total / columns)
    # Pad to whole cells: what is beyond the end is no element.
    states = torch.full((_up(rows, cell_rows) * columns,), _NOTHING, dtype=torch.uint8)
    wrong = comparison.wrong.reshape(-1)
    states[:total] = torch.where(
        wrong,
        torch.where(unwritten.reshape(-1), _UNWRITTEN, _WRONG),
        torch.full_like(wrong, _RIGHT, dtype=torch.int64),
    ).to(torch.uint8)
    matrix = torch.full((_up(rows, cell_rows), _up(columns, cell_columns)), _NOTHING).byte()
    matrix[:, :columns] = states.view(-1, columns)
    across, down = matrix.shape[1] // cell_columns, matrix.shape[0] // cell_rows
    cells = matrix.view(down, cell_rows, across, cell_columns).transpose(1, 2).flatten(2)

    def holds(state: int) -> torch.Tensor:
        return (cells == state).any(2)

    picture = torch.full((down, across), _NOTHING)
    for state in (_RIGHT, _UNWRITTEN, _WRONG):  # the last one that holds is shown
        picture = torch.where(holds(state), state, picture)
    return ErrorMap(
        output=comparison.output,
        shape=shape,
        rows=rows,
        columns=columns,
        cell_rows=cell_rows,
        cell_columns=cell_columns,
        cells=tuple("".join(_STATES[state] for state in row) for row in picture.tolist()),
    )


def _cell(extent: int) -> int:
    """Return the smallest power of two that makes at most `SIDE` cells of the extent."""
    return 1 << max(0, math.ceil(extent / SIDE) - 1).bit_length()


def _up(extent: int, cell: int) -> int:
    return math.ceil(extent / cell) * cell


def keep_one_map(results: Iterable[CaseResult]) -> tuple[CaseResult, ...]:
    """Return the results; of the wrong cases of each visibility one keeps its error map.

    It is the smallest with enough elements and errors to show a pattern, of matrices one that is
    not narrow.
    """
    results = tuple(results)
    best: dict[Visibility, tuple[tuple[bool | int, ...], CaseResult]] = {}
    for result in results:
        if result.error_map is None:
            continue
        rank = _rank(result, result.error_map)
        if result.visibility not in best or rank < best[result.visibility][0]:
            best[result.visibility] = rank, result
    kept = [result for _, result in best.values()]
    return tuple(
        result if any(result is one for one in kept) else replace(result, error_map=None)
        for result in results
    )


def _rank(result: CaseResult, found: ErrorMap) -> tuple[bool | int, ...]:
    small = result.elements < _ENOUGH
    sides = len(found.cells), *map(len, found.cells)
    narrow = len(found.shape) > 1 and min(sides) < _NARROW
    few = result.mismatched < _FEW
    return small, few, narrow, -result.elements if small else result.elements
