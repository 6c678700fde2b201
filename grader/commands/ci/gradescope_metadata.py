"""Gradescope's submission_metadata.json: when it was handed in, and what came before.

A limit on how often a student may be graded counts the earlier submissions in a
window that ends when this one was handed in, not now: a regrade gives the same
answer. Submissions that failed for no fault of the student do not count, nor do
those that were refused; their times travel in the results' `extra_data`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from grader.errors import UsageError

DEFAULT_PATH = Path("/autograder/submission_metadata.json")
_OURS = "grade"  # our key in extra_data
_REFUSED = "refused"
_MOST_REFUSED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """An earlier submission; `results` is known of the latest only."""

    at: datetime
    score: float | None
    autograder_error: bool
    results: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What Gradescope says of a submission; `earlier` is in order of time."""

    created_at: datetime
    due: datetime | None
    late_due: datetime | None
    earlier: tuple[Earlier, ...]

    @property
    def refused(self) -> frozenset[datetime]:
        """When the submissions were made that were not graded because of the limit."""
        for one in reversed(self.earlier):
            ours = (one.results or {}).get("extra_data")
            times = ours.get(_OURS, {}) if isinstance(ours, dict) else {}
            listed = times.get(_REFUSED, []) if isinstance(times, dict) else []
            return frozenset(time for text in listed if (time := _time(text)) is not None)
        return frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """At most `count` gradings in any `window_h` hours."""

    count: int
    window_h: float


def read_metadata(path: Path) -> Metadata:
    """Read the file; raises UsageError, which names file and key."""
    try:
        text = path.read_text(encoding="utf-8")
        # What JSON cannot write again, such as 1e999, is no number to hand on.
        data = json.loads(text, parse_float=_number, parse_constant=_number)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} is not Gradescope's metadata: it holds no object")
    created_at = _time(data.get("created_at"))
    if created_at is None:
        raise UsageError(f"{path}: `created_at` is not a time with its zone")
    assignment = data.get("assignment")
    about = assignment if isinstance(assignment, dict) else {}
    return Metadata(
        created_at=created_at,
        due=_time(about.get("due_date")),
        late_due=_time(about.get("late_due_date")),
        earlier=tuple(sorted(_earlier(data, path), key=lambda one: one.at)),
    )


def _earlier(data: Mapping[str, Any], path: Path) -> list[Earlier]:
    listed = data.get("previous_submissions") or []
    if not isinstance(listed, list):
        raise UsageError(f"{path}: `previous_submissions` is not a list")
    found = []
    for position, entry in enumerate(listed):
        at = _time(entry.get("submission_time")) if isinstance(entry, dict) else None
        if at is None:
            key = f"previous_submissions[{position}].submission_time"
            raise UsageError(f"{path}: `{key}` is not a time with its zone")
        results = entry.get("results")
        found.append(
            Earlier(
                at=at,
                score=_number(entry.get("score")),
                autograder_error=entry.get("autograder_error") is True,
                results=results if isinstance(results, dict) else None,
            )
        )
    return found


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        # Python 3.10 does not know the Z.
        time = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


def _number(value: object) -> float | None:
    """Return a finite number, None for whatever else it is."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def next_turn(metadata: Metadata, limit: RateLimit) -> datetime | None:
    """Return from when on the student is graded again; None if this one is graded."""
    try:
        window = timedelta(hours=limit.window_h)
    except (ValueError, OverflowError):
        window = timedelta.max
    counted = [
        one.at
        for one in metadata.earlier
        if not one.autograder_error
        and one.at not in metadata.refused
        # Durations, for a time has no place before the year 1.
        and timedelta(0) <= metadata.created_at - one.at < window
    ]
    if len(counted) < limit.count:
        return None
    try:
        return counted[-limit.count] + window
    except OverflowError:  # after the year 9999: it is no time that anybody handed in at
        return None


def refusal(metadata: Metadata, limit: RateLimit, turn: datetime) -> dict[str, Any]:
    """Return the results of a submission that is not graded: those of the latest before."""
    latest = next((one for one in reversed(metadata.earlier) if not one.autograder_error), None)
    known = next((one.results for one in reversed(metadata.earlier) if one.results), None)
    old: dict[str, Any] = _writable(known) if known else {"tests": []}
    if "score" not in old and not any("score" in test for test in _tests(old)):
        old["score"] = latest.score if latest is not None and latest.score is not None else 0.0
    words = (
        f"Not graded: at most {limit.count} submissions are graded in {limit.window_h:g} hours. "
        f"Hand in again after {turn.isoformat(sep=' ', timespec='minutes')}. "
        "What stands here is the result of an earlier submission."
    )
    before = old.get("output")
    # Once, however often it was refused.
    kept = before.split("\n\n", 1)[-1] if isinstance(before, str) else ""
    if isinstance(before, str) and not before.startswith("Not graded: "):
        kept = before
    old["output"] = f"{words}\n\n{kept}"
    old["output_format"] = "text"
    refused = sorted({*metadata.refused, metadata.created_at})
    old["extra_data"] = {_OURS: {_REFUSED: [time.isoformat() for time in refused[-_MOST_REFUSED:]]}}
    return old


def extra_data(metadata: Metadata | None) -> dict[str, Any]:
    """Return what has to come back with the next submission."""
    if metadata is None or not metadata.refused:
        return {}
    listed = [time.isoformat() for time in sorted(metadata.refused)[-_MOST_REFUSED:]]
    return {_OURS: {_REFUSED: listed}}


def notes(metadata: Metadata | None) -> tuple[str, ...]:
    """Return what the student should know of the time of handing in."""
    if metadata is None or metadata.due is None or metadata.created_at <= metadata.due:
        return ()
    late_h = (metadata.created_at - metadata.due).total_seconds() / 3600
    words = f"Handed in {late_h:.1f} hours after the due date"
    if metadata.late_due is not None and metadata.created_at > metadata.late_due:
        words += ", and after the late due date"
    return (f"{words}.",)


def _writable(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy without scores that are no number, and of Unicode text alone."""
    text = json.dumps(results, ensure_ascii=False).encode(errors="replace")
    old: dict[str, Any] = json.loads(text)
    for scored in (old, *_tests(old)):
        if scored.get("score", 0) is None:
            del scored["score"]
    return old


def _tests(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    tests = results.get("tests")
    return [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
