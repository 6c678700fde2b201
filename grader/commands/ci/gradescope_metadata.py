"""Gradescope's submission_metadata.json: due dates, and the times of this and earlier submissions.

The rate limit counts the earlier submissions in a window that ends when this one was
made, not now: a regrade gives the same answer. Submissions whose grading failed
without the student's fault do not count. Refused ones do not count either: their times
come back in the results' `extra_data`.

A regrade after the due date shows the cases that students see from then on. Gradescope says nothing
about the publication of grades: the course says it with `--show`.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from grader.assignment.late import LateRule
from grader.errors import UsageError
from grader.vocabulary import Visibility

DEFAULT_PATH = Path("/autograder/submission_metadata.json")
_EXTRA_KEY = "grade"  # of the grader's part of extra_data
_REFUSED = "refused"
_MOST_REFUSED = 1000
_NOT_GRADED = "Not graded: "


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSubmission:
    """An earlier submission; Gradescope gives `results` for the latest one only."""

    at: datetime
    score: float | None
    autograder_error: bool
    results: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Gradescope's data on a submission; `earlier` is sorted by time.

    The dates are those of its author, or of the author in a group who has most time.
    """

    created_at: datetime
    due: datetime | None
    late_due: datetime | None
    earlier: tuple[EarlierSubmission, ...]

    @property
    def refused(self) -> frozenset[datetime]:
        """The times of the submissions that were not graded because of the limit."""
        latest = self.earlier[-1].results if self.earlier else None
        extra = (latest or {}).get("extra_data")
        own = extra.get(_EXTRA_KEY, {}) if isinstance(extra, dict) else {}
        listed = own.get(_REFUSED, []) if isinstance(own, dict) else []
        return frozenset(time for text in listed if (time := _time(text)) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """At most `count` gradings in any `window_h` hours."""

    count: int
    window_h: float


def read_metadata(path: Path) -> Metadata:
    """Read the file. Raises UsageError, which names file and key."""
    try:
        text = path.read_text(encoding="utf-8")
        # Numbers that JSON cannot express, such as 1e999, become null.
        data = json.loads(text, parse_float=_number, parse_constant=_number)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} is not Gradescope's metadata: it is no JSON object")
    created_at = _time(data.get("created_at"))
    if created_at is None:
        raise UsageError(f"{path}: `created_at` is not a time with a time zone")
    return Metadata(
        created_at=created_at,
        due=_latest(data, "due_date"),
        late_due=_latest(data, "late_due_date"),
        earlier=tuple(sorted(_earlier(data, path), key=lambda submission: submission.at)),
    )


def _latest(data: Mapping[str, Any], key: str) -> datetime | None:
    """Return the latest of a date of the assignment and of its authors' extensions."""
    users = data.get("users")
    owners = [data, *(users if isinstance(users, list) else ())]
    tables = [owner.get("assignment") for owner in owners if isinstance(owner, dict)]
    times = [_time(table.get(key)) for table in tables if isinstance(table, dict)]
    return max((time for time in times if time is not None), default=None)


def shown(metadata: Metadata | None, now: datetime) -> frozenset[Visibility]:
    """Return what students see besides visible cases: others once nobody may hand in any more."""
    if metadata is None or metadata.due is None:
        return frozenset()
    closed = max(metadata.due, metadata.late_due or metadata.due)
    return frozenset({Visibility.AFTER_DUE_DATE} if now > closed else ())


def _earlier(data: Mapping[str, Any], path: Path) -> Iterator[EarlierSubmission]:
    listed = data.get("previous_submissions") or []
    if not isinstance(listed, list):
        raise UsageError(f"{path}: `previous_submissions` is not a list")
    for position, entry in enumerate(listed):
        at = _time(entry.get("submission_time")) if isinstance(entry, dict) else None
        if at is None:
            key = f"previous_submissions[{position}].submission_time"
            raise UsageError(f"{path}: `{key}` is not a time with a time zone")
        results = entry.get("results")
        yield EarlierSubmission(
            at=at,
            score=_number(entry.get("score")),
            autograder_error=entry.get("autograder_error") is True,
            results=results if isinstance(results, dict) else None,
        )


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        # Python 3.10 does not accept Z.
        time = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


