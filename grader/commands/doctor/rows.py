"""One row of doctor's answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class RowState(str, Enum):
    """How a thing stands, from well to ill."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"
    BROKEN = "broken"
    MISMATCHED = "mismatched"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A thing, how it stands, what was found, what that costs and what mends it.

    `cost` is in a student's words and `mend` is one command or one step; both
    are empty where nothing is lost or nothing can be done.
    """

    thing: str
    state: RowState
    found: str
    cost: str = ""
    mend: str = ""
