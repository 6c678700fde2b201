"""Source lines in their surroundings, from the lines that a report keeps of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CONTEXT = 3  # lines above and below


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One line; `mark` says what happens there, or is empty."""

    number: int
    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Consecutive lines."""

    lines: tuple[SourceLine, ...]


def excerpts(source_lines: Mapping[str, str], marks: Mapping[int, str]) -> tuple[Excerpt, ...]:
    """Return the marked lines with their surroundings; nothing if the report lacks them."""
    wanted = sorted(
        {
            number
            for line in marks
            if str(line) in source_lines
            for number in range(line - CONTEXT, line + CONTEXT + 1)
            if str(number) in source_lines
        }
    )
    found: list[list[SourceLine]] = []
    for number in wanted:
        line = SourceLine(number=number, text=source_lines[str(number)], mark=marks.get(number, ""))
        if found and found[-1][-1].number == number - 1:
            found[-1].append(line)
        else:
            found.append([line])
    return tuple(Excerpt(lines=tuple(lines)) for lines in found)
