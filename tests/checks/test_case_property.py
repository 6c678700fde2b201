"""What separates right cases from wrong ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import sample_reports

from grader.checks.correctness.case_property import rest_of_groups, separating_property
from grader.report.evidence import CaseResult
from grader.report.verdict import Verdict
from grader.text.sizes import case_text, sizes_text

# rows, cols
SIZES = [
    {"rows": rows, "cols": cols}
    for rows, cols in (
        *((1, 1), (31, 33), (32, 32), (64, 128), (65, 65)),
        *((3, 300), (300, 3), (96, 33), (7, 256), (5, 2)),
    )
]


def case(sizes: dict[str, int], *, right: bool, values: str = "") -> CaseResult:
    name = ", ".join(f"{key}={value}" for key, value in sizes.items()) + values
    verdict = Verdict.ACCEPTED if right else Verdict.WRONG_ANSWER
    return sample_reports.case(1, name=name, sizes=dict(sizes), verdict=verdict)


def said(right: Callable[[int, int], bool]) -> str:
    return separating_property(
        [case(sizes, right=right(sizes["rows"], sizes["cols"])) for sizes in SIZES]
    )


@pytest.mark.parametrize(
    ("right", "sentence"),
    [
        (lambda rows, cols: cols <= 32, "right for cols ≤ 32, wrong for cols ≥ 33"),
        (lambda rows, cols: rows > 32, "wrong for rows ≤ 32, right for rows ≥ 64"),
        (lambda rows, cols: cols % 32 == 0, "right only where cols is a multiple of 32"),
        (
            lambda rows, cols: rows % 32 == 0 == cols % 32,
            "right only where rows and cols are multiples of 32",
        ),
        (lambda rows, cols: rows == cols, "right only where rows = cols"),
        (lambda rows, cols: rows <= cols, "right only where rows ≤ cols"),
        (lambda rows, cols: rows in (31, 65), ""),  # nothing that a person would say
        (lambda rows, cols: True, "right"),
        (lambda rows, cols: False, ""),
    ],
)
def test_a_property_separates_all_cases(right: Callable[[int, int], bool], sentence: str) -> None:
    assert said(right) == ("" if sentence == "right" else sentence)


def test_a_case_that_nothing_measured_is_not_wrong() -> None:
    unmeasured = [
        dataclasses.replace(case({"n": n}, right=False), verdict=Verdict.NOT_MEASURED)
        for n in (4096, 4099)
    ]
    right = [case({"n": n}, right=True) for n in (1, 31, 1000)]
    assert separating_property([*right, *unmeasured]) == ""


def test_one_right_case_has_any_property() -> None:
    assert said(lambda rows, cols: rows == 1) == ""


def test_only_cases_with_special_values() -> None:
    ordinary = [case({"n": n}, right=True) for n in (1, 5, 9)]
    edges = [case({"n": 9}, right=False, values=", edges")]
    assert separating_property([*ordinary, *edges]) == "only the cases with edges values are wrong"


def test_elements_after_the_last_whole_group() -> None:
    def wrong(n: int, mismatched: int) -> CaseResult:
        words = (
            "only the last element" if mismatched == 1 else f"only the last {mismatched} elements"
        )
        return dataclasses.replace(
            case({"n": n}, right=False), elements=n, mismatched=mismatched, pattern=words
        )

    right = [dataclasses.replace(case({"n": 8}, right=True), elements=8)]
    some = [wrong(n, n % 4) for n in (5, 7, 33, 1023)]
    words = "everywhere only elements after the last whole group of 4 are wrong"
    assert rest_of_groups([*right, *some]) == words
    assert rest_of_groups([*right, *some, wrong(9, 3)]) == ""
    assert rest_of_groups([*right, *(wrong(n, 1) for n in (5, 9, 33, 1025))]) == ""


def test_sizes_as_a_person_writes_them() -> None:
    assert sizes_text({"rows": 31, "cols": 33}) == "31×33"
    assert sizes_text({"rows": 31, "cols": 33, "epsilon": 1e-5}) == "31×33 epsilon=1e-05"
    assert sizes_text({"m": 40, "n": 31, "k": 97}) == "m=40 n=31 k=97"
    assert case_text("n=4099, edges", {"n": 4099}) == "n=4099, edges"
    assert case_text("rows=3, cols=5 #2", {"rows": 3, "cols": 5}) == "3×5 #2"
