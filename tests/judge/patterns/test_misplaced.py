"""Right values in wrong places, and the rule for the places."""

from __future__ import annotations

import pytest
import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import compare
from grader.judge.patterns.misplaced import explain

N = 1000
TOLERANCE = Tolerance(atol=1e-7, rtol=1e-6)
Values = torch.Tensor
Y = torch.randperm(N, generator=torch.Generator().manual_seed(1)).double() + 1
AT = torch.arange(N)


@pytest.mark.parametrize(
    ("actual", "rule"),
    [
        (Y.roll(-7), None),  # the end does not follow the rule
        (torch.where(AT < N - 7, Y.roll(-7), Y), "every wrong value is 7 elements too far back"),
        (Y[AT % 64], "every block of 64 elements repeats the first 64 of the result"),
        (Y[AT // 32 * 32], "within each block of 32 elements all are the first one"),
        (Y[AT // 8 * 8 + 7 - AT % 8], "the order is reversed within each block of 8 elements"),
        (Y[torch.randperm(N, generator=torch.Generator().manual_seed(2))], None),
        (Y + 0.5, None),
    ],
)
def test_the_places_of_a_vector(actual: Values, rule: str | None) -> None:
    assert explain(compare("y", actual.float(), Y, TOLERANCE), TOLERANCE) == rule


MATRIX = Y.view(20, 50)
ROW, COLUMN = torch.meshgrid(torch.arange(20), torch.arange(50), indexing="ij")


@pytest.mark.parametrize(
    ("row", "column", "rule"),
    [
        (ROW * 0, COLUMN, "every row repeats row 0"),
        (ROW, COLUMN * 0, "every column repeats column 0"),
        (ROW, COLUMN % 16, "the first 16 columns are repeated across the result"),
        (ROW % 8, COLUMN, "the first 8 rows are repeated down the result"),
        ((ROW + 2).clamp_max(19), COLUMN, None),
    ],
)
def test_the_places_of_a_matrix(row: Values, column: Values, rule: str | None) -> None:
    actual = MATRIX[row, column].float()
    assert explain(compare("y", actual, MATRIX, TOLERANCE), TOLERANCE) == rule


def test_values_that_are_expected_everywhere_tell_nothing() -> None:
    expected = (AT % 3).double()
    actual = expected.roll(1).float()
    assert explain(compare("y", actual, expected, TOLERANCE), TOLERANCE) is None
