"""Suggests a known name for a misspelt one."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable

_MOST_NAMES = 1000  # bounds the time: a submission may have any number of names


def did_you_mean(word: str, known: Iterable[str], *, least: float = 0.6) -> str:
    """Return "; did you mean `x`?" if a known name is similar, at `least` so much, else ""."""
    names = list(itertools.islice(dict.fromkeys(known), _MOST_NAMES))
    near = difflib.get_close_matches(word, names, n=1, cutoff=least)
    return f"; did you mean `{near[0]}`?" if near else ""
