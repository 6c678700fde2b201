"""Explain a factor of whole rows: a mean or a root that a kernel computes differently.

A norm divides a row by a number that it computes from the row. The factors of all rows are compared
with what classic mistakes would give: a sum that ends early or is divided by something else. If
each thread uses a sum of its own, the factor differs within a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import torch

_TILES = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
_BLOCKS = (32, 64, 128, 256, 512, 1024)  # threads of a block
_MOST_TIMES = 16
_CLOSE = 3e-4  # relative; sums are in float32
_CLOSE_ALONE = 3e-5  # the same, if one factor has to prove it
_LEAST = 1e-2  # a factor nearer to 1 proves nothing


def explain(factors: torch.Tensor, mistakes: Iterable[tuple[str, torch.Tensor]]) -> str | None:
    """Return the one of `mistakes` that gives these factors, one for each row; None without one."""
    if float((factors - 1).abs().max()) < _LEAST:
        return None
    close = _CLOSE if factors.numel() > 1 else _CLOSE_ALONE
    for sentence, predicted in mistakes:
        if bool(((factors - predicted).abs() <= close * factors.abs()).all()):
            return sentence
    return None


def mistakes(
    shape: tuple[int, ...],
    inputs: Mapping[str, torch.Tensor],
    sizes: Mapping[str, int | float],
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield mistakes, with the factors that they give for the rows of an output of this shape.

    Its last axis is a row.
    """
    for name, value in inputs.items():
        if tuple(value.shape) != shape or not value.is_floating_point():
            continue
        rows = value.double().view(-1, shape[-1])
        others = {
            key: other.double()
            for key, other in inputs.items()
            if key != name and other.shape == rows.shape[1:] and other.is_floating_point()
        }
        for epsilon in _epsilons(sizes):
            yield from _mistakes(name, rows, others, epsilon)


def explain_shares(
    factors: torch.Tensor, expected: torch.Tensor, inputs: Mapping[str, torch.Tensor]
) -> str | None:
    """Return the mistake in the sum that gives these factors, if each row's elements sum to 1.

    So the elements of a softmax do. `expected` is (rows, columns).
    """
    shares = expected.double()
    if not _sum_to_1(shares) or float((factors - 1).abs().max()) < _LEAST:
        return None
    for sentence, predicted in _sums_of_shares(shares, inputs):
        if bool(((factors - predicted).abs() <= _CLOSE * factors.abs()).all()):
            return sentence
    return None


