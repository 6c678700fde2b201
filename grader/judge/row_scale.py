"""Explain a factor of whole rows: a mean or a root that a kernel computes differently.

A norm divides a row by a number that it computes from the row. The factors of all rows are compared
with what classic mistakes would give: a sum that ends early or is divided by something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

_TILES = (32, 64, 128, 256, 512, 1024, 2048, 4096)
_CLOSE = 3e-4  # relative; epsilon adds to the mean, and sums are in float32
_LEAST = 1e-2  # a factor nearer to 1 proves nothing


def explain(
    factors: torch.Tensor, shape: tuple[int, ...], inputs: Mapping[str, torch.Tensor]
) -> str | None:
    """Return the mistake that gives these factors, one for each row; None if there is none.

    `shape` is that of the output, whose last axis is a row.
    """
    if float((factors - 1).abs().max()) < _LEAST:
        return None
    for name, value in inputs.items():
        if tuple(value.shape) != shape or not value.is_floating_point():
            continue
        for sentence, predicted in _mistakes(name, value.double().view(-1, shape[-1])):
            if bool(((factors - predicted).abs() <= _CLOSE * factors.abs()).all()):
                return sentence
    return None


def _mistakes(name: str, rows: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield mistakes in the root of the mean square of a row, with their factors."""
    length = rows.shape[1]
    squares = rows.square().cumsum(dim=1)
    whole = squares[:, -1]
    mean = whole / length
    one = torch.ones_like(whole)
    yield "the sum is not divided by the length of the row", one / length**0.5
    for number in _TILES:
        if number != length:
            yield f"each term is in the sum {number} times", one / number**0.5
    for number in _TILES:
        if number != length:
            yield (
                f"the sum is divided by {number}, not by the length of the row ({length})",
                one * (number / length) ** 0.5,
            )
    yield "the root of the mean square is missing", mean.rsqrt()
    yield "it is multiplied by the root of the mean square, not divided", mean
    plain = rows.sum(dim=1)
    if bool((plain > 0).all()):
        yield (
            f"the sum is of the elements of `{name}`, not of their squares",
            (whole / plain).sqrt(),
        )
    ends = {length // tile * tile for tile in _TILES} | {*_TILES, length - 1}
    for end in sorted(end for end in ends if 0 < end < length):
        yield (
            f"the sum has only the first {end} of {length} elements of the row",
            (whole / squares[:, end - 1]).sqrt(),
        )
