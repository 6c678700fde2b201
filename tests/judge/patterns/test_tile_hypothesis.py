"""A product of matrices with one wrong index, of a tile or of a whole matrix."""

from __future__ import annotations

import pytest
import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import compare
from grader.judge.patterns.tile_hypothesis import explain

TOLERANCE = Tolerance(atol=1e-6, rtol=2e-6)
GENERATOR = torch.Generator().manual_seed(1)
A = torch.randn(20, 24, generator=GENERATOR, dtype=torch.float64)
B = torch.randn(24, 22, generator=GENERATOR, dtype=torch.float64)


@pytest.mark.parametrize(
    ("actual", "said"),
    [
        (A @ B, None),
        (
            torch.einsum("ip,pi->i", A, B[:, :20])[:, None].expand(20, 22),
            "the sum has `b`[p][row] in the place of `b`[p][col], for row and col of the result",
        ),
        (A @ B + 1, None),
    ],
)
def test_a_wrong_index(actual: torch.Tensor, said: str | None) -> None:
    comparison = compare("c", actual.float().contiguous(), A @ B, TOLERANCE)
    assert explain(comparison, {"a": A, "b": B}, TOLERANCE) == said
