"""`grade list`: weeks above the assignments, and what is said of one."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from paths import REPOSITORY
from rich.console import Console

from grader.assignment.late import LateRule
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.commands.listing import list_all, list_one
from grader.vocabulary import CheckName, Visibility


def course(**weeks: int | None) -> list[Assignment]:
    return [
        replace(read_assignment(REPOSITORY / "assignments" / name), week=week)
        for name, week in weeks.items()
    ]


def first_words(assignments: list[Assignment]) -> list[str]:
    file = io.StringIO()
    list_all(assignments, Console(file=file, width=100))
    lines = [line.split("  ")[0] for line in file.getvalue().splitlines()[1:]]
    return [line for line in lines if line]


def assignment(name: str) -> Assignment:
    return read_assignment(REPOSITORY / "assignments" / name)


def shown(listed: Assignment) -> str:
    file = io.StringIO()
    list_one(listed, Console(file=file, width=300))
    return file.getvalue()


def test_assignments_are_below_their_week_and_those_without_one_last() -> None:
    listed = first_words(course(histogram=None, grid_stride=3, mandelbrot=1, vector_add=3))
    assert listed == [
        "week 1", "mandelbrot", "week 3", "grid_stride", "vector_add", "no week", "histogram",
    ]  # fmt: skip


def test_a_course_without_weeks_has_a_plain_table() -> None:
    assert first_words(course(histogram=None, vector_add=None)) == ["histogram", "vector_add"]


def test_one_assignment_has_its_week() -> None:
    assert "Softmax of each row (softmax), week 7, 100 points" in shown(assignment("softmax"))


def test_one_hidden_case_is_no_plural() -> None:
    listed = assignment("silu")
    hidden = [case for case in listed.cases if case.visibility is not Visibility.VISIBLE]
    visible = [case for case in listed.cases if case.visibility is Visibility.VISIBLE]
    text = " ".join(shown(replace(listed, cases=(*visible, hidden[0]))).split())
    assert "1 more case is hidden; the course draws its sizes" in text


def test_late_periods_begin_after_the_grace() -> None:
    rule = LateRule(period_h=24, lose=0.1, grace_h=1, most=0.5)
    words = "10 % of the points for each 24 hours that have begun after a grace of 1 hour, at most"
    said = " ".join(shown(replace(assignment("silu"), late=rule)).split())  # lines are folded
    assert words in said
    assert LateRule(period_h=1, lose=0.1).periods == "each hour that has begun"


def test_benchmarks_without_points_for_speed_are_not_told_to_students() -> None:
    timed = assignment("silu")
    (kernel,) = timed.kernels
    points = {check: n for check, n in kernel.points.items() if check is not CheckName.PERFORMANCE}
    assert "timed, on a GPU only" in shown(timed)
    assert "timed" not in shown(replace(timed, kernels=(replace(kernel, points=points),)))


def test_a_bonus_is_not_among_the_points_of_the_assignment() -> None:
    text = shown(assignment("attention"))
    assert "100 points" in text and "+16" in text
    assert "a bonus, on top of the 100 points: v3_backward" in text


def test_points_for_speed_are_those_of_the_handout() -> None:
    text = shown(assignment("silu"))
    assert "points, at how many times torch's speed, or which share of a copy's bandwidth:" in text
    assert "  silu in CUDA C++: 15 at 0.5 or 50 %, 25 at 0.9 or 85 %" in text


def test_columns_that_do_not_fit_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    file = io.StringIO()
    list_all(course(vector_add=1, grid_stride=2), Console(file=file))
    assert file.getvalue().rstrip().endswith("a wider terminal also shows: points")
