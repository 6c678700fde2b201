"""Format numbers for people."""

from __future__ import annotations


def three_digits(figure: float) -> str:
    """Return the figure with three significant digits, or as an integer from 100 on."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:#.3g}".rstrip(".")


def points(value: float) -> str:
    """Return a number of points without trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def grid_index(xyz: tuple[int, int, int]) -> str:
    """Return the index of a block or thread, always with its three parts: "(16,15,0)"."""
    return "({},{},{})".format(*xyz)
