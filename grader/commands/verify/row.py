"""A row of the result: what was proven or graded, what was expected and what came out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """How a row came out."""

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
    """A line of the result.

    `subject` is what was looked at, `check` what about it; `verdicts` are the
    verdicts of a grading, by the check's name. `note` is what a reader should
    know even if all is well: why this device cannot judge, points pending.
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
    """Return the state of something that is either right or wrong."""
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
