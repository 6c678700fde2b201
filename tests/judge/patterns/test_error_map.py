"""The picture of wrong elements: bounded, and each element in the right cell."""

from __future__ import annotations

import pytest
import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import compare
from grader.judge.patterns.error_map import SIDE, error_map, keep_one_map
from grader.report.evidence import CaseResult, ErrorMap
from grader.report.verdict import Verdict
from grader.vocabulary import Visibility

TOLERANCE = Tolerance(atol=0.1, rtol=0.0, exact=False)


def drawn(shape: tuple[int, ...], wrong: list[int], unwritten: list[int] = []) -> ErrorMap:  # noqa: B006
    actual, never = torch.zeros(shape), torch.zeros(shape, dtype=torch.bool)
    for number in (*wrong, *unwritten):
        actual.view(-1)[number] = 1.0
    for number in unwritten:
        never.view(-1)[number] = True
    found = error_map(compare("output", actual, torch.zeros(shape).double(), TOLERANCE), never)
    assert found is not None
    return found


def test_a_matrix_keeps_its_shape() -> None:
    found = drawn((2, 3), [1], [5])
    assert found.cells == (".x.", "..-")
    assert (found.rows, found.columns, found.cell_rows, found.cell_columns) == (2, 3, 1, 1)


def test_a_vector_is_laid_out_in_rows() -> None:
    found = drawn((130,), [64], [129])
    assert found.cells == ("." * 64, "x" + "." * 63, ".-" + " " * 62)
    assert (found.rows, found.columns) == (3, 64)


def test_a_wrong_element_marks_its_cell() -> None:
    found = drawn((256, 512), [3 * 512 + 8], [0])
    assert (found.cell_rows, found.cell_columns) == (4, 8)
    assert found.cells[0][:3] == "-x."
    assert "".join(found.cells).count(".") == 64 * 64 - 2


def test_more_than_two_dimensions_become_rows() -> None:
    found = drawn((2, 3, 4), [4])
    assert (found.rows, found.columns) == (6, 4)
    assert found.cells[1] == "x..."


@pytest.mark.parametrize(
    "shape", [(1,), (63,), (4096,), (4097,), (100_003,), (65, 1), (1, 65), (1000, 3), (129, 4099)]
)
def test_the_picture_is_bounded_and_has_every_element(shape: tuple[int, ...]) -> None:
    last = 1
    for extent in shape:
        last *= extent
    found = drawn(shape, [last - 1])
    assert len(found.cells) <= SIDE
    assert max(map(len, found.cells)) <= SIDE
    assert "".join(found.cells).count("x") == 1
    assert "".join(found.cells).rstrip(" ").endswith("x")


def test_no_element_no_picture() -> None:
    nothing = torch.zeros(0)
    compared = compare("output", nothing, nothing.double(), TOLERANCE)
    assert error_map(compared, nothing.bool()) is None


def case(name: str, shape: tuple[int, ...], wrong: int, visible: bool = True) -> CaseResult:
    found = drawn(shape, list(range(wrong)))
    return CaseResult(
        name=name,
        visibility=Visibility.VISIBLE if visible else Visibility.HIDDEN,
        sizes={},
        verdict=Verdict.WRONG_ANSWER,
        message="",
        elements=torch.Size(shape).numel(),
        mismatched=wrong,
        error_map=found,
    )


def test_one_case_of_each_visibility_keeps_its_picture() -> None:
    cases = [
        case("few", (300,), 1),
        case("narrow", (300, 1), 200),
        case("right one", (30, 30), 200),
        case("large", (300, 300), 200),
        case("tiny", (3, 3), 9),
        case("hidden", (20, 20), 20, visible=False),
    ]
    kept = [one.name for one in keep_one_map(cases) if one.error_map is not None]
    assert kept == ["right one", "hidden"]


def test_without_a_large_case_the_largest_is_kept() -> None:
    kept = keep_one_map([case("one", (1,), 1), case("more", (9, 9), 40)])
    assert [one.error_map is not None for one in kept] == [False, True]
