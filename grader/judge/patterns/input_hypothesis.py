"""Explain wrong results as those of other inputs: "as if every element of `weight` were 1".

The oracle computes what a classic mistake would give: an argument left out, read with another
stride or through a narrower type, a sum that ends too early. A hypothesis is reported only if all
elements agree with it within the tolerance and enough of them are wrong, so that chance is ruled
out. It is a hint, never part of a verdict.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from grader.assignment.cases import Case
from grader.assignment.signature import Signature
from grader.assignment.tolerance import Tolerance
from grader.errors import GraderError
from grader.judge.compare import Comparison, accepts, accepts_all, has_arithmetic, parts
from grader.judge.oracle import CaseData, Oracle
from grader.judge.patterns import subset_hypothesis

_LEAST = 8  # wrong elements; fewer agree with a hypothesis by chance
_MOST_ELEMENTS = 2**16  # of an output, and 16 times as many of the inputs: bounds the time
_TILES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_LEAST_TILE = 8  # terms of a tile in a loop that loads tiles
_LEAST_SCALAR = 1e-2  # of a smaller one, as an epsilon is, twice as much fits as well
_SHORT = 128  # terms: one of them is larger than what rounding to float16 changes
_MOST_DOUBLED = 12  # tiles: more leave the range of float16
_USUAL_SCALARS = (1e-5, 1e-6, 1e-8, 1e-3)

# Begins a sentence that holds for the wrong elements only.
WHERE_WRONG = "where it is wrong, "

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
    given = sum(value.numel() for value in data.inputs.values())
    if comparison.wrong.numel() > _MOST_ELEMENTS or given > 16 * _MOST_ELEMENTS:
        return None
    if subset := subset_hypothesis.explain(oracle, signature, case, data, comparison):
        return subset
    if int(comparison.wrong.sum()) < _LEAST:
        return None
    if not bool(torch.isfinite(comparison.actual.double()).all()):
        return None
    # What is compared exactly for its own sake has no rounding errors of a sum in another order.
    loose = Tolerance(atol=4 * tolerance.atol, rtol=4 * tolerance.rtol, exact=tolerance.exact)
    scalars = {argument.name for argument in signature.scalars}
    closest: tuple[float, str] | None = None
    expected, wrong = comparison.expected, comparison.wrong
    partly: str | None = None
    # Zeros, or any one number, agree with too much.
    where = torch.nonzero(wrong.flatten()).flatten()
    bad = comparison.actual.flatten()[where]
    varied = len(torch.unique(bad)) >= _LEAST // 2
    some = varied and len(where) < wrong.numel()

    def outcome(changed: Mapping[str, Any]) -> torch.Tensor:
        arguments = {**oracle.arguments(case, data.inputs), **changed}
        try:
            return parts(oracle.expected(case, arguments)[comparison.output])
        except GraderError:  # `inputs` makes no such values, such as an index beyond a table
            return torch.full_like(parts(comparison.expected), torch.nan, dtype=torch.float64)

    inputs = {name: value for name, value in data.inputs.items() if has_arithmetic(value)}

    def outcomes() -> Iterator[tuple[str, bool, torch.Tensor]]:
        for sentence, changed in _hypotheses(signature, case, inputs, comparison):
            yield sentence, changed.keys() <= scalars, outcome(changed)

    for sentence, of_scalar, other in data.kept(("inputs", comparison.output), outcomes()):
        if closest is not None and not of_scalar:
            break  # another number for a scalar explains it, and nothing is simpler
        agrees = accepts_all(comparison.actual, other, loose)
        # Another number for a scalar is wrong everywhere.
        here = some and not agrees and partly is None and not of_scalar
        there = other.flatten()[where] if here else other
        if here and accepts_all(bad, there, loose) and _differs(there, comparison, loose):
            partly = f"{WHERE_WRONG}{sentence}"
        # The hypothesis must predict something else than what is expected.
        if agrees and int((~accepts(other, expected, tolerance)).sum()) >= _LEAST // 2:
            if not of_scalar:
                return sentence
            apart = float((comparison.actual.double() - other).abs().max())
            if closest is None or apart < closest[0] / 2:
                closest = apart, sentence
    if closest is not None or partly is not None:
        return closest[1] if closest is not None else partly
    if exchanged := _exchanged_sizes(oracle, signature, case, data, comparison):
        return exchanged
    summed = next(_summed(signature, comparison.output), None)
    if summed is None:
        return None
    name, axis, _ = summed
    extent = data.inputs[name].shape[axis]
    floats = {name: value for name, value in inputs.items() if value.is_floating_point()}
    return _short_sum(
        comparison, outcome({name: value.abs() for name, value in floats.items()}), extent
    )


def _differs(there: torch.Tensor, comparison: Comparison, loose: Tolerance) -> bool:
    """True if a hypothesis predicts other values than the expected ones for most wrong elements."""
    expected = comparison.expected[comparison.wrong]
    return 2 * int(accepts(there, expected, loose).sum()) < there.numel()


def _exchanged_sizes(
    oracle: Oracle, signature: Signature, case: Case, data: CaseData, comparison: Comparison
) -> str | None:
    """Recognise two sizes that are exchanged: the same memory, seen as another matrix.

    Possible where every array has both sizes or none, so that none gets another length.
    """
    whole = {name: size for name, size in case.sizes.items() if isinstance(size, int)}
    for one, other in itertools.combinations(whole, 2):
        extents = [{extent.text for extent in array.shape or ()} for array in signature.arrays]
        if whole[one] == whole[other] or any(len({one, other} & used) == 1 for used in extents):
            continue
        if not any({one, other} <= used for used in extents):
            continue
        swapped = replace(case, sizes={**case.sizes, one: whole[other], other: whole[one]})
        inputs = {
            array.name: data.inputs[array.name].reshape(signature.shape(array, swapped.sizes))
            for array in signature.arrays
            if array.name in data.inputs
        }
        try:
            seen = oracle.expected(swapped, oracle.arguments(swapped, inputs))[comparison.output]
        except GraderError:  # the oracle has no result for such sizes
            continue
        flat = Tolerance(atol=0.0, rtol=2**-10)
        if bool(accepts(comparison.actual.flatten(), seen.flatten(), flat).all()):
            return f"the result is that with `{one}` and `{other}` exchanged"
    return None


def _short_sum(comparison: Comparison, magnitude: torch.Tensor, extent: int) -> str | None:
    """Recognise errors that only a sum in a short type makes: they follow the terms, not the sum.

    The sum has `extent` terms. `magnitude` is the result for inputs without their signs, as large
    as all terms together.
    """
    error = (comparison.actual.double() - comparison.expected.double()).abs()
    usable = (magnitude > 0) & torch.isfinite(magnitude)
    if comparison.actual.dtype is torch.float16 and bool(usable.all()) and extent <= _SHORT:
        # More than the result's own rounding, less than any term of such a sum.
        over = error > 2**-10 * comparison.expected.double().abs() + 2**-24
        if int(over.sum()) >= _LEAST and float((error / magnitude).max()) < 2**-9:
            return (
                "the errors are small beside the terms, at most "
                f"2^{round(math.log2(float((error / magnitude).max())))} of all of them: products "
                "or the sum is kept in float16"
            )
    # Without cancellation the errors are relative to the result, which another pattern says.
    cancels = usable & (magnitude > 8 * comparison.expected.double().abs())
    if 2 * int(cancels.sum()) < cancels.numel() or not bool(usable.any()):
        return None
    relative = (error / magnitude)[usable]
    largest, middle = float(relative.max()), float(relative.median())
    if middle > 2**-14 and largest < 2**-8:
        short = "the sum is kept in float16"
        if comparison.actual.dtype is torch.float32:
            short = "they are rounded to TF32 or float16, or their sum is"
        return (
            "the errors follow the size of the terms, about "
            f"2^{round(math.log2(middle))} of their sum: {short}"
        )
    return None


def _hypotheses(
    signature: Signature,
    case: Case,
    inputs: Mapping[str, torch.Tensor],
    comparison: Comparison,
) -> Iterator[Hypothesis]:
    for argument in signature.scalars:
        given = signature.scalar(argument, case.sizes)
        if isinstance(given, float):
            for other in (0.0, 1.0, *_USUAL_SCALARS):
                if other != given:
                    yield (
                        f"the result is that of `{argument.name}` = {other:g}",
                        {argument.name: other},
                    )
            # After 0: a small number's square is as good as 0.
            yield (
                f"the result is that of `{argument.name}` = the square of itself",
                {argument.name: given * given},
            )
            for words, other in _other_scalars(given, case.sizes):
                yield f"the result is that of `{argument.name}` {words}", {argument.name: other}
    arrays = {array.name: array for array in signature.arrays}
    for name, value in inputs.items():
        if value.is_floating_point():
            yield from _other_values(name, value)
        if arrays[name].role.written:
            sentence = f"the result is that of `{name}` with zeros at the beginning"
            yield sentence, {name: torch.zeros_like(value)}
    for name, value in inputs.items():
        if value.dim() == 2 and min(value.shape) > 1:
            shape = next(array.shape for array in signature.arrays if array.name == name) or ()
            yield from _other_strides(name, value, shape[1].text, case.sizes)
    yield from _other_sums(signature, inputs, comparison.output)
    for name, value in inputs.items():
        if value.is_floating_point() and value.dim() in (1, 2):
            yield from _other_elements(name, value, case.sizes)
    for name, value in inputs.items():
        expected = comparison.expected
        if value.shape == expected.shape and value.is_floating_point():
            yield f"the formula is applied twice to `{name}`", {name: expected.to(value.dtype)}
    for name, value in inputs.items():
        for peer, values in inputs.items():
            if name == peer or value.shape != values.shape or value.dtype != values.dtype:
                continue
            if name < peer:
                yield f"`{name}` and `{peer}` are exchanged", {name: values, peer: value}
            sentence = f"the result is that of `{peer}` in the place of `{name}`"
            yield sentence, {name: values}


def _other_scalars(given: float, sizes: Mapping[str, int | float]) -> Iterator[tuple[str, float]]:
    """Yield what may be done to a scalar that the formula has as it is."""
    if abs(given) < _LEAST_SCALAR:
        return
    yield "with the opposite sign", -given
    yield "times 2", 2 * given
    yield "divided by 2", given / 2
    yield "in the denominator: divided, not multiplied", 1 / given
    for size, number in sizes.items():
        if isinstance(number, int) and number > 1:
            yield f"divided by the root of `{size}`", given / math.sqrt(number)
            yield f"times the root of `{size}`", given * math.sqrt(number)
            yield f"divided by `{size}`", given / number
            yield f"times `{size}`", given * number


def _other_values(name: str, value: torch.Tensor) -> Iterator[Hypothesis]:
    """Yield a factor left out, its first element used for all, and narrower types."""
    yield f"the result is that of `{name}` = 1 in every element", {name: torch.ones_like(value)}
    if value.dim() == 1:
        first = value[:1].expand(value.shape).clone()
        yield f"the result is that of `{name}`[0] in the place of every element", {name: first}
    yield f"the result is that of `{name}` with the opposite sign", {name: -value}
    yield f"the result is that of the absolute value of `{name}`", {name: value.abs()}
    yield f"the result is that of the square of `{name}`", {name: value * value}
    yield f"the result is that of `{name}` times 2", {name: value * 2}
    yield f"the result is that of `{name}` divided by 2", {name: value / 2}
    yield f"the result is that of `{name}` + 1", {name: value + 1}
    if bool((value != 0).all()):
        yield f"the result is that of 1 / `{name}`", {name: 1 / value}
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
    for tile in _TILES[:5]:
        if tile < max(rows, columns):
            turned = {name: _tiles_turned(value, tile)}
            yield (
                f"the result is that of `{name}` with row and column swapped within each tile of "
                f"{tile}×{tile}",
                turned,
            )
    row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    strides = {stride: f"`{size}`" for size, stride in sizes.items() if isinstance(stride, int)}
    # A block's size in the place of a size; beyond the columns it would leave the array.
    fixed = [tile for tile in (*_TILES[2:], 2048) if tile not in strides]
    strides |= {tile: str(tile) for tile in fixed if columns // 8 < tile < columns}
    for stride, words in strides.items():
        at = row * stride + column
        if stride != columns and int(at.max()) < flat.numel():
            yield (
                f"the result is that of `{name}` with rows {words} elements apart, not `{width}`",
                {name: flat[at]},
            )


def _tiles_turned(value: torch.Tensor, tile: int) -> torch.Tensor:
    """Return the matrix with each of its tiles transposed; past its edges are zeros."""
    rows, columns = value.shape
    padded = torch.nn.functional.pad(value, (0, -columns % tile, 0, -rows % tile))
    down, across = padded.shape[0] // tile, padded.shape[1] // tile
    turned = padded.view(down, tile, across, tile).transpose(1, 3).reshape(padded.shape)
    return turned[:rows, :columns].contiguous()


def _other_elements(
    name: str, value: torch.Tensor, sizes: Mapping[str, int | float]
) -> Iterator[Hypothesis]:
    """Yield an input of which one part is read again and again, or a neighbour of each element."""
    words = ("row", "column") if value.dim() == 2 else ("element",)
    for where, away in (("after", -1), ("before", 1)):
        # At the end there is no neighbour: what is read there is not known.
        moved = value.flatten().roll(away).view(value.shape)
        yield f"the result is that of `{name}` with the element {where} each one", {name: moved}
        if value.dim() == 2:
            sentence = f"the result is that of `{name}` with the row {where} each one"
            yield sentence, {name: value.roll(away, 0)}
    for axis, word in enumerate(words):
        extent = value.shape[axis]
        index = torch.arange(extent)
        for size, length in sizes.items():
            if isinstance(length, int) and 1 < length < extent and length not in _TILES:
                yield (
                    f"the result is that of `{name}` with {word} j % `{size}` in the place of "
                    f"{word} j",
                    {name: value.index_select(axis, index % length)},
                )
        if value.dim() == 2 and extent > 1:
            first = value.index_select(axis, torch.zeros_like(index))
            yield (
                f"the result is that of `{name}` with {word} 0 in the place of every {word}",
                {name: first},
            )
        for tile in (*_TILES, 2048, 4096, 8192):
            if tile < extent:
                yield (
                    f"the result is that of `{name}` with its first {tile} {word}s in the place of "
                    f"every {tile}",
                    {name: value.index_select(axis, index % tile)},
                )
            if axis == 0 and value.dim() == 2 and 8 <= tile < extent:
                row, column = index[:, None], torch.arange(value.shape[1])
                at = row % tile * value.shape[1] + column + row // tile * tile
                yield (
                    f"the result is that of `{name}` with each tile of {tile} rows read {tile} "
                    f"elements after the one before, not {tile} rows",
                    {name: value.flatten()[at.clamp_max(value.numel() - 1)]},
                )
            if 8 <= tile < extent <= 64 * tile:
                yield (
                    f"the result is that of `{name}` with tile t, of {tile} {word}s, read from "
                    f"{word} t on, not from {word} {tile} t",
                    {name: value.index_select(axis, index // tile + index % tile)},
                )


def _other_sums(
    signature: Signature, inputs: Mapping[str, torch.Tensor], output: str
) -> Iterator[Hypothesis]:
    """Yield sums over an axis that the output lacks, with other terms than all of them."""
    for name, axis, size in _summed(signature, output):
        value = inputs.get(name)
        if value is None or value.shape[axis] < 2:
            continue
        for sentence, weights in _terms(size, value.shape[axis]):
            shape = [1] * value.dim()
            shape[axis] = -1
            yield sentence, {name: value * weights.view(shape).to(value.dtype)}
        return  # the axis is the same in the other factor


def _summed(signature: Signature, output: str) -> Iterator[tuple[str, int, str]]:
    """Yield the axes of inputs that the output lacks: input, axis, extent in words."""
    arrays = {array.name: array for array in signature.arrays}
    kept = {extent.text for extent in arrays[output].shape or ()}
    for name, array in arrays.items():
        for axis, extent in enumerate(array.shape or ()):
            if array.role.read and extent.text not in kept:
                yield name, axis, extent.text


def _terms(size: str, extent: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield which terms of a sum are counted how often."""
    index = torch.arange(extent)
    yield f"the sum over `{size}` lacks its last term", (index < extent - 1).double()
    yield f"the sum over `{size}` lacks its first term", (index > 0).double()
    yield f"only the last term of the sum over `{size}` is there", (index == extent - 1).double()
    yield f"only the first term of the sum over `{size}` is there", (index == 0).double()
    yield f"the sum over `{size}` has only every second term", (index % 2 == 0).double()
    for tile in _TILES:
        whole = extent // tile * tile
        last = (extent - 1) // tile * tile
        # Without the last tile, be it whole or in part.
        for end in {whole, last} - {0, extent, extent - 1}:
            yield (
                f"the sum over `{size}` lacks its last {extent - end} of {extent} terms",
                (index < end).double(),
            )
        tiles = -(-extent // tile) if tile >= _LEAST_TILE else 1
        for back, which in ((1, "the one before it"), (2, "the second one before it")):
            if back < tiles and tiles > 2:  # of two tiles, the first is there again and again
                old = ((index // tile) == tiles - 1 - back).double()
                yield (
                    f"the last tile of the sum over `{size}` ({extent - last} of {extent} terms) "
                    f"is left out, and {which} is there twice",
                    (index < last).double() + old,
                )
        if tiles >= 3:
            yield (
                f"the sum over `{size}` has only every second tile of {tile}",
                (index // tile % 2 == 0).double(),
            )
        if 3 <= tiles <= _MOST_DOUBLED:
            yield (
                f"the sum over `{size}` so far is doubled with each tile of {tile}",
                2.0 ** (tiles - 1 - index // tile),
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
                f"the first {tile} of {extent} terms of the sum over `{size}` are added again for "
                "each tile",
                (index < tile).double() * -(-extent // tile),
            )
            yield (
                f"the last tile of the sum over `{size}` is counted twice",
                1 + (index >= last).double(),
            )
            yield (
                f"the sum over `{size}` lacks the last term of each tile of {tile}",
                (index % tile != tile - 1).double(),
            )
            yield (
                f"the sum over `{size}` lacks the first term of each tile of {tile}",
                (index % tile != 0).double(),
            )
            yield (
                f"the sum over `{size}` lacks its first {tile} of {extent} terms",
                (index >= tile).double(),
            )
            yield (
                f"only the last {extent - last} of {extent} terms of the sum over `{size}` "
                "are there",
                (index >= last).double(),
            )
            yield (
                f"the sum over `{size}` has only the first term of each tile of {tile}",
                (index % tile == 0).double(),
            )
            yield (
                f"the sum over `{size}` has only the last term of each tile of {tile}",
                (index % tile == tile - 1).double(),
            )
