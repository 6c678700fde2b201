"""Hints for students, from `hints.toml`: what to do about a failure, by what is known of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from grader.text.data_file import read_data

_PLACEHOLDER = re.compile(r"\{\w+\}")


def hints(table: str) -> Mapping[str, str]:
    """Return the hints of a table of the file by their keys."""
    found: Mapping[str, str] = read_data("text/hints.toml")[table]
    return found


def filled(table: str, key: str, **values: object) -> str:
    """Return a hint with a value for each of its `{placeholders}`.

    A value is not searched for more of them: names of students may look like one. Raises KeyError
    for a placeholder without a value.
    """
    return _PLACEHOLDER.sub(lambda found: str(values[found[0][1:-1]]), hints(table)[key])


def filled_pattern(table: str, key: str) -> str:
    """Return a regular expression for a hint, whatever its placeholders are filled with."""
    return ".+".join(map(re.escape, _PLACEHOLDER.split(hints(table)[key])))


@functools.lru_cache(maxsize=64)  # the cases of a submission have few patterns
def matching_hint(message: str, *tables: str) -> str:
    """Return the first hint whose key, a regular expression, is found in the message, else ""."""
    patterns = (item for table in tables for item in hints(table).items())
    return next((hint for pattern, hint in patterns if re.search(pattern, message)), "")
