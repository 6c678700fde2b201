"""Explain wrong elements as right values in wrong places: "33 elements too far back".

If the expected values are all different, each wrong element that has one of them tells where its
value belongs. A rule that gives the places of all of them is reported. It is a hint, never part of
a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import Comparison, allowed

_LEAST = 8  # wrong elements; fewer follow a rule by chance
_MOST = 2**20  # elements: bounds the time
_SEARCHED = 8  # wrong elements that decide whether it is worth to sort the others
_BLOCKS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_ALONE = 0.8  # of the wrong elements: the values of the others are expected at several places


def explain(comparison: Comparison, tolerance: Tolerance) -> str | None:
    """Return the rule that all wrong elements follow, None if there is none."""
    found = _where_they_belong(comparison, tolerance)
    if found is None:
        return None
    at, belongs = found
    for sentence, source in _rules(at, belongs, comparison.expected):
        if bool((source == belongs).all()):
            return sentence
    return None


def _where_they_belong(
    comparison: Comparison, tolerance: Tolerance
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return the places of wrong elements, and for each the one where its value is expected.

    Elements whose value is expected at several places are left out. None if the value of one is
    expected nowhere, or if too many are left out.
    """
    expected = comparison.expected.double().flatten()
    actual = comparison.actual.double()[comparison.wrong]
    if actual.numel() < _LEAST or not _LEAST <= expected.numel() <= _MOST:
        return None
    if not bool(torch.isfinite(actual).all()) or not bool(torch.isfinite(expected).all()):
        return None
    margin = allowed(actual, tolerance)
    few = actual[:_SEARCHED, None]  # sorting takes longer
    if bool(((expected - few).abs().amin(dim=1) > margin[:_SEARCHED]).any()):
        return None
    ordered, places = expected.sort()
    last = ordered.numel() - 1
    above = torch.searchsorted(ordered, actual).clamp_max(last)
    below = (above - 1).clamp_min(0)
    near = torch.where(
        (ordered[below] - actual).abs() < (ordered[above] - actual).abs(), below, above
    )
    if not bool(((ordered[near] - actual).abs() <= margin).all()):
        return None
    alone = torch.ones_like(near, dtype=torch.bool)
    for step in (-1, 1):
        other = (near + step).clamp(0, last)
        alone &= ((ordered[other] - actual).abs() > 2 * margin) | (other == near)
    if int(alone.sum()) < max(_LEAST, _ALONE * alone.numel()):
        return None
    return comparison.wrong.flatten().nonzero().flatten()[alone], places[near][alone]


def _rules(
    at: torch.Tensor, belongs: torch.Tensor, expected: torch.Tensor
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield sentences, and where the values would belong if they were true."""
    total = expected.numel()
    step = int(belongs[at.numel() // 2] - at[at.numel() // 2])
    width = expected.shape[-1] if expected.dim() == 2 else 0
    if step:
        away, direction = abs(step), "forward" if step < 0 else "back"
        rows, rest = divmod(away, width) if width else (0, away)
        if width > 1 and rest == 0:
            what = f"{rows} row{'s' * (rows > 1)} too far {'down' if step < 0 else 'up'}"
        elif away == 1:
            what = f"one element too far {direction} (off by one)"
        else:
            what = f"{away} elements too far {direction}"
        yield f"every wrong value is {what}", at + step
    for block in _BLOCKS:
        if block >= total:
            break
        first = at // block * block
        yield f"every block of {block} elements repeats the first {block} of the result", at % block
        yield f"within each block of {block} elements all are the first one", first
        size = (total - first).clamp_max(block)
        yield (
            f"the order is reversed within each block of {block} elements",
            first + size - 1 - at % block,
        )
    if width > 1 and expected.shape[0] > 1:
        yield "every row repeats row 0", at % width
        yield "every column repeats column 0", at // width * width
        for block in _BLOCKS:
            row, column = at // width, at % width
            if block < width:
                yield (
                    f"the first {block} columns are repeated across the result",
                    row * width + column % block,
                )
            if block < expected.shape[0]:
                yield (
                    f"the first {block} rows are repeated down the result",
                    row % block * width + column,
                )
