"""The spec for students: the same text without the tables of hidden cases."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.assignment.toml_locations import key_lines
from grader.errors import SpecError
from grader.vocabulary import Visibility

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_COMMENT = re.compile(r"\s*#(?!:schema)")
_SCHEMA = re.compile(r"\A#:schema [^\n]*\n")


def visible_spec(
    text: str,
    file: Path,
    *,
    hidden: int = 0,
    weight: int = 0,
    entries: Sequence[tuple[int, int]] = (),
) -> str:
    """Return a valid spec without its hidden cases and the comments above them.

    With `hidden`, it says how many these are, so that their points stay pending, and if they count
    for another number of visible cases, that `weight`; `entries` are both numbers for each table of
    further entries. Also removes the
    `#:schema` line, which may have a path on the staff's machine. Raises
    SpecError, about `file`, if no visible case is left or if a case is no [[cases]] table.
    """
    data = tomllib.loads(text)
    starts = key_lines(text)
    lines = text.splitlines(keepends=True)
    if not _opens(lines, starts["cases", 0]):
        raise SpecError(
            "cannot be divided into visible and hidden cases",
            file=file, key="cases", line=starts["cases", 0],
            tip="write each case as a table that begins with [[cases]]",
        )  # fmt: skip
    left_out: set[int] = set()
    kept = []
    for position, case in enumerate(data["cases"]):
        if Visibility(case.get("visibility", "visible")) is Visibility.VISIBLE:
            kept.append(case)
            continue
        after = [
            line
            for path, line in starts.items()
            if line > starts["cases", position]
            and path[:2] != ("cases", position)
            and _opens(lines, line)
        ]
        left_out |= _with_comments(lines, starts["cases", position], min(after, default=None))
    further = [one["entry"] for one in data.get("entries", ())]
    seen = {case["entry"] if case.get("entry") in further else "" for case in kept}
    for entry in ("", *further):
        if entry not in seen:
            of_entry = f" of `{entry}`" if entry else ""
            raise SpecError(f"has no visible case{of_entry} for students", file=file, key="cases")
    added = _added(hidden, weight)
    lines[starts[("title",)] - 1] += "".join(f"{key} = {n}\n" for key, n in added.items())
    changed = {**data, **added, "cases": kept}
    for place, counts in enumerate(entries):
        own = _added(*counts)
        line = starts["entries", place, "entry"] - 1
        lines[line] += "".join(f"{key} = {n}\n" for key, n in own.items())
        changed["entries"][place] |= own
    shown = "".join(line for number, line in enumerate(lines, start=1) if number not in left_out)
    shown = _SCHEMA.sub("", shown).rstrip("\n") + "\n"
    assert tomllib.loads(shown) == changed, file
    return shown


def _added(hidden: int, weight: int) -> dict[str, int]:
    """Return the keys that say how many hidden cases there are, and what they count for."""
    added = {"hidden_cases": hidden} if hidden else {}
    if hidden and weight not in (0, hidden):
        added["hidden_weight"] = weight
    return added


def _with_comments(lines: list[str], first: int, after: int | None) -> set[int]:
    """Return the lines of a table and the comments above it, without those above the next."""
    last = len(lines) if after is None else after - 1
    while after is not None and last > first and _COMMENT.match(lines[last - 1]):
        last -= 1
    while first > 1 and _COMMENT.match(lines[first - 2]):
        first -= 1
    return set(range(first, last + 1))


def _opens(lines: list[str], number: int) -> bool:
    """True if a table begins in this line."""
    return lines[number - 1].lstrip().startswith("[")
