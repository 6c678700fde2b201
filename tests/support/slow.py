"""Marks cases of a parametrized test as slow, which `make test` leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow_unless(is_quick: Callable[[Any], bool], cases: Iterable[Any]) -> list[Any]:
    """Return the cases; those that are not quick are marked slow. A tuple is a case's arguments."""
    return [
        case
        if is_quick(case)
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]
