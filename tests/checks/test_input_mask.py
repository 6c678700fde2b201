"""The cover over inputs: off again bit by bit, whatever the size, and random until then."""

from __future__ import annotations

import pytest
import torch

from grader.checks.performance.input_mask import InputMask

MEBIBYTE = 1 << 20


@pytest.fixture
def cover() -> InputMask:
    return InputMask(torch.Generator().manual_seed(1))


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize(
    "size", [0, 1, 7, 8, 4004, MEBIBYTE - 1, MEBIBYTE, MEBIBYTE + 12, 3 * MEBIBYTE + 13]
)
def test_it_comes_off_again(cover: InputMask, size: int, in_place: bool) -> None:
    data = torch.arange(size).to(torch.uint8)
    covered = data.clone() if in_place else torch.zeros_like(data)
    cover.turn(covered if in_place else data, out=covered)
    assert torch.equal(data, torch.arange(size).to(torch.uint8))
    assert size == 0 or not torch.equal(covered[-12:], data[-12:])
    again = torch.zeros_like(data)
    cover.turn(covered, out=again)
    assert torch.equal(again, data)


def test_every_bit_is_as_good_as_random(cover: InputMask) -> None:
    zeros = torch.zeros(MEBIBYTE, dtype=torch.uint8)
    covered = torch.empty_like(zeros)
    cover.turn(zeros, out=covered)
    for bit in range(8):
        share = float((covered >> bit & 1).float().mean())
        assert share == pytest.approx(0.5, abs=0.005)


def test_another_one_has_nothing_to_do_with_it(cover: InputMask) -> None:
    zeros = torch.zeros(MEBIBYTE, dtype=torch.uint8)
    first, second = torch.empty_like(zeros), torch.empty_like(zeros)
    cover.turn(zeros, out=first)
    cover.renew()
    cover.turn(zeros, out=second)
    assert float((first != second).float().mean()) == pytest.approx(255 / 256, abs=0.002)