def _number(value: object) -> float | None:
    """Return a finite number; None for anything else."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def next_grading(metadata: Metadata, limit: RateLimit) -> datetime | None:
    """Return when the limit next allows a grading; None if it allows this one."""
    try:
        window = timedelta(hours=limit.window_h)
    except (ValueError, OverflowError):
        window = timedelta.max
    counted = [
        submission.at
        for submission in metadata.earlier
        if not submission.autograder_error
        and submission.at not in metadata.refused
        # Compare durations: `created_at - window` may be before the year 1.
        and timedelta(0) <= metadata.created_at - submission.at < window
    ]
    if len(counted) < limit.count:
        return None
    try:
        return counted[-limit.count] + window
    except OverflowError:  # after the year 9999
        return None


def refusal(metadata: Metadata, limit: RateLimit, graded_from: datetime) -> dict[str, Any]:
    """Return the results for a refused submission: those of the latest graded one, with a note."""
    before = metadata.earlier[::-1]
    latest = next((each for each in before if not each.autograder_error), None)
    results: dict[str, Any] = next(
        (_writable(each.results) for each in before if each.results), {"tests": []}
    )
    if "score" not in results and not any("score" in test for test in _tests(results)):
        results["score"] = latest.score if latest is not None and latest.score is not None else 0.0
    results["output"] = (
        f"<p>{_NOT_GRADED}at most {limit.count} submissions are graded in {limit.window_h:g} "
        f"hours. Hand in again after {graded_from.isoformat(sep=' ', timespec='minutes')}. "
        f"The result below is that of an earlier submission.</p>\n{_earlier_output(results)}"
    )
    results["output_format"] = "html"
    results["extra_data"] = _extra_data({*metadata.refused, metadata.created_at})
    return results


def _earlier_output(results: Mapping[str, Any]) -> str:
    """Return the output of earlier results as HTML, without the note of an earlier refusal."""
    output = results.get("output")
    if not isinstance(output, str):
        return ""
    if results.get("output_format") == "html":
        return output.partition("</p>\n")[2] if output.startswith(f"<p>{_NOT_GRADED}") else output
    text = output.split("\n\n", 1)[-1] if output.startswith(_NOT_GRADED) else output
    return f"<pre>{html.escape(text)}</pre>\n"


def extra_data(metadata: Metadata | None) -> dict[str, Any]:
    """Return the data that Gradescope has to pass on to the next submission."""
    refused = metadata.refused if metadata is not None else ()
    return _extra_data(refused) if refused else {}


def _extra_data(refused: Iterable[datetime]) -> dict[str, Any]:
    listed = [time.isoformat() for time in sorted(refused)[-_MOST_REFUSED:]]
    return {_EXTRA_KEY: {_REFUSED: listed}}


def share_lost(metadata: Metadata | None, rule: LateRule | None) -> float:
    """Return the share of the points that a late submission loses by the assignment's rule."""
    late = _late(metadata)
    return rule.share_lost(late) if rule is not None and late is not None else 0.0


def notes(metadata: Metadata | None, rule: LateRule | None = None) -> tuple[str, ...]:
    """Return a sentence for the student if the submission is late."""
    late = _late(metadata)
    if metadata is None or late is None:
        return ()
    words = f"Handed in {late.total_seconds() / 3600:.1f} hours after the due date"
    if metadata.late_due is not None and metadata.created_at > metadata.late_due:
        words += ", and after the late due date"
    if rule is not None and (lost := rule.share_lost(late)):
        words += (
            f": {100 * lost:.3g} % of the points below are taken off the whole score, "
            f"{100 * rule.lose:.3g} % for {rule.periods}"
        )
    return (f"{words}.",)


def _late(metadata: Metadata | None) -> timedelta | None:
    """Return by how much a submission is late; None if it is not."""
    if metadata is None or metadata.due is None or metadata.created_at <= metadata.due:
        return None
    return metadata.created_at - metadata.due


def _writable(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy that can be published: no null scores, no lone surrogates."""
    text = json.dumps(results, ensure_ascii=False).encode(errors="replace")
    copy: dict[str, Any] = json.loads(text)
    for scored in (copy, *_tests(copy)):
        if scored.get("score", 0) is None:
            del scored["score"]
    return copy


def _tests(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    tests = results.get("tests")
    return [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
