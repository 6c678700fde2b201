"""Explain a wrong product of matrices by one wrong index of a tile: "[ty][tx] of `a`, not [ty][p]".

Threads (ty, tx) of a block load a tile of each matrix and multiply: the sum of A[ty][p] * B[p][tx]
over p. Each of the four indices may be another of the three, where a tile is loaded or read.
Without tiles the same goes for rows and columns of the matrices. It is a hint, never part of a
verdict.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import torch
from torch.nn.functional import pad

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import Comparison, accepts, accepts_all

_TILES = (16, 32, 8)
_LEAST = 8  # wrong elements; fewer agree by chance
_MOST = 2**19  # products: bounds the time
_NAMES = {"y": "ty", "x": "tx", "p": "p"}
_WHOLE = {"y": "row", "x": "col", "p": "p"}


def explain(
    comparison: Comparison, inputs: Mapping[str, torch.Tensor], tolerance: Tolerance
) -> str | None:
    """Return which index of a tile is wrong, None if no single one explains all elements."""
    actual, expected = comparison.actual, comparison.expected
    if expected.dim() != 2 or int(comparison.wrong.sum()) < _LEAST:
        return None
    if not bool(torch.isfinite(actual.double()).all()):
        return None
    loose = Tolerance(atol=4 * tolerance.atol, rtol=4 * tolerance.rtol, exact=tolerance.exact)
    for (a, first), (b, second) in itertools.permutations(inputs.items(), 2):
        if first.dim() != 2 or second.dim() != 2 or first.shape[1] != second.shape[0]:
            continue
        if (first.shape[0], second.shape[1]) != tuple(expected.shape):
            continue
        if expected.numel() * first.shape[1] > _MOST:
            return None
        left, right = first.double(), second.double()
        if not accepts_all((left @ right).to(expected.dtype), expected, loose):
            continue
        whole = max(*first.shape, *second.shape)
        for tile in (whole, *_TILES) if whole**3 <= _MOST else _TILES:
            for one, other in itertools.product(itertools.product("yxp", repeat=2), repeat=2):
                index, peer = "".join(one), "".join(other)
                if (index == "yp") == (peer == "px"):
                    continue  # right, or two mistakes
                # The first tiles decide whether it is worth to look at all.
                some = _product(left[:tile], right[:, :tile], tile, index, peer)
                if not accepts_all(actual[:tile, :tile], some.to(expected.dtype), loose):
                    continue
                seen = _product(left, right, tile, index, peer).to(expected.dtype)
                told = int((~accepts(seen, expected, tolerance)).sum()) >= _LEAST
                if told and accepts_all(actual, seen, loose):
                    name, wrong, right_one = (a, index, "yp") if peer == "px" else (b, peer, "px")
                    if tile == whole:
                        return (
                            f"the sum has `{name}`{_place(wrong, _WHOLE)} in the place of "
                            f"`{name}`{_place(right_one, _WHOLE)}, for row and col of the result"
                        )
                    return (
                        f"the sum has element {_place(wrong)} of each {tile}×{tile} tile of "
                        f"`{name}` in the place of {_place(right_one)} within the tile"
                    )
    return None


def _place(index: str, names: Mapping[str, str] = _NAMES) -> str:
    return "".join(f"[{names[letter]}]" for letter in index)


def _product(
    left: torch.Tensor, right: torch.Tensor, tile: int, index: str, peer: str
) -> torch.Tensor:
    """Return the product of tiles with these indices; past the edges are zeros."""
    (rows, _), columns = left.shape, right.shape[1]
    a, b = _tiles(left, tile), _tiles(right, tile)
    # An index that neither tile has is one of the result nevertheless; p is summed over.
    ones = torch.ones(tile, dtype=left.dtype)
    one, other = ("".join(dict.fromkeys(letters)) for letters in (index, peer))
    whole = torch.einsum(
        f"it{one},tj{other},y,x,p->iyjx",
        _diagonal(a, index), _diagonal(b, peer), ones, ones, ones,
    )  # fmt: skip
    return whole.reshape(whole.shape[0] * tile, -1)[:rows, :columns]


def _tiles(matrix: torch.Tensor, tile: int) -> torch.Tensor:
    """Return the matrix as (tile rows, tile columns, row, column)."""
    rows, columns = matrix.shape
    padded = pad(matrix, (0, -columns % tile, 0, -rows % tile))
    down, across = padded.shape[0] // tile, padded.shape[1] // tile
    return padded.view(down, tile, across, tile).transpose(1, 2)


def _diagonal(tiles: torch.Tensor, index: str) -> torch.Tensor:
    return torch.diagonal(tiles, dim1=2, dim2=3) if index[0] == index[1] else tiles
