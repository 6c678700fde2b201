"""Wrong elements that another formula gives, and mistakes that no formula explains."""

from __future__ import annotations

import pytest
import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import Comparison, compare
from grader.judge.patterns import formula_hypothesis

N = 1000
TOLERANCE = Tolerance(atol=1e-6, rtol=1e-5)
Values = torch.Tensor
GENERATOR = torch.Generator().manual_seed(1)
X = 3 * torch.randn(N, generator=GENERATOR, dtype=torch.float64) + 0.5
SILU = X / (1 + (-X).exp())


def compared(actual: Values, expected: Values = SILU) -> Comparison:
    return compare("y", actual.float(), expected, TOLERANCE)


@pytest.mark.parametrize(
    ("actual", "formula"),
    [
        (X.clamp_min(0), "max(x, 0)"),
        (X.tanh(), "tanh(x)"),
        (X / (1 + X.exp()), "x / (1 + exp(x))"),
        (1 / (1 + (-X).exp()), "1 / (1 + exp(-x))"),
        (X + (-X).exp(), "x / 1 + exp(-x), without brackets around the sum"),
        (X / (1 + (-X).exp()) * 1.001, None),
        (X / (1 + (-1.1 * X).exp()), None),
        (torch.randn(N, generator=GENERATOR), None),
    ],
)
def test_another_formula_of_the_input(actual: Values, formula: str | None) -> None:
    found = formula_hypothesis.same_formula(compared(actual), {"x_in": X.float()}, TOLERANCE)
    assert found == (formula and f"every element is {formula}, where x is `x_in`")


@pytest.mark.parametrize(
    ("actual", "words"),
    [
        (X / (1 + (-1.702 * X).exp()), "every element is x / (1 + exp(-1.702 x)), where x is `x`"),
        (1e-5 * X.clamp(1, 2), None),  # near 0, as with any large negative factor
    ],
)
def test_another_factor_in_the_exponent(actual: Values, words: str | None) -> None:
    inputs = {"x": (X if words else X.clamp(1, 2)).float()}
    assert formula_hypothesis.scaled_exponent(compared(actual), inputs, TOLERANCE) == words


@pytest.mark.parametrize(
    ("actual", "words"),
    [
        (SILU + X, "`x` is added to every element of the result"),
        (SILU / X + X, "`x` is added in every element, where it is a factor"),
        (SILU / X / X, "every element is divided by `x`, where it is a factor"),
        (SILU - X, "`x` is subtracted from every element of the result"),
        (SILU + 0.25, "every element is 0.25 too large"),
        (SILU - 0.25, "every element is 0.25 too small"),
        (SILU + 0.25 * X, None),
        (SILU + torch.rand(N, generator=GENERATOR), None),
    ],
)
def test_what_is_added_to_the_result(actual: Values, words: str | None) -> None:
    assert formula_hypothesis.added(compared(actual), {"x": X.float()}, TOLERANCE) == words


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (X > 4, "`x` is 4.0"),
        (X < 0, "`x` is negative"),
        (X.abs() > 3, "|`x`| is 3.0"),
        (torch.rand(N, generator=GENERATOR) > 0.5, None),
        (torch.arange(N) < 100, None),
        ((X > 4) & (torch.arange(N) % 2 == 0), None),
    ],
)
def test_the_range_of_the_input_where_elements_are_wrong(wrong: Values, words: str | None) -> None:
    comparison = compared(torch.where(wrong, SILU + 1, SILU))
    found = formula_hypothesis.wrong_range(comparison, {"x": X.float()})
    if words is None:
        assert found is None
    else:
        assert str(found).startswith(f"wrong exactly where {words}")


def test_elements_that_are_right_because_they_are_zero_name_no_range() -> None:
    x = torch.where(torch.arange(N) % 20 < 10, X, torch.zeros(N).double())
    comparison = compared(2 * x, x)
    assert formula_hypothesis.wrong_range(comparison, {"x": x.float()}) is None


def test_infinite_results_where_an_exponential_overflows() -> None:
    x = 60 * X
    expected = x / (1 + (-x).exp())
    power = x.float().exp()
    comparison = compare("y", x.float() * power / (1 + power), expected, TOLERANCE)
    found = formula_hypothesis.wrong_range(comparison, {"x": x.float()})
    assert str(found).startswith("not finite exactly where `x` is 8")


def test_an_array_of_another_type_that_is_read_as_float() -> None:
    doubles = SILU.contiguous().view(torch.float32)[:N]
    found = formula_hypothesis.reinterpreted(compared(doubles, SILU))
    assert found == "the bytes are those of an array of `double`, read as float"
    assert formula_hypothesis.reinterpreted(compared(SILU.roll(1))) is None


ROWS, WEIGHT = X.view(10, 100), torch.rand(100, generator=GENERATOR, dtype=torch.float64) + 0.5
SCALE = ROWS.square().mean(dim=1, keepdim=True).rsqrt()


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (ROWS.mean(dim=1, keepdim=True), "the mean of the row is subtracted from each element"),
        (SCALE**-2, "the mean square of the row is subtracted from each element"),
        (torch.rand(10, 1, generator=GENERATOR) + 1, "a number of each row's own is subtracted"),
        (torch.rand(10, 100, generator=GENERATOR) + 1, None),
        (0.0, None),
    ],
)
def test_what_is_subtracted_from_a_row(offset: Values | float, words: str | None) -> None:
    expected = ROWS * SCALE * WEIGHT
    comparison = compared((ROWS - offset) * SCALE * 1.01 * WEIGHT, expected)
    inputs = {"x": ROWS.float(), "weight": WEIGHT.float()}
    found = formula_hypothesis.row_offset(comparison, inputs)
    assert found is None if words is None else str(found).startswith(words)
