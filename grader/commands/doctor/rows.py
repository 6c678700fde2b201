"""A row of the diagnosis, and one constructor for each state that it may have."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import partial


class RowState(str, Enum):
    """The state of a thing, from good to bad."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"
    BROKEN = "broken"
    MISMATCHED = "mismatched"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Row:
    """A thing, its state, what was found, what that costs and what fixes it.

    `cost` is in a student's words and `fix` is one command or one step; both
    are empty where nothing is lost or nothing can be done.
    """

    state: RowState
    thing: str
    found: str
    cost: str = field(default="", kw_only=True)
    fix: str = field(default="", kw_only=True)


ok = partial(Row, RowState.OK)
note = partial(Row, RowState.NOTE)
missing = partial(Row, RowState.MISSING)
broken = partial(Row, RowState.BROKEN)
mismatched = partial(Row, RowState.MISMATCHED)
