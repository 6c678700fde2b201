"""Recognise right values in another order: transposed, turned tiles, rows of another length.

Each function returns the sentence for a student, None if the order is another one. `misplaced`
looks for the rule of single elements.
"""

from __future__ import annotations

import torch

from grader.judge.compare import accepts, accepts_all, allowed
from grader.judge.patterns.pattern_input import PatternInput

_LEAST = 8  # wrong elements: fewer fit an order by chance
_SEARCHED = 8  # elements that decide whether it is worth to look at all
_TILES = (4, 8, 16, 32, 64, 128)


def transposed(given: PatternInput) -> str | None:
    """Recognise rows and columns that are swapped."""
    actual, expected = given.comparison.actual, given.comparison.expected
    if expected.dim() != 2 or expected.numel() < 4:
        return None
    transposed = expected.t().contiguous().view(expected.shape)
    if accepts_all(actual, transposed, given.tolerance):
        return "the result is transposed: rows and columns are swapped"
    return None


def tile_transposed(given: PatternInput) -> str | None:
    """Recognise tiles in the right place whose rows and columns are swapped."""
    if given.comparison.expected.dim() != 2:
        return None
    for side in _TILES:
        down, across = (extent // side for extent in given.comparison.expected.shape)
        if down * across >= 2 and _with_tiles_turned(given, side, (down, across), (1, 3)):
            return (
                f"the tile is not turned: within each {side}×{side} tile, rows and columns are "
                "swapped"
            )
    return None


def tiles_misplaced(given: PatternInput) -> str | None:
    """Recognise turned tiles whose places are not swapped."""
    if given.comparison.expected.dim() != 2:
        return None
    for side in _TILES:
        number = min(extent // side for extent in given.comparison.expected.shape)
        if number >= 2 and _with_tiles_turned(given, side, (number, number), (0, 2)):
            return (
                f"each {side}×{side} tile is right in itself, but stored in the place of another: "
                "tile row and tile column are swapped"
            )
    return None


def _with_tiles_turned(
    given: PatternInput, side: int, number: tuple[int, int], axes: tuple[int, int]
) -> bool:
    """True if a matrix is right with two axes of its tiles swapped.

    The axes are tile row, row in the tile, tile column and column in it. `number` whole tiles are
    compared, down and across.
    """
    down, across = number
    whole = (slice(down * side), slice(across * side))
    tiles = (down, side, across, side)
    turned = given.comparison.expected[whole].reshape(tiles).transpose(*axes)
    return accepts_all(given.comparison.actual[whole].reshape(tiles), turned, given.tolerance)


def row_stride(given: PatternInput) -> str | None:
    """Recognise rows of the output that lie another size apart."""
    actual, expected = given.comparison.actual, given.comparison.expected
    if expected.dim() != 2 or min(expected.shape) < 2 or expected.numel() > 2**20:
        return None
    rows, columns = expected.shape
    row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    for size, stride in given.sizes.items():
        if not isinstance(stride, int) or stride == columns:
            continue
        at = (row * stride + column).flatten()
        inside = at < expected.numel()
        places, values = at[inside], expected.flatten()[inside]
        # Elements that two threads write have either value.
        once = torch.bincount(places, minlength=expected.numel())[places] == 1
        found = accepts(actual.flatten()[places[once]], values[once], given.tolerance)
        differ = int((places != torch.arange(expected.numel())[inside])[once].sum())
        if differ >= _LEAST and bool(found.all()):
            return f"the rows lie `{size}` elements apart in the output, not its number of columns"
    return None


def gathered(given: PatternInput) -> str | None:
    """Recognise elements of an input, at places that grow by a constant step."""
    actual = given.comparison.actual
    if actual.dim() != 1 or int(given.comparison.wrong.sum()) < _LEAST:
        return None
    for name, value in given.inputs.items():
        if value.dtype != actual.dtype or value.numel() > 2**20:
            continue
        # Sorting a million elements takes long: search for some first.
        some = actual[:: actual.numel() // _SEARCHED + 1]
        if not all(bool((value == one).any()) for one in some):
            continue
        ordered, places = value.flatten().sort()
        if not bool((ordered[1:] != ordered[:-1]).all()):
            continue
        near = torch.searchsorted(ordered, actual.contiguous()).clamp_max(ordered.numel() - 1)
        if not bool((ordered[near] == actual).all()):
            continue
        at = places[near]
        steps = at[1:] - at[:-1]
        as_it_is = value.numel() == actual.numel() and int(at[0]) == 0 and int(steps[0]) == 1
        if bool((steps == steps[0]).all()) and not as_it_is:
            begin = f" + {int(at[0])}" if int(at[0]) else ""
            factor = "i" if int(steps[0]) == 1 else f"{int(steps[0])} i"
            return f"output element i is `{name}`[{factor}{begin}], counted from its first element"
    return None


def moved(given: PatternInput) -> str | None:
    """Recognise right values in an order that has a name, or in any other."""
    actual, expected = given.comparison.actual, given.comparison.expected
    if int(given.comparison.wrong.sum()) < _LEAST or not bool(torch.isfinite(actual).all()):
        return None
    orders: dict[str, torch.Tensor] = {}
    if expected.dim() == 2 and min(expected.shape) > 1:
        orders["rows come in reverse order"] = expected.flip(0)
        orders["columns come in reverse order"] = expected.flip(1)
        orders["every row is one row too far down"] = expected.roll(1, 0)
        orders["every row is one row too far up"] = expected.roll(-1, 0)
    orders["elements come in reverse order"] = expected.flatten().flip(0).view(expected.shape)
    for sentence, moved in orders.items():
        if accepts_all(actual, moved, given.tolerance):
            return sentence
    wide = actual.double()
    # Sorting a million elements takes long: compare the largest, the smallest and the sum first.
    for extreme in (torch.amax, torch.amin):
        if not bool(accepts(extreme(wide).to(actual.dtype), extreme(expected), given.tolerance)):
            return None
    # The same values have the same sum, but for rounding.
    summed = expected.double()
    margin = allowed(expected, given.tolerance).sum() + 1e-9 * summed.abs().sum()
    if bool((wide.sum() - summed.sum()).abs() > margin):
        return None
    ordered = wide.flatten().sort().values.to(actual.dtype)
    if accepts_all(ordered, expected.flatten().sort().values, given.tolerance):
        return "the values are right, but in the wrong places"
    return None
