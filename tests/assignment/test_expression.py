"""Arithmetic over sizes: allowed expressions and their values."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.assignment.expression import Expression

SIZES = {"rows": 7, "cols": 5, "n": 1000003, "epsilon": 0.5, "whole": 4.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rows", 7),
        (12, 12),
        ("4 * rows * cols", 140),
        ("2 * n + 8", 2000014),
        (" rows - cols ", 2),
        ("rows // 2 + rows % 2", 4),
        ("2 ** cols", 32),
        ("min(rows, cols) * max(rows, cols, 9)", 45),
        ("(rows + 1) * (cols + 1)", 48),
        ("whole + 1", 5),
    ],
)
def test_value(text: str | int, value: int) -> None:
    result = Expression.parse(text).evaluate(SIZES)
    assert result == value
    assert isinstance(result, int)


def test_it_can_be_written_as_calls() -> None:
    names = {"rows": "R", "cols": "C"}
    functions = {"+": "add", "-": "sub", "*": "mul", "//": "div", "%": "mod", "**": "pow"}
    functions |= {"min": "least", "max": "most"}
    text = "min(rows, 2, cols - 1) * (rows + 3) // cols % 4 ** 2 + max(rows, 7)"
    assert Expression.parse(text).calls(names, functions) == (
        "add(mod(div(mul(least(least(R, 2), sub(C, 1)), add(R, 3)), C), pow(4, 2)), most(R, 7))"
    )
    assert Expression.parse(12).calls({}, {}) == "12"


def test_names_are_those_of_sizes_not_of_functions() -> None:
    assert Expression.parse("min(rows, 2 * cols) + 1").names == {"rows", "cols"}
    assert Expression.parse(3).names == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rows cols",
        "rows / 2",
        "-rows",
        "1.5",
        "True",
        "'rows'",
        "len(rows)",
        "min(rows)",
        "max()",
        "min(*rows)",
        "min(rows, cols, key=rows)",
        "rows.real",
        "rows[0]",
        "rows if cols else 1",
        "rows < cols",
        "(rows := 3)",
        "lambda: 1",
        "[r for r in rows]",
        "__import__('os').system('true')",
        "rows\0",
        "9" * 5000,
        "(" * 5000,
    ],
)
def test_other_expressions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not|needs two|longer than"):
        Expression.parse(text)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("rows // (cols - 5)", "divides by zero"),
        ("rows % (cols - 5)", "divides by zero"),
        ("2 ** (cols - rows)", "takes the power -2"),
        ("2 ** n", "takes the power 1000003"),
        ("n ** 40", "larger than"),
        ("rows * epsilon", "`epsilon` is 0.5"),
    ],
)
def test_an_invalid_value_is_reported_with_the_expression(text: str, phrase: str) -> None:
    with pytest.raises(ValueError, match=r"^'") as caught:
        Expression.parse(text).evaluate(SIZES)
    assert repr(text) in str(caught.value)
    assert phrase in str(caught.value)


def test_towers_of_powers_end_at_once() -> None:
    started = time.monotonic()
    with pytest.raises(ValueError, match=r"power|larger"):
        Expression.parse("9 ** 9 ** 9 ** 9 ** 9").evaluate({})
    assert time.monotonic() - started < 1


def test_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        Expression.parse("depth").evaluate(SIZES)


@st.composite
def arithmetic(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["rows", "cols", "1", "2", "17"]))
    left, right = draw(arithmetic(depth - 1)), draw(arithmetic(depth - 1))
    form = draw(st.sampled_from(["({} + {})", "({} - {})", "({} * {})", "min({}, {})"]))
    return form.format(left, right)


@given(arithmetic(), st.integers(1, 10**6), st.integers(1, 10**6))
def test_arithmetic_is_python_arithmetic(text: str, rows: int, cols: int) -> None:
    # Three levels of products stay below 2**80 only for small sizes.
    try:
        value = Expression.parse(text).evaluate({"rows": rows, "cols": cols})
    except ValueError as error:
        assert "larger than" in str(error)
        return
    assert value == eval(text, {"min": min, "rows": rows, "cols": cols})
