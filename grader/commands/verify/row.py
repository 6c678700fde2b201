"""A row of the result: what was proven or graded, expected and actual."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """The outcome of a row."""

    AGREES = "agrees"
    ELSEWHERE = "not on this device"
    WARNING = "warning"
    DIFFERS = "differs"
    FAILED = "grader error"

    @property
    def wrong(self) -> bool:
        """True if the row makes the whole verification fail."""
        return self in (State.DIFFERS, State.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the result.

    `subject` is a file, a sample or the oracle, `check` the property that was checked.
    `verdicts` are the verdicts of a grading by check name. `note` is information even
    for a row that agrees: why this device cannot judge, pending points.
    """

    assignment: str
    subject: str
    check: str
    state: State
    expected: str
    actual: str
    note: str = ""
    verdicts: tuple[tuple[str, str], ...] = ()
    wall_s: float = 0.0


def differs_if(wrong: bool) -> State:
    """Return `DIFFERS` if wrong, else `AGREES`."""
    return State.DIFFERS if wrong else State.AGREES


def proof(
    assignment: str, subject: str, check: str, *, expected: str, problem: str, note: str = ""
) -> Row:
    """Return the row of a proof, which agrees unless there is a problem."""
    return Row(
        assignment=assignment,
        subject=subject,
        check=check,
        state=differs_if(bool(problem)),
        expected=expected,
        actual=problem or "as expected",
        note=note,
    )
