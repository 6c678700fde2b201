"""The isolation level of a machine: how well submissions are confined there.

`grader.sandbox.probe` measures the level. Nothing here needs Linux, so that `grade doctor` runs
everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from grader.errors import ToolError


class Level(str, Enum):
    """How well submissions are confined, best first; `grader.sandbox.probe` defines the levels."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"

    def __str__(self) -> str:
        return self.value

    def reaches(self, required: Level) -> bool:
        """True if this is `required` or better."""
        order = list(Level)
        return order.index(self) <= order.index(required)


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """The isolation of a machine.

    `layers` names the protections in use. Each sentence of `missing` names something that a
    submission can do and should not. `notes` say which protections are off, and why, without
    lowering the level.
    """

    level: Level
    layers: str
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, str | None]:
        """The keys of a report's environment."""
        return {
            "sandbox": self.level.value,
            "sandbox_missing": "; ".join(self.missing) or None,
            "sandbox_layers": "; ".join((self.layers, *self.notes)),
        }

    def lesser(self, other: Isolation) -> Isolation:
        """Return the combination of both: the lower level, and everything that is missing."""
        least = self if other.level.reaches(self.level) else other
        return replace(
            least,
            missing=tuple(dict.fromkeys((*self.missing, *other.missing))),
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
        )


def require(required: Level, found: Isolation) -> None:
    """Raise ToolError if the measured level is below `required`."""
    if not found.level.reaches(required):
        raise ToolError(
            f"the sandbox reaches the level {found.level} here, not {required}: "
            f"{'; '.join(found.missing)}",
            tip="`grade doctor` says what is missing",
        )
