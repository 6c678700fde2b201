"""A factor of every element that is read from another place."""

from __future__ import annotations

import pytest
import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import compare
from grader.judge.patterns.moved_factor import explain

GENERATOR = torch.Generator().manual_seed(1)
X = torch.rand(3, 100, generator=GENERATOR, dtype=torch.float64) + 0.5
WEIGHT = torch.rand(100, generator=GENERATOR, dtype=torch.float64) + 0.5
COLUMN = torch.arange(100)
SCALE = torch.tensor([[2.0], [3.0], [5.0]], dtype=torch.float64)
EXPECTED = X * SCALE * WEIGHT


@pytest.mark.parametrize(
    ("actual", "said"),
    [
        (EXPECTED, None),
        (X[:, COLUMN % 32] * SCALE * WEIGHT, "`x`[j % 32] stands in the place of `x`[j]"),
        (X * SCALE * WEIGHT.roll(-1), "`weight`[j + 1] stands in the place of `weight`[j]"),
        (X[:, :1] * SCALE * WEIGHT, "`x`[0] stands in the place of `x`[j]"),
        (X[:, COLUMN % 30] * SCALE * WEIGHT, None),
        (EXPECTED * 1.5, None),
    ],
)
def test_a_factor(actual: torch.Tensor, said: str | None) -> None:
    comparison = compare("y", actual.float(), EXPECTED, Tolerance(rtol=5e-5))
    found = explain(comparison, {"x": X.float(), "weight": WEIGHT.float()})
    assert found is None if said is None else said in str(found)
