"""The students of each submission, from the submission_metadata.yml of a Gradescope export.

Ruby writes the file: a key for each submission's folder, and below `:submitters:`
a list of people with `:name:`, `:sid:` and `:email:`. The rest can be megabytes of
earlier results, deeply nested and with Ruby's own types. So the file is read event
by event, without building objects; a number such as 0042 keeps its zeros.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

import yaml

from grader.errors import UsageError

METADATA = "submission_metadata.yml"

_NOTHING = ("", "~", "null")
_BINARY = ("!binary", "tag:yaml.org,2002:binary")
_KNOWN = ("name", "sid", "email")
# libyaml's loader is many times faster, but not installed everywhere.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TIP = (
    "export the submissions from Gradescope anew, or remove the file: folders are then graded "
    "by their names"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """One student of the course's roster; unknown values are empty."""

    name: str = ""
    sid: str = ""
    email: str = ""


def read_metadata(file: Path) -> dict[str, tuple[Student, ...]]:
    """Return the students of each submission, by the name of its folder.

    Raises UsageError if the file cannot be read, is not YAML or names no submission.
    """
    reader = _Reader()
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
        for event in yaml.parse(text, Loader=_LOADER):
            reader.take(event)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise UsageError(f"{file}{line}: {error.problem}", tip=_TIP) from error
    except (yaml.YAMLError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise UsageError(f"{file} is not YAML: {problem}", tip=_TIP) from error
    students = {
        folder: tuple(Student(**person) for person in people)
        for folder, people in reader.people.items()
        if folder
    }
    if not students:
        raise UsageError(f"{file}: it names no submission", tip=_TIP)
    return students


@dataclass(slots=True)
class _Level:
    """A mapping or list around the current event; `key` is a mapping's last key."""

    is_mapping: bool
    key: str = ""
    has_key: bool = False


class _Reader:
    """Collects `people`: by submission folder, the known values of each submitter."""

    def __init__(self) -> None:
        self.people: dict[str, list[dict[str, str]]] = {}
        self._levels: list[_Level] = []
        self._anchors: dict[str, str] = {}

    def take(self, event: yaml.Event) -> None:
        """Process the parser's next event."""
        if isinstance(event, yaml.ScalarEvent):
            text = _text(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = text
            self._value(text)
        elif isinstance(event, yaml.AliasEvent):
            self._value(self._anchors.get(event.anchor, ""))
        elif isinstance(event, yaml.CollectionStartEvent):
            if self._keys() == ["submitters"] and not self._levels[-1].is_mapping:
                self.people[self._levels[0].key].append({})
            self._levels.append(_Level(isinstance(event, yaml.MappingStartEvent)))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._levels.pop()
            self._done("")

    def _keys(self) -> list[str] | None:
        """Return the mapping keys below a submission's folder; None outside one."""
        shape = [level.is_mapping for level in self._levels]
        if shape not in ([True, True], [True, True, False], [True, True, False, True]):
            return None
        return [level.key for level in self._levels[1:] if level.is_mapping]

    def _value(self, text: str) -> None:
        keys = self._keys()
        if keys is not None and len(keys) == 2 and keys[0] == "submitters":
            level = self._levels[-1]
            if level.has_key and level.key in _KNOWN:
                self.people[self._levels[0].key][-1][level.key] = text
        self._done(text)

    def _done(self, text: str) -> None:
        """Record a key of the innermost mapping, or the end of its last key's value."""
        if not self._levels or not self._levels[-1].is_mapping:
            return
        level = self._levels[-1]
        if not level.has_key:
            level.key = text.removeprefix(":")
            if len(self._levels) == 1:
                self.people.setdefault(level.key, [])
        level.has_key = not level.has_key


def _text(event: yaml.ScalarEvent) -> str:
    """Return a value's text on one line; "" for null and for values that are not text."""
    if event.tag in _BINARY:  # Ruby's tag for text of unknown encoding
        try:
            text = base64.b64decode(event.value).decode("utf-8", "replace")
        except ValueError:
            return ""
    elif event.tag is not None and event.tag.startswith("!"):  # a Ruby type
        return ""
    else:
        is_plain = event.implicit[0]
        text = "" if is_plain and event.value in _NOTHING else event.value
    return " ".join(text.split())
