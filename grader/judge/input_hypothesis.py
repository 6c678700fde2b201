"""Explain wrong results as those of other inputs: "as if every element of `weight` were 1".

The oracle computes what a classic mistake would give: an argument left out, read with another
stride or through a narrower type, a sum that ends too early. A hypothesis is reported only if all
elements agree with it within the tolerance and enough of them are wrong, so that chance is ruled
out. It is a hint, never part of a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from grader.assignment.cases import Case
from grader.assignment.model import Tolerance
from grader.assignment.signature import Signature
from grader.judge.compare import Comparison, accepts, accepts_all
from grader.judge.oracle import CaseData, Oracle

_LEAST = 8  # wrong elements; fewer agree with a hypothesis by chance
_MOST_ELEMENTS = 2**16  # of an output, and 16 times as many of the inputs: bounds the time
_TILES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_USUAL_SCALARS = (1e-5, 1e-6, 1e-8, 1e-3)

# A sentence, and the arguments of the oracle that it stands for.
Hypothesis = tuple[str, Mapping[str, Any]]


def explain(
    oracle: Oracle,
    signature: Signature,
    case: Case,
    data: CaseData,
    comparison: Comparison,
    tolerance: Tolerance,
) -> str | None:
    """Return the hypothesis that all elements of the output agree with, None if there is none."""
    inputs = sum(value.numel() for value in data.inputs.values())
    if comparison.wrong.numel() > _MOST_ELEMENTS or inputs > 16 * _MOST_ELEMENTS:
        return None
    if int(comparison.wrong.sum()) < _LEAST:
        return None
    if not bool(torch.isfinite(comparison.actual.double()).all()):
        return None
    # What is compared exactly for its own sake has no rounding errors of a sum in another order.
    loose = Tolerance(atol=4 * tolerance.atol, rtol=4 * tolerance.rtol, exact=tolerance.exact)
    scalars = {argument.name for argument in signature.scalars}
    closest: tuple[float, str] | None = None
    expected = comparison.expected
    for sentence, changed in _hypotheses(signature, case, data.inputs, comparison.output):
        arguments = {**oracle.arguments(case, data.inputs), **changed}
        other = oracle.expected(case, arguments)[comparison.output]
        if closest is not None and not changed.keys() <= scalars:
            break  # another number for a scalar explains it, and nothing is simpler
        agrees = accepts_all(comparison.actual, other, loose)
        # The hypothesis must predict something else than what is expected.
        if agrees and int((~accepts(other, expected, tolerance)).sum()) >= _LEAST // 2:
            if not changed.keys() <= scalars:
                return sentence
            apart = float((comparison.actual.double() - other).abs().max())
            if closest is None or apart < closest[0] / 2:
                closest = apart, sentence
    return closest[1] if closest else None


def _hypotheses(
    signature: Signature, case: Case, inputs: Mapping[str, torch.Tensor], output: str
) -> Iterator[Hypothesis]:
    for argument in signature.scalars:
        given = signature.scalar(argument, case.sizes)
        if isinstance(given, float):
            for other in (0.0, *_USUAL_SCALARS):
                if other != given:
                    yield (
                        f"the result is that of `{argument.name}` = {other:g}",
                        {argument.name: other},
                    )
    for name, value in inputs.items():
        if value.is_floating_point():
            yield from _other_values(name, value)
    for name, value in inputs.items():
        if value.dim() == 2 and min(value.shape) > 1:
            shape = next(array.shape for array in signature.arrays if array.name == name) or ()
            yield from _other_strides(name, value, shape[1].text, case.sizes)
    yield from _other_sums(signature, inputs, output)


def _other_values(name: str, value: torch.Tensor) -> Iterator[Hypothesis]:
    """Yield a factor left out, its first element used for all, and narrower types."""
    yield f"the result is that of `{name}` = 1 in every element", {name: torch.ones_like(value)}
    if value.dim() == 1:
        first = value[:1].expand(value.shape).clone()
        yield f"the result is that of `{name}`[0] in the place of every element", {name: first}
    whole = value.trunc()
    if bool(torch.isfinite(whole).all()):
        yield f"the result is that of `{name}` cut to whole numbers", {name: whole}
    if value.dtype is torch.float32:
        yield (
            f"the result is that of `{name}` rounded to float16",
            {name: value.to(torch.float16).to(value.dtype)},
        )
        yield (
            f"the result is that of `{name}` rounded to bfloat16",
            {name: value.to(torch.bfloat16).to(value.dtype)},
        )


def _other_strides(
    name: str, value: torch.Tensor, width: str, sizes: Mapping[str, int | float]
) -> Iterator[Hypothesis]:
    """Yield a matrix read as if it were stored by columns, or with rows of another length."""
    rows, columns = value.shape
    flat = value.flatten()
    swapped = flat.view(columns, rows).t().contiguous()
    yield f"the result is that of `{name}` read with row and column swapped", {name: swapped}
    row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    for size, stride in sizes.items():
        if not isinstance(stride, int) or stride == columns:
            continue
        at = row * stride + column
        if int(at.max()) < flat.numel():
            yield (
                f"the result is that of `{name}` with rows `{size}` elements apart, not `{width}`",
                {name: flat[at]},
            )


def _other_sums(
    signature: Signature, inputs: Mapping[str, torch.Tensor], output: str
) -> Iterator[Hypothesis]:
    """Yield sums over an axis that the output lacks, with other terms than all of them."""
    arrays = {array.name: array for array in signature.arrays}
    kept = {extent.text for extent in arrays[output].shape or ()}
    for name, value in inputs.items():
        for axis, extent in enumerate(arrays[name].shape or ()):
            size = extent.text
            if size in kept or value.shape[axis] < 2:
                continue
            for sentence, weights in _terms(size, value.shape[axis]):
                shape = [1] * value.dim()
                shape[axis] = -1
                yield sentence, {name: value * weights.view(shape).to(value.dtype)}
            return  # the axis is the same in the other factor


def _terms(size: str, extent: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield which terms of a sum are counted how often."""
    index = torch.arange(extent)
    yield f"the sum over `{size}` lacks its last term", (index < extent - 1).double()
    yield f"the sum over `{size}` lacks its first term", (index > 0).double()
    yield f"only the last term of the sum over `{size}` is there", (index == extent - 1).double()
    for tile in _TILES:
        whole = extent // tile * tile
        last = (extent - 1) // tile * tile
        # Without the last tile, be it whole or in part.
        for end in {whole, last} - {0, extent, extent - 1}:
            yield (
                f"the sum over `{size}` lacks its last {extent - end} of {extent} terms",
                (index < end).double(),
            )
        if tile < extent:
            yield (
                f"only the first {tile} of {extent} terms of the sum over `{size}` are there",
                (index < tile).double(),
            )
            yield (
                f"the first {tile} of {extent} terms of the sum over `{size}` are counted twice",
                1 + (index < tile).double(),
            )
            yield (
                f"the last tile of the sum over `{size}` is counted twice",
                1 + (index >= last).double(),
            )
            yield (
                f"the sum over `{size}` lacks the last term of each tile of {tile}",
                (index % tile != tile - 1).double(),
            )
