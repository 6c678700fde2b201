"""transpose and copy_first_column: elements that cannot be mistaken, moved bit for bit."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.judge.compare import compare, poison_bytes
from grader.judge.oracle import Oracle
from grader.vocabulary import Device, Language, Visibility

ASSIGNMENTS = REPOSITORY / "assignments"
NAMES = ("transpose", "copy_first_column")
INPUT = {"transpose": "input", "copy_first_column": "h_A"}
OUTPUT = {"transpose": "output", "copy_first_column": "d_A"}


@pytest.fixture(scope="module", params=NAMES)
def assignment(request: pytest.FixtureRequest) -> Assignment:
    return read_assignment(ASSIGNMENTS / str(request.param))


def case(rows: int, cols: int, seed: int = 1) -> Case:
    return Case(
        name="", sizes={"rows": rows, "cols": cols}, values="random",
        visibility=Visibility.VISIBLE, seed=seed,
    )  # fmt: skip


def drawn(assignment: Assignment, rows: int, cols: int, seed: int) -> tuple[torch.Tensor, ...]:
    data = Oracle(assignment).data(case(rows, cols, seed), Language.CUDA)
    return data.inputs[INPUT[assignment.name]], data.expected[OUTPUT[assignment.name]]


def moved(assignment: Assignment, matrix: np.ndarray) -> np.ndarray:
    """Do it once more without torch, element by element of the result."""
    rows, cols = matrix.shape
    if assignment.name == "copy_first_column":
        return np.array([matrix[row][0] for row in range(rows)])
    return np.array([[matrix[row][col] for row in range(rows)] for col in range(cols)])


@pytest.mark.parametrize("seed", range(5))
def test_every_element_is_finite_and_unlike_all_others(assignment: Assignment, seed: int) -> None:
    matrix, _ = drawn(assignment, 331, 997, seed)
    assert matrix.isfinite().all()
    assert np.unique(matrix.view(torch.int32).numpy()).size == matrix.numel()


@pytest.mark.parametrize("seed", range(20))
def test_no_pattern_comes_twice_however_large_the_matrix(assignment: Assignment, seed: int) -> None:
    # The pattern's place among the finite ones goes up by one step from element to element,
    # modulo their number: with no factor in common all of them come before the first again.
    finite = 2 * 0x7F800000
    matrix, _ = drawn(assignment, 2, 50, seed)
    bits = [pattern & 0xFFFFFFFF for pattern in matrix.view(torch.int32).flatten().tolist()]
    places = [p if p < finite // 2 else p - 0x80000000 + finite // 2 for p in bits]
    (step,) = {(after - before) % finite for before, after in pairwise(places)}
    assert math.gcd(step, finite) == 1


def test_patterns_reach_both_signs_and_all_exponents(assignment: Assignment) -> None:
    matrix, _ = drawn(assignment, 512, 1024, 1)
    bits = matrix.view(torch.int32)
    assert (bits < 0).any()
    assert np.unique(((bits >> 23) & 0xFF).numpy()).size == 255


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 7), (7, 1), (31, 33), (64, 64)])
def test_expected_values_are_an_independent_computation_s(
    assignment: Assignment, rows: int, cols: int
) -> None:
    matrix, expected = drawn(assignment, rows, cols, 5)
    other = moved(assignment, matrix.numpy().astype(np.float64))
    assert np.array_equal(expected.numpy().view(np.int64), other.view(np.int64))


def test_honest_error_is_zero_and_neighbours_are_never_equal(assignment: Assignment) -> None:
    for seed in range(5):
        matrix, expected = drawn(assignment, 67, 67, seed)
        tolerance = assignment.tolerance(case(67, 67), Language.CUDA, "output")
        right = expected.to(torch.float32)

        def wrong(actual: torch.Tensor) -> int:
            return compare("", actual, expected, tolerance).mismatched  # noqa: B023

        assert wrong(right) == 0
        for shift in (1, -1):
            assert wrong(right.flatten().roll(shift).view(right.shape)) == right.numel()
        # In float16 some 5% of the patterns of float32 are normal numbers, and few of them exact.
        assert wrong(right.half().float()) > 0.99 * right.numel()
        # 67 on the diagonal stand right in the untransposed matrix; one, in the row of a column.
        instead = matrix if assignment.name == "transpose" else matrix[0]
        right_by_chance = 67 if assignment.name == "transpose" else 1
        assert wrong(instead.contiguous()) == right.numel() - right_by_chance
        poison_bytes(expected, torch.float32, tolerance)  # ValueError if the case is unfit


def test_baseline_is_right(assignment: Assignment) -> None:
    oracle = Oracle(assignment)
    matrix, expected = drawn(assignment, 33, 65, 2)
    outputs = {OUTPUT[assignment.name]: torch.zeros(expected.shape)}
    oracle._module.baseline({INPUT[assignment.name]: matrix}, outputs)
    result = outputs[OUTPUT[assignment.name]]
    assert torch.equal(result.view(torch.int32), expected.float().view(torch.int32))


@pytest.mark.parametrize("device", list(Device))
def test_cases_reach_the_seams(assignment: Assignment, device: Device) -> None:
    languages = {language for kernel in assignment.kernels for language in kernel.files}
    for language in languages:
        cases = assignment.draw_cases(device, language, public_seed=1, secret_seed=2)
        shapes = {(int(c.sizes["rows"]), int(c.sizes["cols"])) for c in cases}
        small = {(c.sizes["rows"], c.sizes["cols"]) for c in cases if c.memory}
        for some in (shapes, small):
            assert (1, 1) in some
            assert any(rows == 1 < cols for rows, cols in some)
            assert any(cols == 1 < rows for rows, cols in some)
            assert any(rows % 4 and cols % 4 and rows > 32 < cols for rows, cols in some)
        assert any(rows > 10 * cols for rows, cols in shapes - small)
        assert any(cols > 10 * rows for rows, cols in shapes - small)
        if assignment.name == "transpose":
            assert {(n, n) for n in (31, 32, 33, 63, 64, 65)} <= shapes
            assert any(
                rows % 4 == cols % 4 == 0 and rows % 32 and cols % 32 for rows, cols in small
            )
