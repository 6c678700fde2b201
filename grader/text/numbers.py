"""Format numbers for people."""

from __future__ import annotations

import re


def three_digits(figure: float) -> str:
    """Return the figure with three significant digits, or as an integer from 100 on."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:#.3g}".rstrip(".")


def points(value: float) -> str:
    """Return a number of points without trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def without_numbers(text: str | None) -> str:
    """Return the text with `#` for each number: texts that differ in numbers are then alike."""
    one = re.sub(r"\bthe (last|first) (element|row|column)\b", r"the \1 # \2s", text or "")
    return re.sub(r"\d+", "#", one)


def grid_index(xyz: tuple[int, int, int]) -> str:
    """Return the index of a block or thread, always with its three parts: "(16,15,0)"."""
    return "({},{},{})".format(*xyz)
