"""Who handed in what, from the submission_metadata.yml of a Gradescope export.

The file is YAML as Ruby writes it: a key for each submission's folder, and
below `:submitters:` a list of people with `:name:`, `:sid:` and `:email:`. The
rest, which can be megabytes of earlier results, is passed over. Only this much
of YAML is read, so that no parser for all of it is needed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import UsageError

METADATA = "submission_metadata.yml"

_ENTRY = re.compile(r"(?P<indent> *)(?P<dash>- +)?:?(?P<key>\w+):(?: +(?P<value>.*))?$")
_FOLDER = re.compile(r"""["']?:?(?P<name>[^\s"':]+)["']?:\s*$""")
_NOTHING = ("", "~", "null")


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
        lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    found: dict[str, tuple[Student, ...]] = {}
    folder, inside = None, False
    for line in lines:
        if top := _FOLDER.match(line):
            folder, inside = top["name"], False
            found[folder] = ()
            continue
        entry = _ENTRY.match(line)
        if folder is None or entry is None:
            continue
        if len(entry["indent"]) <= 2 and not entry["dash"]:
            inside = entry["key"] == "submitters"
        elif inside:
            found[folder] = _with(found[folder], entry)
    if not found:
        raise UsageError(
            f"{file}: there is no submission in it",
            tip="export the submissions from Gradescope anew, or remove the file: folders are "
            "then graded by their names",
        )
    return found


def _with(students: tuple[Student, ...], entry: re.Match[str]) -> tuple[Student, ...]:
    """Return the people with what one line says of the last of them, or of a new one."""
    if entry["dash"]:
        students = (*students, Student())
    key = entry["key"]
    if not students or key not in ("name", "sid", "email"):
        return students
    value = _scalar((entry["value"] or "").strip())
    last = students[-1]
    if key == "name":
        last = replace(last, name=value)
    elif key == "sid":
        last = replace(last, sid=value)
    else:
        last = replace(last, email=value)
    return (*students[:-1], last)


def _scalar(text: str) -> str:
    if text in _NOTHING:
        return ""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:  # an escape that JSON does not have
            return text[1:-1]
    return text
