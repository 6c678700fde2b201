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
from collections.abc import Iterable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KeyPath = tuple[str | int, ...]

# A multi-line string may end in one or two quotes before the closing three.
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.S,
)
_PART = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[\w-]+)"""
_KEY = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*")
_HEADER = re.compile(rf"(\[\[?)[ \t]*({_KEY.pattern})[ \t]*\]\]?")
_BARE_VALUE = re.compile(r"[^,\]}\n#]*")
_COMMENT = re.compile(r"#[^\n]*")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the 1-based line of every table, key and array element.

    A table without a header (`a` in `[a.b]` or `a.b = 1`) has the line that first names
    it; the document itself has line 1.
    """
    return _Scan(text).run()


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


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.line_starts = [match.end() for match in re.finditer("\n", text)]
        self.lines: dict[KeyPath, int] = {(): 1}
        # The index of the last element so far, by array of tables.
        self.last: dict[KeyPath, int] = {}

    def run(self) -> dict[KeyPath, int]:
        position = self._skip(0)
        table: KeyPath = ()
        while position < len(self.text):
            header = _HEADER.match(self.text, position)
            if header:
                table = self._table(header[2], position, is_array=header[1] == "[[")
                position = header.end()
            else:
                position = self._key_value(position, table)
            position = self._skip(position)
        return self.lines

    def _table(self, key: str, position: int, *, is_array: bool) -> KeyPath:
        path: KeyPath = ()
        parts = _parts(key)
        for depth, part in enumerate(parts, start=1):
            path += (part,)
            self._note(path, position)
            if is_array and depth == len(parts):
                self.last[path] = self.last.get(path, -1) + 1
            if path in self.last:
                path += (self.last[path],)
                self._note(path, position)
        return path

    def _note(self, path: KeyPath, position: int) -> None:
        self.lines.setdefault(path, bisect.bisect_right(self.line_starts, position) + 1)

    def _skip(self, position: int, also: str = "") -> int:
        """Return the next position that is no whitespace, comment or character of `also`."""
        while position < len(self.text):
            comment = _COMMENT.match(self.text, position)
            if comment:
                position = comment.end()
            elif self.text[position] in " \t\r\n" or self.text[position] in also:
                position += 1
            else:
                break
        return position

    def _key_value(self, position: int, table: KeyPath) -> int:
        key = _KEY.match(self.text, position)
        assert key, f"no key at {position}: the text must be valid TOML"
        path = table
        for part in _parts(key[0]):
            path += (part,)
            self._note(path, position)
        return self._value(self._skip(key.end(), also="="), path)

    def _value(self, position: int, path: KeyPath) -> int:
        """Scan the value that starts at `position`; return its end."""
        string = _STRING.match(self.text, position)
        if string:
            return string.end()
        opening = self.text[position : position + 1]
        if opening == "[":
            return self._array(position + 1, path)
        if opening == "{":
            return self._inline_table(position + 1, path)
        bare = _BARE_VALUE.match(self.text, position)
        assert bare
        return bare.end()

    def _array(self, position: int, path: KeyPath) -> int:
        index = 0
        while True:
            position = self._skip(position, also=",")
            if self.text[position] == "]":
                return position + 1
            self._note((*path, index), position)
            position = self._value(position, (*path, index))
            index += 1

    def _inline_table(self, position: int, path: KeyPath) -> int:
        while True:
            position = self._skip(position, also=",")
            if self.text[position] == "}":
                return position + 1
            position = self._key_value(position, path)
