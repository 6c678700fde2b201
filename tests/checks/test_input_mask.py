"""The mask over inputs: unmasking restores every bit, for every size; masked data looks random."""

from __future__ import annotations

import pytest
import torch

from grader.checks.performance.input_mask import InputMask

MEBIBYTE = 1 << 20


@pytest.fixture
def mask() -> InputMask:
    return InputMask(torch.Generator().manual_seed(1))


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize(
    "size", [0, 1, 7, 8, 4004, MEBIBYTE - 1, MEBIBYTE, MEBIBYTE + 12, 3 * MEBIBYTE + 13]
)
def test_it_comes_off_again(mask: InputMask, size: int, in_place: bool) -> None:
    data = torch.arange(size).to(torch.uint8)
    masked = data.clone() if in_place else torch.zeros_like(data)
    mask.apply(masked if in_place else data, out=masked)
    assert torch.equal(data, torch.arange(size).to(torch.uint8))
    assert size == 0 or not torch.equal(masked[-12:], data[-12:])
    again = torch.zeros_like(data)
    mask.apply(masked, out=again)
    assert torch.equal(again, data)


def test_every_bit_is_as_good_as_random(mask: InputMask) -> None:
    zeros = torch.zeros(MEBIBYTE, dtype=torch.uint8)
    masked = torch.empty_like(zeros)
    mask.apply(zeros, out=masked)
    for bit in range(8):
        share = float((masked >> bit & 1).float().mean())
        assert share == pytest.approx(0.5, abs=0.005)


def test_another_one_has_nothing_to_do_with_it(mask: InputMask) -> None:
    zeros = torch.zeros(MEBIBYTE, dtype=torch.uint8)
    first, second = torch.empty_like(zeros), torch.empty_like(zeros)
    mask.apply(zeros, out=first)
    mask.renew()
    mask.apply(zeros, out=second)
    assert float((first != second).float().mean()) == pytest.approx(255 / 256, abs=0.002)
