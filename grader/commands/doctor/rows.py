"""A row of the diagnosis, and a constructor for each state."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import partial


class RowState(str, Enum):
    """The state of a component, from good to bad."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"
    BROKEN = "broken"
    MISMATCHED = "mismatched"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Row:
    """A component, its state, what was found, its cost for the student, and the fix.

    `fix` is one command or one step. `cost` and `fix` are empty if there is none.
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
