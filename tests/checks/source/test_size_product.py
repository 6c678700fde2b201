"""Sizes as products of names and numbers."""

from __future__ import annotations

import pytest

from grader.checks.source.size_product import constant, product

TEXT = """\
#define TILE 16
const int BLOCK = TILE * TILE;
size_t bytes = (size_t)rows * cols * sizeof(float);
int changed = 1;
changed = 2;
"""


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("rows * sizeof(float)", "rows * sizeof(float)"),
        ("4 * (rows)", "rows * sizeof(float)"),
        ("bytes", "cols * rows * sizeof(float)"),
        ("(int)BLOCK * static_cast<size_t>(n)", "64 * n * sizeof(float)"),
        ("sizeof(float*)", "2 * sizeof(float)"),
        ("changed", "changed"),
        ("3", "3"),
    ],
)
def test_a_product(expression: str, shown: str) -> None:
    found = product(expression, TEXT)
    assert found is not None
    assert found.shown("float") == shown


@pytest.mark.parametrize("expression", ["", "rows + 1", "f(x)", "a / b", "*p", "sizeof(thing)"])
def test_no_product(expression: str) -> None:
    assert product(expression, TEXT) is None


def test_a_quotient() -> None:
    all_, some = product("bytes", TEXT), product("rows * 8")
    assert all_ is not None
    assert some is not None
    assert (all_ / some).powers == (("cols", 1),)
    assert not (all_ / some).whole
    assert (all_ * some / some).shown() == "4 * cols * rows"


def test_a_constant() -> None:
    assert constant("BLOCK", TEXT) == 256
    assert constant("changed", TEXT) is None
    assert constant("rows", TEXT) is None
