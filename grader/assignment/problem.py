"""A problem of a spec (key and sentence), and the error that lists all with file and line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import toml_locations
from grader.assignment.toml_locations import KeyPath
from grader.errors import SpecError
from grader.text.did_you_mean import did_you_mean


@dataclass(frozen=True, slots=True)
class Problem:
    """One error in a spec, at a key; `message` says how to fix it.

    `file` and `line` are set for a problem in the oracle, which is a separate file.
    """

    path: KeyPath
    message: str
    file: Path | None = None
    line: int | None = None


def spec_error(file: Path, text: str, problems: Iterable[Problem]) -> SpecError:
    """Return one error that lists all problems, one per line, in the order of the file.

    Its `file`, `key` and `line` are those of the first problem.
    """
    lines = toml_locations.key_lines(text)
    errors = [
        SpecError(
            problem.message,
            file=problem.file or file,
            key=toml_locations.dotted(problem.path) or None,
            line=problem.line if problem.file else toml_locations.line_of(lines, problem.path),
        )
        # Drop duplicates: jsonschema reports a table once for each missing key.
        for problem in dict.fromkeys(problems)
    ]
    errors.sort(key=lambda error: (error.file != file, error.line or 0))
    first = errors[0]
    first.message = "\n".join(error.message for error in errors)
    first.args = (first.message,)
    return first


def named(words: Iterable[str]) -> str:
    """Return the words as text: `a`, `b`."""
    return ", ".join(f"`{word}`" for word in words)


def choices(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean `x`?" if a known word is similar, else the known words."""
    known = list(known)
    meant = did_you_mean(word, known)
    return meant or (f"; known: {named(known)}" if known else "")