def _sums_of_shares(
    shares: torch.Tensor, inputs: Mapping[str, torch.Tensor]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield mistakes in the sum of a row, with their factors."""
    ones = torch.ones(shares.shape[0], dtype=torch.float64)
    for number in sorted({*range(2, _MOST_TIMES + 1), *_TILES}):
        yield f"each term is in the sum {number} times", ones / number
    yield from _partial(shares, lambda kept: 1 / kept)
    for value in inputs.values():
        if value.numel() != shares.numel() or not value.is_floating_point():
            continue
        # The share of an element that is 0, beside the largest of its row.
        x, largest = value.double().view(shares.shape), shares.max(dim=1)
        of_zero = largest.values * (-x.gather(1, largest.indices[:, None])[:, 0]).exp()
        for tile in _TILES:
            yield (
                "the sum counts elements past the end of the row as zeros, exp(0) each, up to a "
                f"multiple of {tile}",
                1 / (1 + -shares.shape[1] % tile * of_zero),
            )


def _sum_to_1(rows: torch.Tensor) -> bool:
    return bool((rows >= 0).all()) and bool(((rows.sum(dim=1) - 1).abs() < 1e-3).all())


def explain_own_shares(factors: torch.Tensor, expected: torch.Tensor) -> str | None:
    """Return the same for rows whose elements sum to 1, and a factor for each element.

    `factors` and `expected` are (rows, columns); NaN where the expected value is too small.
    """
    shares, known = expected.double(), ~torch.isnan(factors)
    if not _sum_to_1(shares) or int(((factors - 1).abs() > _LEAST)[known].sum()) < 8:
        return None
    for sentence, group in _groups(torch.arange(factors.shape[1])):
        parts = torch.zeros(factors.shape[0], int(group.max()) + 1, dtype=torch.float64)
        own = 1 / parts.index_add(1, group, shares)[:, group]
        if bool((((factors - own).abs() <= _CLOSE * factors.abs()) | ~known).all()):
            return sentence.replace("the root of ", "")
    return None


def explain_within(
    factors: torch.Tensor, inputs: Mapping[str, torch.Tensor], sizes: Mapping[str, int | float]
) -> str | None:
    """Return the mistake that gives these factors, one for each element of the rows.

    `factors` is (rows, columns); NaN where the expected value is too small for a factor.
    """
    known = ~torch.isnan(factors)
    if int(((factors - 1).abs() > _LEAST)[known].sum()) < 8:
        return None
    columns = torch.arange(factors.shape[1])
    for value in inputs.values():
        if value.numel() != factors.numel() or not value.is_floating_point():
            continue
        squares = value.double().view(factors.shape).square()
        whole = squares.sum(dim=1, keepdim=True)
        for sentence, group in _groups(columns):
            parts = torch.zeros(factors.shape[0], int(group.max()) + 1, dtype=torch.float64)
            own = parts.index_add(1, group, squares)[:, group]
            for epsilon in _epsilons(sizes):
                predicted = _ratio(whole, own, factors.shape[1], epsilon)
                if bool((((factors - predicted).abs() <= _CLOSE * factors.abs()) | ~known).all()):
                    return sentence
    return None


def _groups(columns: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield which columns a thread adds up that uses no sum but its own, or its warp's."""
    for block in _BLOCKS:
        if block < columns.numel():
            yield (
                f"each of {block} threads uses its own sum, not that of all threads of the block",
                columns % block,
            )
        if block > 32:
            yield (
                f"each warp of a block of {block} threads uses its own sum, not that of the block",
                columns % block // 32,
            )
    for tile in _TILES:
        if tile < columns.numel():
            yield (
                f"each {tile} elements of the row are divided by the root of their own sum",
                columns // tile,
            )
    yield "each thread uses its own sum, not that of all threads of the block", columns


def _epsilons(sizes: Mapping[str, int | float]) -> tuple[float, ...]:
    """Return what may be added to the mean, as it is passed to the kernel."""
    return (0.0, *(value for value in sizes.values() if isinstance(value, float)))


def _ratio(whole: torch.Tensor, other: torch.Tensor, length: int, epsilon: float) -> torch.Tensor:
    """Return the factor of a result that has the `other` sum in the place of the `whole`."""
    return ((whole / length + epsilon) / (other / length + epsilon)).sqrt()


def _mistakes(
    name: str, rows: torch.Tensor, others: Mapping[str, torch.Tensor], epsilon: float
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield mistakes in the root of the mean square of a row, with their factors."""
    length = rows.shape[1]
    squares = rows.square()
    whole = squares.sum(dim=1)
    mean = whole / length + epsilon
    plain = rows.sum(dim=1)

    def ratio(other: torch.Tensor) -> torch.Tensor:
        return _ratio(whole, other, length, epsilon)

    yield "the sum is not divided by the length of the row", ratio(whole * length)
    if epsilon:
        yield "the sum of the row is 0 where it is used", ratio(torch.zeros_like(whole))
    root = (whole + epsilon).rsqrt()
    yield (
        "the division by the length of the row stands outside the root",
        root / length * mean.sqrt(),
    )
    for number in sorted({*range(2, _MOST_TIMES + 1), *_TILES} - {length}):
        yield f"each term is in the sum {number} times", ratio(whole * number)
    for number in (*_TILES, length - 1, rows.shape[0]):
        if number not in (0, 1, length):
            what = f"the number of rows ({number})" if number == rows.shape[0] else str(number)
            yield (
                f"the sum is divided by {what}, not by the length of the row ({length})",
                ratio(whole * length / number),
            )
        if number not in (0, 1, length):
            words = f"the sum is divided by {number} as well as by the length of the row"
            yield words, ratio(whole / number)
    for part in (4, 2, 8):
        if length // part > 1:
            yield (
                f"the sum is divided by {length // part}, the number of groups of {part}, not by "
                f"the length of the row ({length})",
                ratio(whole * length / (length // part)),
            )
    yield "the sum is divided by the length of the row twice", ratio(whole / length)
    yield "the sum is cut to a whole number", ratio(whole.trunc())
    yield "the mean is cut to a whole number", ratio((whole / length).trunc() * length)
    yield "the root of the mean square is missing", mean.rsqrt()
    yield "it is multiplied by the root of the mean square, not divided", mean
    yield "the division by the root of the mean square is missing", mean.sqrt()
    if epsilon:
        exact = whole / length
        yield "epsilon is added to the root, not under it", mean.sqrt() / (exact.sqrt() + epsilon)
        yield (
            "epsilon is added to the sum, not to the mean",
            ratio(whole + epsilon - length * epsilon),
        )
        yield "epsilon is left out", (mean / exact).sqrt()
    if bool((plain > 0).all()):
        yield f"the sum is of the elements of `{name}`, not of their squares", ratio(plain)
    yield (
        f"the sum is of the absolute values of `{name}`, not of their squares",
        ratio(rows.abs().sum(dim=1)),
    )
    largest = squares.max(dim=1).values
    yield "the largest square of the row stands in the place of their sum", ratio(largest)
    yield "the square of the sum is taken, not the sum of the squares", ratio(plain.square())
    yield (
        "the variance is taken, not the mean square: the mean is subtracted before the squares",
        ratio(whole - plain.square() / length),
    )
    for key, other in others.items():
        yield (
            f"the sum is of the squares of `{key}`",
            ratio(other.square().sum().expand(whole.shape)),
        )
        mixed = (rows * other).sum(dim=1)
        if bool((mixed > 0).all()):
            yield f"the sum is of `{name}` times `{key}`, not of squares", ratio(mixed)
        yield (
            f"the sum is of the squares of `{name}` times `{key}`",
            ratio((rows * other).square().sum(dim=1)),
        )
    if rows.shape[0] > 1:
        yield "every row is divided by the root of row 0", ratio(whole[:1].expand(whole.shape))
        yield "the sum is not set back to 0 between rows", ratio(whole.cumsum(dim=0))
    yield from _partial(squares, ratio)


def _partial(
    squares: torch.Tensor, ratio: Callable[[torch.Tensor], torch.Tensor]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield sums that lack elements of the row, with their factors."""
    length = squares.shape[1]
    columns = torch.arange(length)
    ends = {length // tile * tile for tile in _TILES} | {*_TILES, length - 1}
    for end in sorted(end for end in ends if 0 < end < length):
        yield (
            f"the sum has only the first {end} of {length} elements of the row"
            if end < length - 1 or end == 1 or end % 32 == 0  # a step of the loop
            else f"the sum lacks the last of {length} elements of the row",
            ratio(squares[:, :end].sum(dim=1)),
        )
    for block in _BLOCKS:
        thread = columns % block
        parts = {
            f"only the sum of thread 0 of {block} is used, not that of all threads": thread == 0,
            f"only the sum of the first warp of a block of {block} threads is used": thread < 32,
            f"only the sums of the first {block // 2} of {block} threads are added up": thread
            < block // 2,
            f"the sum of thread 0 of {block} is left out": thread > 0,
            f"the sum of the last of {block} threads is left out": thread < block - 1,
        }
        last = columns >= (length - 1) // block * block
        words = f"the last {int(last.sum())} of {length}"
        parts[f"the sum has only {words} elements of the row"] = last
        for sentence, kept in parts.items():
            if 0 < int(kept.sum()) < length:
                yield sentence, ratio(squares[:, kept].sum(dim=1))
    for tile in _TILES:
        if tile < length:
            yield (
                f"the sum counts elements from {tile} on twice, from {2 * tile} on three times, "
                "and so on",
                ratio((squares * (columns // tile + 1)).sum(dim=1)),
            )
    yield (
        f"the sum lacks the first of {length} elements of the row",
        ratio(squares[:, 1:].sum(dim=1)),
    )
    yield "the sum has only every second element of the row", ratio(squares[:, ::2].sum(dim=1))
