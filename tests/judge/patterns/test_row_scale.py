"""Factors of rows, and of elements within a row, that a wrong mean square gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from grader.judge.patterns import row_scale

LENGTH = 777
EPSILON = 1e-3
Values = torch.Tensor
GENERATOR = torch.Generator().manual_seed(3)
X = torch.randn(4, LENGTH, generator=GENERATOR, dtype=torch.float64) + 0.3
WEIGHT = torch.rand(LENGTH, generator=GENERATOR, dtype=torch.float64) + 0.5
SIZES = {"rows": 4, "cols": LENGTH, "epsilon": EPSILON}
COLUMN = torch.arange(LENGTH)


def root(square_sums: Values, length: float = LENGTH, epsilon: float = EPSILON) -> Values:
    return (square_sums / length + epsilon).sqrt()


def total(x: Values) -> Values:
    return x.square().sum(dim=1)


RIGHT = root(total(X))


@pytest.mark.parametrize(
    ("divisor", "words"),
    [
        (root(total(X), 256), "the sum is divided by 256, not by the length of the row (777)"),
        (root(total(X), 4), "the sum is divided by the number of rows (4), not by"),
        (root(2 * total(X)), "each term is in the sum 2 times"),
        (root(total(X[:, COLUMN % 256 == 0])), "only the sum of thread 0 of 256 is used"),
        (root(total(X[:, COLUMN % 256 < 32])), "only the sum of the first warp of a block of 256"),
        (root(total(X[:, :256])), "the sum has only the first 256 of 777 elements"),
        (root(total(X * (COLUMN // 256 + 1).sqrt())), "the sum counts elements from 256 on twice"),
        (root(X.square().max(dim=1).values), "the largest square of the row stands in the place"),
        (root(total(X)[:1].expand(4)), "every row is divided by the root of row 0"),
        (root(total(X).cumsum(0)), "the sum is not set back to 0 between rows"),
        (root(total(X - X.mean(dim=1, keepdim=True))), "the variance is taken"),
        (root(WEIGHT.square().sum().expand(4)), "the sum is of the squares of `weight`"),
        (root(X.abs().sum(dim=1)), "the sum is of the absolute values of `x`"),
        (root(total(X), epsilon=0) + 0.2, None),
        (RIGHT * 1.37, None),
        (RIGHT * (torch.rand(4, generator=GENERATOR) + 1.2), None),
    ],
)
def test_a_factor_of_each_row(divisor: Values, words: str | None) -> None:
    inputs = {"x": X, "weight": WEIGHT}
    mistakes = row_scale.mistakes((4, LENGTH), inputs, SIZES)
    found = row_scale.explain(RIGHT / divisor, mistakes)
    assert found is None if words is None else str(found).startswith(words)


def own(group: Values) -> Values:
    """Return the factors if each group of columns divides by the root of its own sum."""
    sums = torch.zeros(4, int(group.max()) + 1).double().index_add(1, group, X.square())
    return RIGHT[:, None] / root(sums)[:, group]


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        (lambda: own(COLUMN % 256), "each of 256 threads uses its own sum"),
        (lambda: own(COLUMN % 128 // 32), "each warp of a block of 128 threads uses its own sum"),
        (lambda: own(COLUMN // 64), "each 64 elements of the row are divided"),
        (lambda: own(COLUMN % 100), None),
        (lambda: torch.rand(4, LENGTH, generator=GENERATOR).double() + 1.2, None),
        (lambda: torch.ones(4, LENGTH).double(), None),
    ],
)
def test_a_factor_of_each_thread(factors: Callable[[], Values], words: str | None) -> None:
    found = row_scale.explain_within(factors(), {"x": X}, SIZES)
    assert found is None if words is None else str(found).startswith(words)


SHARES = torch.softmax(3 * X, dim=1)


@pytest.mark.parametrize(
    ("total", "words"),
    [
        (SHARES[:, :256].sum(dim=1), "the sum has only the first 256"),
        (torch.full((4,), 32.0).double(), "each term is in the sum 32 times"),
        (
            1 + (-LENGTH % 8192) * SHARES[:, 0] * (-3 * X[:, 0]).exp(),
            "the sum counts elements past the end of the row as zeros",
        ),
        (torch.tensor([1.1, 1.3, 1.2, 1.7]).double(), None),
        (torch.ones(4).double(), None),
    ],
)
def test_the_sum_of_a_softmax(total: Values, words: str | None) -> None:
    found = row_scale.explain_shares(1 / total, SHARES, {"x": 3 * X})
    assert found is None if words is None else str(found).startswith(words)


def test_each_thread_has_its_own_sum_of_a_softmax() -> None:
    group = COLUMN % 32
    own = torch.zeros(4, 32).double().index_add(1, group, SHARES)
    found = row_scale.explain_own_shares(1 / own[:, group], SHARES)
    assert str(found).startswith("each of 32 threads uses its own sum")
    assert row_scale.explain_own_shares(1 / own[:, group], X) is None
