"""SiLU's oracle: inputs that find mistakes, and precise expected values."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.judge.oracle import Oracle
from grader.vocabulary import Device, Language, Visibility

SILU = REPOSITORY / "assignments" / "silu"


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    return read_assignment(SILU)


@pytest.fixture(scope="module")
def oracle(assignment: Assignment) -> Oracle:
    return Oracle(assignment)


def case(n: int = 4099, *, seed: int = 1, values: str = "random") -> Case:
    return Case(
        name=f"n={n}", sizes={"n": n}, values=values, visibility=Visibility.VISIBLE, seed=seed
    )


def numbers(
    oracle: Oracle, n: int = 4099, *, seed: int = 1, values: str = "random"
) -> tuple[torch.Tensor, torch.Tensor]:
    data = oracle.data(case(n, seed=seed, values=values), Language.CUDA)
    return data.inputs["input"], data.expected["output"]


@pytest.mark.parametrize("values", ["random", "edges"])
def test_seed_determines_the_data(oracle: Oracle, values: str) -> None:
    one, same, other = (numbers(oracle, seed=seed, values=values) for seed in (1, 1, 2))
    assert one[0].equal(same[0])
    assert one[1].equal(same[1])
    assert not one[0].equal(other[0])
    assert not one[1].equal(other[1])


def test_inputs_are_float32_and_expected_values_float64(oracle: Oracle) -> None:
    given, expected = numbers(oracle)
    assert (given.dtype, expected.dtype) == (torch.float32, torch.float64)
    assert given.shape == expected.shape == (4099,)
    # Computed in float64, not widened from float32.
    assert (expected != expected.float().double()).any()


@pytest.mark.parametrize("values", ["random", "edges"])
def test_expected_values_are_the_formula(oracle: Oracle, values: str) -> None:
    given, expected = numbers(oracle, 257, values=values)
    for x, y in zip(given.tolist(), expected.tolist(), strict=True):
        sigmoid = 1 / (1 + math.exp(-x)) if x > -700 else 0.0
        assert y == pytest.approx(x * sigmoid, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("n", [1, 31, 10007])
@pytest.mark.parametrize("values", ["random", "edges"])
def test_every_size_is_filled_with_finite_numbers(oracle: Oracle, n: int, values: str) -> None:
    given, expected = numbers(oracle, n, values=values)
    assert given.isfinite().all()
    assert expected.isfinite().all()


def test_edges_are_all_there_with_ordinary_values_among_them(oracle: Oracle) -> None:
    given, _ = numbers(oracle, values="edges")
    found = {(value, math.copysign(1, value)) for value in given.tolist()}
    for edge in (0.0, 20.0, 88.0, 89.0, 1e-30, 1e30, 3.4e38):
        near = torch.tensor(edge).item()
        assert {(near, 1.0), (-near, -1.0)} <= found
    assert any(0 < abs(value) < 1.17549435e-38 for value, _ in found), "a subnormal"
    assert len(found) > 2000


def allowed(expected: torch.Tensor, assignment: Assignment) -> torch.Tensor:
    tolerance = assignment.tolerances[Language.CUDA]
    return tolerance.atol + tolerance.rtol * expected.abs()


WRONG: Mapping[str, object] = {
    "constant": lambda x: torch.zeros_like(x),
    "identity": lambda x: x,
    "relu": torch.relu,
    "sigmoid alone": torch.sigmoid,
    "gelu": torch.nn.functional.gelu,
    "the sign turned": lambda x: x * torch.sigmoid(-x),
    "half precision on the way": lambda x: torch.nn.functional.silu(x.half()).float(),
    "off by one": lambda x: torch.nn.functional.silu(x).roll(1),
    "last element forgotten": lambda x: torch.nn.functional.silu(x) * (
        torch.arange(len(x)) < len(x) - 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_data_tells_a_mistake_from_the_right_answer(
    mistake: str, oracle: Oracle, assignment: Assignment
) -> None:
    wrong = WRONG[mistake]
    assert callable(wrong)
    for seed in range(5):
        given, expected = numbers(oracle, 1025, seed=seed)
        accepted = (wrong(given).double() - expected).abs() <= allowed(expected, assignment)
        assert not accepted.all()


@pytest.mark.parametrize("values", ["random", "edges"])
def test_baseline_is_accepted(oracle: Oracle, assignment: Assignment, values: str) -> None:
    given, expected = numbers(oracle, values=values)
    output = torch.full_like(given, math.nan)
    oracle._module.baseline({"input": given}, {"output": output})
    assert ((output.double() - expected).abs() <= allowed(expected, assignment)).all()


def test_cases_have_the_seams_of_a_grid_and_hidden_ones(assignment: Assignment) -> None:
    for device in Device:
        for language in Language:
            drawn = assignment.draw_cases(device, language, public_seed=0, secret_seed=1)
            sizes = {item.sizes["n"] for item in drawn}
            assert {1, 31, 32, 33, 1000, 1023, 1024, 1025} <= sizes
            assert {item.values for item in drawn} == {"random", "edges"}
            assert sum(item.visibility is Visibility.HIDDEN for item in drawn) >= 3
            assert max(sizes) == 1000003
