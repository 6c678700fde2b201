"""The lines of the keys in a TOML document.

`tomllib` gives values without positions. This module scans the text once and records the
line of every key, table and array element by its path, such as ("signature", "arguments",
1, "type"). `tomllib` has accepted the text already, so the scan needs to recognise only
strings, comments, brackets and keys.
"""

from __future__ import annotations

import bisect
import re
import sys
from collections import Counter
from collections.abc import Iterable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KeyPath = tuple[str | int, ...]

_PART = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[\w-]+)"""
_KEY = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_KEY_AND_EQUALS = re.compile(rf"({_KEY})[ \t]*=[ \t]*")
_HEADER = re.compile(rf"(\[\[?)[ \t]*({_KEY})[ \t]*\]\]?")
# A string or a bare value. A multi-line string may end in one or two quotes before the closing
# three.
_VALUE = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|[^,\]}\n#]*",
    re.S,
)
_BETWEEN = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the 1-based line of every table, key and array element.

    A table without a header (`a` in `[a.b]` or `a.b = 1`) has the line that first names
    it; the document itself has line 1.
    """
    lines: dict[KeyPath, int] = {(): 1}
    line_starts = [match.end() for match in re.finditer("\n", text)]
    # The number of elements so far, by array; of an array of tables, too.
    elements: Counter[KeyPath] = Counter()
    tables: set[KeyPath] = set()  # arrays of tables
    table: KeyPath = ()
    # The brackets that are open: their arrays, and inline tables.
    opened: list[tuple[str, KeyPath]] = []
    position = 0

    def note(path: KeyPath) -> KeyPath:
        lines.setdefault(path, bisect.bisect_right(line_starts, position) + 1)
        return path

    def keys(path: KeyPath, key: str, *, header: str = "") -> KeyPath:
        parts = _parts(key)
        for depth, part in enumerate(parts, start=1):
            path = note((*path, part))
            if header == "[[" and depth == len(parts):
                tables.add(path)
                elements[path] += 1
            if path in tables:
                path = note((*path, elements[path] - 1))
        return path

    while (position := _end(_BETWEEN, text, position)) < len(text):
        bracket, path = opened[-1] if opened else ("", table)
        if opened and text[position] in "]}":
            opened.pop()
            position += 1
            continue
        if bracket == "[":
            elements[path] += 1
            path = note((*path, elements[path] - 1))
        elif not opened and (header := _HEADER.match(text, position)):
            table = keys((), header[2], header=header[1])
            position = header.end()
            continue
        else:
            key = _KEY_AND_EQUALS.match(text, position)
            assert key, f"no key at {position}: the text must be valid TOML"
            path = keys(path, key[1])
            position = key.end()
        if text[position] in "[{":
            opened.append((text[position], path))
            position += 1
        else:
            position = _end(_VALUE, text, position)
    return lines


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return where the match at `position` ends, which may be empty."""
    match = pattern.match(text, position)
    assert match
    return match.end()


def line_of(lines: dict[KeyPath, int], path: Iterable[str | int]) -> int:
    """Return the line of `path`, or of the nearest enclosing key that has one."""
    wanted = tuple(path)
    while wanted not in lines and wanted:
        wanted = wanted[:-1]
    return lines.get(wanted, 1)


def dotted(path: Iterable[str | int]) -> str:
    """Return a path as text: `signature.arguments[1].type`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            word = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'"{part}"'
            text += f".{word}" if text else word
    return text


def _parts(key: str) -> list[str]:
    return [_unquoted(part) for part in re.findall(_PART, key)]


def _unquoted(part: str) -> str:
    if part[0] == "'":
        return part[1:-1]
    if part[0] == '"':
        # tomllib decodes the escapes.
        return str(tomllib.loads(f"key = {part}")["key"])
    return part
