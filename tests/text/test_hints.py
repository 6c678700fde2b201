"""Hints that name what a student wrote."""

from __future__ import annotations

import re

import pytest

from grader.text.hints import filled, filled_pattern


def test_a_name_that_looks_like_a_placeholder_stays() -> None:
    words = filled("kernel_source", "range_of_a_number", line=3, name="{width}", width="BLOCK")
    assert words.startswith("`{width}` is known at the launch only: write tl.arange(0, BLOCK) in")


def test_a_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="name"):
        filled("kernel_source", "named", line=3)


def test_a_filled_hint_is_recognised() -> None:
    words = filled("found", "size of a pointer", name="column")
    assert re.fullmatch(filled_pattern("found", "size of a pointer"), words)
