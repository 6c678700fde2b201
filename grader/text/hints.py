"""Hints for students, from `hints.toml`: what to do about a failure, by what is known of it."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Mapping
from importlib import resources

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@functools.cache
def _tables() -> dict[str, dict[str, str]]:
    text = resources.files("grader").joinpath("text/hints.toml").read_text("utf-8")
    return tomllib.loads(text)


def hints(table: str) -> Mapping[str, str]:
    """Return the hints of a table of the file by their keys."""
    return _tables()[table]


def matching_hint(message: str, *tables: str) -> str:
    """Return the first hint whose key, a regular expression, is found in the message, else ""."""
    patterns = (item for table in tables for item in hints(table).items())
    return next((hint for pattern, hint in patterns if re.search(pattern, message)), "")
