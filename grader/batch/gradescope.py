"""Who handed in what, from the submission_metadata.yml of a Gradescope export.

The file is YAML as Ruby writes it: a key for each submission's folder, and
below `:submitters:` a list of people with `:name:`, `:sid:` and `:email:`. The
rest, which can be megabytes of earlier results, is passed over. Only this much
of YAML is read, so that no parser for all of it is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError

METADATA = "submission_metadata.yml"

# A key that nothing stands before: the folder of a submission, whatever characters it has.
_FOLDER = re.compile(
    r"""(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^']|'')*)'"""
    r"""|(?P<plain>(?!- )[^\s"'#?].*?))\s*:(?:\s.*)?$"""
)
_ENTRY = re.compile(r"(?P<indent> *)(?P<dash>- +)?:?(?P<key>\w+):(?: +(?P<value>.*))?$")
_BLOCK = re.compile(r"[>|][-+0-9]*(?:\s+#.*)?")
_ANCHOR = re.compile(r"&\S+\s*")
_NOTHING = ("", "~", "null")
_KNOWN = ("name", "sid", "email")


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """One person as the course's roster knows them; unknown is empty."""

    name: str = ""
    sid: str = ""
    email: str = ""


def read_metadata(file: Path) -> dict[str, tuple[Student, ...]]:
    """Return the people of each submission, by the name of its folder.

    Raises UsageError if the file cannot be read or names no submission.
    """
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    # Python counts more characters as ends of lines than YAML does.
    found = {folder: _submitters(lines) for folder, lines in _submissions(text.split("\n"))}
    if not found:
        raise UsageError(
            f"{file}: there is no submission in it",
            tip="export the submissions from Gradescope anew, or remove the file: folders are "
            "then graded by their names",
        )
    return found


def _submissions(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each submission's folder and the lines below it."""
    folder: str | None = None
    below: list[str] = []
    for line in lines:
        if line[:1] in ("", " ", "#", "\r"):
            below.append(line)
            continue
        # Whatever stands at the margin ends the one before, or its people would be taken for
        # those of the next.
        if folder is not None:
            yield folder, below
        top = _FOLDER.match(line)
        folder, below = (None if top is None else _folder(top)), []
    if folder is not None:
        yield folder, below


def _folder(top: re.Match[str]) -> str:
    if top["double"] is not None:
        name = _scalar([f'"{top["double"]}"'])
    elif top["single"] is not None:
        name = top["single"].replace("''", "'")
    else:
        name = top["plain"]
    return name.removeprefix(":")


def _submitters(lines: Sequence[str]) -> tuple[Student, ...]:
    """Return the people of one submission."""
    people: list[dict[str, list[str]]] = []
    value: list[str] = []
    inside, margin, column = False, 0, 0
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip():
            continue
        if inside and people and indent > column:
            value.append(line.strip())  # what is long goes on below its key
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        if indent <= 2 and not entry["dash"]:
            inside = entry["key"] == "submitters"
            continue
        if not inside:
            continue
        if entry["dash"] and (not people or indent == margin):
            people.append({})
            margin, column = indent, indent + len(entry["dash"])
        if people and indent + len(entry["dash"] or "") == column:
            value = people[-1].setdefault(entry["key"], [])
            value[:] = [(entry["value"] or "").strip()]
    return tuple(
        Student(**{key: _scalar(value) for key, value in person.items() if key in _KNOWN})
        for person in people
    )


def _scalar(lines: Sequence[str]) -> str:
    """Return the text of a value, whose lines become one; empty if it is not written out."""
    first = _ANCHOR.sub("", lines[0], count=1) if lines[0].startswith("&") else lines[0]
    if _BLOCK.fullmatch(first):
        return " ".join(lines[1:])
    text = first
    for line in lines[1:]:
        # In double quotes a backslash at the end joins without a space.
        cut = text.startswith('"') and (len(text) - len(text.rstrip("\\"))) % 2 == 1
        text = text[:-1] + line if cut else f"{text} {line}".strip()
    # A reference to another value, or one of a type that Ruby alone knows.
    if text in _NOTHING or text.startswith(("*", "!")):
        return ""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text.replace("\\ ", " ")
        try:
            return str(json.loads(text))
        except ValueError:  # an escape that JSON does not have
            return text[1:-1]
    return text
