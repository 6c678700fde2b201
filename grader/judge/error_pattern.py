"""Describe the pattern of the wrong elements in one sentence for the student.

Each detector recognises one classic mistake from which elements are wrong and what their values
are. Detectors run from the most to the least informative, and the first match is reported. A
pattern is a hint, never part of a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from grader.assignment.model import Tolerance
from grader.judge.compare import Comparison, accepts


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternInput:
    """The input of a detector.

    `unwritten_bytes` has for each element the number of its bytes that were not written.
    """

    comparison: Comparison
    inputs: Mapping[str, torch.Tensor]
    unwritten_bytes: torch.Tensor
    tolerance: Tolerance

    @property
    def unwritten(self) -> torch.Tensor:
        """Marks the elements that were never written."""
        return self.unwritten_bytes == self.comparison.actual.element_size()


def count_unwritten_bytes(
    first: torch.Tensor, second: torch.Tensor, poisons: tuple[int, int]
) -> torch.Tensor:
    """Count the bytes of each element that hold their poison after both calls, one poison each."""

    def poisoned(values: torch.Tensor, byte: int) -> torch.Tensor:
        raw = values.contiguous().view(-1).view(torch.uint8).view(-1, values.element_size())
        return raw == byte

    unwritten = poisoned(first, poisons[0]) & poisoned(second, poisons[1])
    return unwritten.sum(dim=1).view(first.shape)


def describe(given: PatternInput) -> str | None:
    """Return the pattern of the error, or None if no detector recognises it."""
    return next((found for detector in _DETECTORS if (found := detector(given))), None)


def _never_written(given: PatternInput) -> str | None:
    wrong, unwritten = given.comparison.wrong, given.unwritten & given.comparison.wrong
    if not bool(unwritten.any()):
        return None
    count, total = int(unwritten.sum()), wrong.numel()
    if count == total:
        return "nothing was ever written"
    if int(wrong.sum()) == count:
        return f"{_place(wrong)}: never written"
    return f"{count} of the wrong elements were never written"


_TILES = (4, 8, 16, 32, 64, 128)
TORN = "each element was written in part"


def _torn(given: PatternInput) -> str | None:
    """Recognise partly written elements; a few may look so by chance, most must."""
    counts = given.unwritten_bytes[given.comparison.wrong & ~given.unwritten]
    size = given.comparison.actual.element_size()
    if counts.numel() == 0 or int((counts > 0).sum()) * 2 <= counts.numel():
        return None
    return f"{TORN}: {size - int(counts.median())} of its {size} bytes"


def _constant(given: PatternInput) -> str | None:
    actual = given.comparison.actual
    if actual.numel() < 2 or not bool((actual == actual.flatten()[0]).all()):
        return None
    return f"every element is {float(actual.flatten()[0]):g}"


def _not_a_number(given: PatternInput) -> str | None:
    wrong = given.comparison.wrong
    nan = torch.isnan(given.comparison.actual.double()) & wrong
    if bool(nan.all()):
        return "every element is not a number"
    if bool(nan.any()) and int(nan.sum()) == int(wrong.sum()):
        return f"{_place(wrong)}: not a number"
    return None


def _equals_input(given: PatternInput) -> str | None:
    actual = given.comparison.actual
    if actual.numel() < 2:
        return None
    for name, value in given.inputs.items():
        if value.numel() == actual.numel() and value.dtype == actual.dtype:
            same = actual.flatten() == value.flatten()
            if bool((same | ~given.comparison.wrong.flatten()).all()) and bool(same.any()):
                return f"the wrong elements equal the input `{name}`"
    return None


def _shifted(given: PatternInput) -> str | None:
    """Recognise values that are off by one element along the last dimension."""
    actual, expected = given.comparison.actual.flatten(), given.comparison.expected.flatten()
    if actual.numel() < 4:
        return None
    for offset, direction in ((1, "forward"), (-1, "back")):
        moved = torch.roll(expected, offset)
        inner = slice(1, None) if offset == 1 else slice(None, -1)
        if bool(accepts(actual[inner], moved[inner], given.tolerance).all()):
            return f"every value is one element too far {direction} (off by one)"
    return None


def _negated(given: PatternInput) -> str | None:
    actual, expected = given.comparison.actual, given.comparison.expected
    if expected.dtype.is_floating_point and bool(accepts(actual, -expected, given.tolerance).all()):
        return "every element has the wrong sign"
    return None


def _scaled(given: PatternInput) -> str | None:
    """Recognise a constant factor in all elements."""
    comparison = given.comparison
    actual, expected = comparison.actual.double(), comparison.expected.double()
    usable = torch.isfinite(actual) & torch.isfinite(expected) & (expected.abs() > 1e-6)
    if int(usable.sum()) < 4:
        return None
    ratios = actual[usable] / expected[usable]
    factor = float(ratios.median())
    # Near 1 the spread must be small, so that mostly right elements do not look like a factor.
    spread = min(1e-3 * abs(factor), 0.2 * abs(factor - 1.0))
    if factor in (0.0, 1.0) or not bool(((ratios - factor).abs() <= spread).all()):
        return None
    digits = 4 if abs(factor - 1.0) > 1e-3 else 7
    return f"every element is {factor:.{digits}g} times the expected value"


def _transposed(given: PatternInput) -> str | None:
    actual, expected = given.comparison.actual, given.comparison.expected
    if expected.dim() != 2 or expected.numel() < 4:
        return None
    transposed = expected.t().contiguous().view(expected.shape)
    if bool(accepts(actual, transposed, given.tolerance).all()):
        return "the result is transposed: rows and columns are swapped"
    return None


def _tile_transposed(given: PatternInput) -> str | None:
    """Recognise tiles in the right place whose rows and columns are swapped."""
    actual, expected = given.comparison.actual, given.comparison.expected
    if expected.dim() != 2:
        return None
    for side in _TILES:
        down, across = (extent // side for extent in expected.shape)
        if down * across < 2:
            continue
        whole = (slice(down * side), slice(across * side))
        tiles = (down, side, across, side)
        transposed = expected[whole].reshape(tiles).transpose(1, 3)
        if bool(accepts(actual[whole].reshape(tiles), transposed, given.tolerance).all()):
            return f"in every tile of {side} × {side} rows and columns are swapped"
    return None


def _periodic(given: PatternInput) -> str | None:
    place = _alternation(given.comparison.wrong)
    return f"{place} is wrong" if place else None


def _alternation(wrong: torch.Tensor) -> str | None:
    """Name alternating marked and unmarked runs of one length; None if they do not alternate."""
    flat = wrong.flatten()
    edges = (flat[1:] != flat[:-1]).nonzero().flatten() + 1
    if edges.numel() < 3:
        return None
    lengths = torch.diff(edges)
    period = int(lengths[0])
    if not bool((lengths == period).all()) or int(edges[0]) != period:
        return None
    if period == 1:
        return "every second element"
    which = "first" if bool(flat[0]) else "second"
    return f"every second block of {period} elements, starting with the {which},"


def _region(given: PatternInput) -> str | None:
    place = _place(given.comparison.wrong)
    return None if place.startswith(("elements", "all")) else place


def _place(wrong: torch.Tensor) -> str:
    """Name the marked elements."""
    flat = wrong.flatten()
    total, count = flat.numel(), int(flat.sum())
    if count == total:
        return "all elements"
    alternation = _alternation(wrong)
    if alternation:
        return alternation.rstrip(",")
    first = int(flat.nonzero()[0])
    last = int(flat.nonzero()[-1])
    if wrong.dim() == 2 and count > 1:
        rows, columns = wrong.any(dim=1), wrong.any(dim=0)
        for lines, other, word in (
            (rows, wrong.shape[1], "row"),
            (columns, wrong.shape[0], "column"),
        ):
            marked = lines.nonzero().flatten()
            if count == marked.numel() * other and marked.numel() <= lines.numel() // 2:
                return _lines(marked, lines.numel(), word)
    contiguous = last - first + 1 == count
    if contiguous and last == total - 1:
        return "only the last element" if count == 1 else f"only the last {count} elements"
    if contiguous and first == 0:
        return "only the first element" if count == 1 else f"only the first {count} elements"
    if count == 1:
        return f"only element {first}"
    if contiguous:
        return f"only elements {first} to {last}"
    return f"elements between {first} and {last}"


def _lines(marked: torch.Tensor, total: int, word: str) -> str:
    count = marked.numel()
    if int(marked[0]) == total - count:
        return f"only the last {word}" if count == 1 else f"only the last {count} {word}s"
    if count == 1:
        return f"only {word} {int(marked[0])}"
    return f"only {count} {word}s, the first of them {int(marked[0])}"


_DETECTORS: tuple[Callable[[PatternInput], str | None], ...] = (
    _never_written,
    _torn,
    _not_a_number,
    _constant,
    _negated,
    _shifted,
    _transposed,
    _tile_transposed,
    _equals_input,
    _scaled,
    _periodic,
    _region,
)
