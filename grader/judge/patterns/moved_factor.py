"""Explain a factor of every element that is read from another place: "`weight`[j % 256]".

A result that is a product, as of a norm, shows which element of an input stands in it: the actual
value divided by the expected one, times the element that should be there. It is a hint, never part
of a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from grader.judge.compare import Comparison

_LEAST = 8  # wrong elements; fewer agree by chance
_MOST = 2**17  # elements: bounds the time
_CLOSE = 1e-3  # relative
_TILES = (32, 64, 128, 256, 512, 1024, 2048, 4096)


def explain(comparison: Comparison, inputs: Mapping[str, torch.Tensor]) -> str | None:
    """Return which element of an input is used in the place of each element, None if unknown."""
    expected, wrong = comparison.expected, comparison.wrong
    if expected.dim() not in (1, 2) or expected.numel() > _MOST or int(wrong.sum()) < _LEAST:
        return None
    width = expected.shape[-1]
    actual = comparison.actual.double().view(-1, width)
    right = expected.double().view(-1, width)
    if not bool(torch.isfinite(actual).all()):
        return None
    for name, value in inputs.items():
        row = value.dim() == 1 and value.numel() == width
        if not value.is_floating_point() or not (row or value.shape == expected.shape):
            continue
        own = value.double().view(-1, width).expand(right.shape)
        usable = (right.abs() > 1e-6) & (own != 0) & torch.isfinite(own)
        if int((usable & wrong.view(-1, width)).sum()) < _LEAST:
            continue
        seen = torch.where(usable, actual / right * own, 0.0)
        for words, other in _places(own):
            near = (seen - other).abs() <= _CLOSE * other.abs()
            if bool((near & torch.isfinite(other) | ~usable).all()):
                return (
                    f"where the result is formed, `{name}`[{words}] stands in the place of "
                    f"`{name}`[j]"
                )
    return None


def _places(own: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the columns of other places in the place of each, j."""
    column = torch.arange(own.shape[1])
    for tile in _TILES:
        if tile < own.shape[1]:
            yield f"j % {tile}", own[:, column % tile]
    for away in (1, -1):
        yield f"j {'+' if away > 0 else '-'} 1", own.roll(-away, 1)
    yield "0", own[:, :1].expand(own.shape)
