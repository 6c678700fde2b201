"""Leave out of a worker's findings what would tell the size of a hidden case.

A finding that a visible case shows as well is shown as there, with its count. One of hidden cases
alone keeps its kind, its line and its buffer, and loses every index, size and count.

A submission can forge such a finding, as a warning at no cost, or name its arrays after a size. So
names must be words of its source, lines must be lines of it, and a message of the process that ran
it must be one of the runtime's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from grader.build.artifact import Built
from grader.checks.common.tool_run import Prepared
from grader.emulation.cuda_cpp.findings import own_messages
from grader.vocabulary import Visibility

_TEXTS = ("finding", "unsupported")  # records with a text that is shown
_PLACE = ("kind", "message", "pc", "other_pc", "line", "buffer", "tensor")
_TELLING = frozenset(
    {"address", "arrived", "block", "block_size", "buffer_bytes", "offset", "other_program",
     "other_thread", "program", "program_step",
     "thread"}
)  # fmt: skip
_IN_BRACKETS = re.compile(r" \([^()]*\d[^()]*\)")
_COUNTED = re.compile(r"\b\d[\d,]* (element|byte)s?\b")
_NUMBER = re.compile(r"\b\d[\d,]*\b")
_WORD = re.compile(r"\w+")
_NAMES = ("buffer", "kernel", "tensor")
_WIDEST = 16  # bytes of one access; a copy has as many as its array
_FORGED = "memory is used in a way that is not described"


def without_sizes(
    records: Iterable[Mapping[str, Any]], cases: Iterable[Prepared], built: Built
) -> list[dict[str, Any]]:
    """Return the records, those of hidden cases last and without what tells a size."""
    hidden = {case.name for case, _ in cases if case.visibility is not Visibility.VISIBLE}
    shown: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for record in records:
        found = record.get("record") in _TEXTS and record.get("case") in hidden
        (others if found else shown).append(dict(record))
    if not others:
        return shown
    seen = {_place(record) for record in shown if record.get("record") in _TEXTS}
    texts = (built.text, *built.headers.values())
    words = frozenset(word for text in texts for word in _WORD.findall(text))
    lines = max(text.count("\n") + 1 for text in texts)
    own = None if built.language.imported else own_messages()
    for record in others:
        if (place := _place(record)) not in seen:
            seen.add(place)
            shown.append(_redacted(record, words, lines, own))
    return shown


def _place(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_NUMBER.sub("#", str(record.get(key))) for key in _PLACE)


def _redacted(
    record: Mapping[str, Any], words: Collection[str], lines: int, own: Collection[str] | None
) -> dict[str, Any]:
    """Return a record without sizes; `own` are the only messages that are kept, None for all."""
    kept = {key: value for key, value in record.items() if key not in _TELLING}
    message = str(record.get("message"))
    if own is not None and message not in own:
        message = _FORGED
    for key in _NAMES:
        name = record.get(key)
        if name is not None and not all(word in words for word in _WORD.findall(str(name))):
            message = message.replace(f"`{name}`", "an array")
            kept[key] = None
    for key in ("line", "other_line"):
        if type(line := record.get(key)) is int and not 0 < line <= lines:
            kept[key] = None
    for key in ("access_bytes", "element_bytes"):
        if type(width := record.get(key)) is int and width > _WIDEST:
            kept[key] = None
    message = _IN_BRACKETS.sub("", message)
    message = _COUNTED.sub(r"\1s", message)
    return {**kept, "message": _NUMBER.sub("#", message), "count": 1}
