"""Format numbers for people."""

from __future__ import annotations


def three_digits(figure: float) -> str:
    """Return the figure with three significant digits, or with all digits before its point."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:#.3g}".rstrip(".")
