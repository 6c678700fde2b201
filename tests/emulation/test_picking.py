"""Elements are picked and set by their bits, whatever their type."""

from __future__ import annotations

import pytest
import torch

from grader.emulation.common.picking import put, same, some_of

TYPES = ("bool", "uint8", "float8_e5m2", "float16", "bfloat16", "int32", "float64", "complex64")


@pytest.mark.parametrize("word", TYPES)
def test_masks_and_places_pick_the_same_elements_as_in_torch(word: str) -> None:
    values = torch.tensor([[0.0, 1.0, 0.0], [3.0, 0.5, 2.0]]).to(getattr(torch, word))
    mask = torch.tensor([[True, False, True], [False, False, True]])
    picked = some_of(values, mask)
    assert picked.dtype is values.dtype
    assert picked.tolist() == [values[0, 0].item(), values[0, 2].item(), values[1, 2].item()]
    places = torch.tensor([5, 0, 3])
    assert some_of(values.view(-1), places).tolist() == [values.view(-1)[i].item() for i in places]
    assert some_of(values, torch.tensor([False, True])).tolist() == [values[1].tolist()]


@pytest.mark.parametrize("word", TYPES)
def test_picked_elements_are_copies_and_are_set_where_they_came_from(word: str) -> None:
    values = torch.tensor([1.0, 0.0, 2.0, 0.0]).to(getattr(torch, word))
    mask = torch.tensor([True, False, True, False])
    picked = some_of(values, mask)
    values.zero_()
    assert picked.tolist() != [0, 0]
    put(values, mask, picked)
    assert values.tolist()[::2] == picked.tolist()
    assert not any(values.tolist()[1::2])


def test_rows_of_an_expanded_block_can_be_picked() -> None:
    block = torch.tensor([[7], [8]], dtype=torch.int32).expand(2, 3)
    mask = torch.tensor([[False, True, True], [False, False, True]])
    assert some_of(block, mask).tolist() == [7, 7, 8]


def test_the_last_of_two_elements_for_one_place_counts() -> None:
    target = torch.zeros(3, dtype=torch.int16)
    put(target, torch.tensor([1, 1]), torch.tensor([5, 6], dtype=torch.int16))
    assert target.tolist() == [0, 6, 0]


def test_bytes_are_compared() -> None:
    one = torch.arange(100, dtype=torch.uint8)
    assert same(one, one.clone())
    assert not same(one, one.flip(0))
