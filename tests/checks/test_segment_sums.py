"""Sums over segments detect changes of an array, also by an attacker who knows how they work."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

from grader.checks.performance.segment_sums import Segments

BIG = 1_000_003  # float32 values: some seven words a segment, and half a word behind the last
WAYS = [Segments.drawn(random.Random(seed)) for seed in range(10)]


def drawn(elements: int, kind: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(elements, generator=torch.Generator().manual_seed(1)).to(kind)


def seen(change: Callable[[torch.Tensor], object], elements: int = BIG) -> list[bool]:
    """Return for each way of cutting whether it detects `change`."""
    array = drawn(elements)
    before = [way.sums(array) for way in WAYS]
    change(array)
    return [not torch.equal(b, way.sums(array)) for b, way in zip(before, WAYS, strict=True)]


@pytest.mark.parametrize("elements", [0, 1, 2, 3, 1001, BIG])
@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.uint8])
def test_what_is_as_it_was_has_equal_sums(elements: int, kind: torch.dtype) -> None:
    array = drawn(elements, kind)
    for way in WAYS:
        assert torch.equal(way.sums(array), way.sums(array.clone()))


@pytest.mark.parametrize("place", [0, 1, BIG // 2, BIG - 2, BIG - 1])
def test_one_changed_element_is_seen(place: int) -> None:
    assert all(seen(lambda array: array[place].add_(1.0)))


def words(array: torch.Tensor) -> torch.Tensor:
    return array[: array.numel() // 2 * 2].view(torch.int64)


def forged(array: torch.Tensor) -> None:
    """Keep the sum of all words only."""
    total = words(array).sum()
    words(array).zero_()
    words(array)[0] = total


def gathered(count: int, first: int) -> Callable[[torch.Tensor], None]:
    """Keep the sum of every `count` neighbours, by changing one of them."""

    def gather(array: torch.Tensor) -> None:
        whole = words(array)[first:]
        groups = whole[: whole.numel() // count * count].view(-1, count)
        totals = groups.sum(dim=1)
        groups.zero_()
        groups[:, 0] = totals

    return gather


def test_a_sum_that_was_kept_is_not_enough() -> None:
    assert all(seen(forged))
    assert all(seen(forged, 1000))


@pytest.mark.parametrize("count", [2, 3, 4, 8])
@pytest.mark.parametrize("first", [0, 1])
def test_sums_of_neighbours_that_were_kept_are_soon_seen(count: int, first: int) -> None:
    # Segments may end where groups do by chance, but not in burst after burst.
    assert sum(seen(gathered(count, first))) >= len(WAYS) // 2
    assert all(seen(gathered(count, first), 1000))


def test_a_big_array_has_few_sums_and_a_small_one_stands_for_itself() -> None:
    for way in WAYS:
        assert way.sums(drawn(BIG)).numel() < 70_000
        assert way.sums(drawn(2000)).tolist() == words(drawn(2000)).tolist()
