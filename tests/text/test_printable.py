"""`printable` removes every control character and keeps all other text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.text.printable import encodable, one_line, printable


@given(st.text(st.characters()))
def test_no_control_character_is_left(text: str) -> None:
    shown = printable(text)
    assert {unicodedata.category(char) for char in shown if char != "\n"}.isdisjoint(
        {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 中文, √2 ≤ x", "plain, naïve, 中文, √2 ≤ x"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"),
        ("\x9b31m", "\\x9b31m"),
        ("a\0b", "a\\x00b"),
        ("evil\u202etxt.exe", "evil\\u202etxt.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("10 %\r20 %\r\ndone", "10 %\n20 %\ndone"),
        ("a\tb", "a   b"),
        ("half \udc80 pair", "half \\udc80 pair"),
        ("\U000e0041", "\\U000e0041"),
        ("no\u00a0break", "no break"),
        ("[red]markup[/red]", "[red]markup[/red]"),
        ("e" + "\u0301" * 900, "e" + "\u0301" * 4),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_one_line_has_no_line_feed() -> None:
    assert one_line("  two\n\n  lines\r\nthree ") == "two lines three"


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("a · b ≤ 中", "utf-8", "a · b ≤ 中"),
        ("a · b ≤ 中…", "ascii", "a - b <= \\u4e2d..."),
        ("a · b", "latin-1", "a · b"),
        ("x → y", "cp1252", "x -> y"),
        ("a · b", "no-such-encoding", "a - b"),
    ],
)
def test_encodable(text: str, encoding: str, shown: str) -> None:
    assert encodable(text, encoding) == shown
