"""How well hand-ins are kept apart from everything else: the words, and the rule.

`grader.sandbox.probe` finds out which holds on a machine, by trying. Nothing here
needs Linux, so that `grade doctor` can be read everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from grader.errors import ToolError


class Level(str, Enum):
    """How much of what a hand-in must not do is out of its reach; most first."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"

    def __str__(self) -> str:
        return self.value

    def reaches(self, wanted: Level) -> bool:
        """True if this is `wanted` or better."""
        order = list(Level)
        return order.index(self) <= order.index(wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What was found out about a machine.

    `layers` names what holds hand-ins back. `missing` are sentences: what a
    hand-in can do here that it should not. `notes` say what is otherwise than
    it could be, and why, at no loss of level.
    """

    level: Level
    layers: str
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, str | None]:
        """What a report says of it."""
        return {
            "sandbox": self.level.value,
            "sandbox_missing": "; ".join(self.missing) or None,
            "sandbox_layers": "; ".join((self.layers, *self.notes)),
        }

    def lesser(self, other: Isolation) -> Isolation:
        """Return what holds where both count: the lesser level, and all that is missing."""
        least = self if other.level.reaches(self.level) else other
        return replace(
            least,
            missing=tuple(dict.fromkeys((*self.missing, *other.missing))),
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
        )


def require(wanted: Level, found: Isolation) -> None:
    """Raise ToolError if hand-ins are kept apart less well here than `wanted`."""
    if not found.level.reaches(wanted):
        raise ToolError(
            f"the sandbox reaches the level {found.level} here, not {wanted}: "
            f"{'; '.join(found.missing)}",
            tip="`grade doctor` says what is missing",
        )
