"""Figures as people read them."""

from __future__ import annotations


def three_digits(figure: float) -> str:
    """Return three digits of a figure, or all that stand before its point."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:#.3g}".rstrip(".")
