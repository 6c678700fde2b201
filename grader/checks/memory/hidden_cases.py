"""Leave out of a worker's findings what would tell the size of a hidden case.

A finding that a visible case shows as well is shown as there, with its count. One of hidden cases
alone keeps its kind, its line and its buffer, and loses every index, size and count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from grader.checks.common.tool_run import Prepared
from grader.vocabulary import Visibility

_PLACE = ("kind", "message", "pc", "other_pc", "line", "buffer", "tensor")
_TELLING = frozenset(
    {"address", "arrived", "block", "block_size", "buffer_bytes", "offset", "other_program",
     "other_thread", "program", "program_step",
     "thread"}
)  # fmt: skip
_IN_BRACKETS = re.compile(r" \([^()]*\d[^()]*\)")
_COUNTED = re.compile(r"\b\d[\d,]* (element|byte)s?\b")
_NUMBER = re.compile(r"\b\d[\d,]*\b")


def without_sizes(
    records: Iterable[Mapping[str, Any]], cases: Iterable[Prepared]
) -> list[dict[str, Any]]:
    """Return the records, those of hidden cases last and without what tells a size."""
    hidden = {case.name for case, _ in cases if case.visibility is not Visibility.VISIBLE}
    shown: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for record in records:
        found = record.get("record") == "finding" and record.get("case") in hidden
        (others if found else shown).append(dict(record))
    seen = {_place(record) for record in shown if record.get("record") == "finding"}
    for record in others:
        if (place := _place(record)) not in seen:
            seen.add(place)
            shown.append(_redacted(record))
    return shown


def _place(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_NUMBER.sub("#", str(record.get(key))) for key in _PLACE)


def _redacted(record: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in record.items() if key not in _TELLING}
    message = _IN_BRACKETS.sub("", str(record.get("message")))
    message = _COUNTED.sub(r"\1s", message)
    return {**kept, "message": _NUMBER.sub("#", message), "count": 1}
