"""Where a key of a TOML document stands, and which key was probably meant.

The standard parser tells values, not places. This walks the text once and
notes the line of every key and array element under its path, such as
("signature", "arguments", 1, "type"). The text has been parsed by `tomllib`
before, so it is known to be TOML: the walk need not be strict.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

Path = tuple[str | int, ...]

_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.S
)
_KEY = re.compile(
    r'\s*((?:"[^"\n]*"|\'[^\'\n]*\'|[\w-]+)(?:[ \t]*\.[ \t]*(?:"[^"\n]*"|[\w-]+))*)[ \t]*='
)
_HEADER = re.compile(r"[ \t]*(\[\[?)[ \t]*([^\]\n]+?)[ \t]*\]\]?")
_PART = re.compile(r'"([^"]*)"|\'([^\']*)\'|([\w-]+)')


def key_lines(text: str) -> dict[Path, int]:
    """Return the 1-based line of every table, key and array element."""
    return _Walk(text).run()


def line_of(lines: dict[Path, int], path: Iterable[str | int]) -> int | None:
    """Return the line of `path`, or of the nearest enclosing thing that has one."""
    wanted = tuple(path)
    while wanted and wanted not in lines:
        wanted = wanted[:-1]
    return lines.get(wanted)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean `x`?" for a near miss, else ""."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else ""


def _parts(dotted: str) -> Path:
    return tuple(next(part for part in match if part) for match in _PART.findall(dotted))


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}

    def run(self) -> dict[Path, int]:
        position = 0
        table: Path = ()
        while position < len(self.text):
            rest = self.text[position]
            if rest in " \t\r\n":
                position += 1
            elif rest == "#":
                position = self._line_end(position)
            elif rest == "[":
                header = _HEADER.match(self.text, position)
                if header is None:
                    return self.lines
                table = self._table(header[2], is_array=header[1] == "[[")
                self._note(table, position)
                position = header.end()
            else:
                position = self._key_value(position, table)
        return self.lines

    def _table(self, dotted: str, *, is_array: bool) -> Path:
        path: Path = ()
        parts = _parts(dotted)
        for depth, part in enumerate(parts):
            path += (part,)
            if is_array and depth == len(parts) - 1:
                self.counts[path] = self.counts.get(path, -1) + 1
            if path in self.counts:
                path += (self.counts[path],)
        return path

    def _note(self, path: Path, position: int) -> None:
        self.lines.setdefault(path, self.text.count("\n", 0, position) + 1)

    def _line_end(self, position: int) -> int:
        end = self.text.find("\n", position)
        return len(self.text) if end < 0 else end

    def _key_value(self, position: int, table: Path) -> int:
        key = _KEY.match(self.text, position)
        if key is None:
            return self._line_end(position) + 1
        path = table + _parts(key[1])
        self._note(path, key.start(1))
        return self._value(key.end(), path)

    def _skip(self, position: int, also: str = "") -> int:
        while position < len(self.text) and self.text[position] in " \t\r\n" + also + "#":
            position = self._line_end(position) if self.text[position] == "#" else position + 1
        return position

    def _value(self, position: int, path: Path) -> int:
        while position < len(self.text) and self.text[position] in " \t":
            position += 1
        string = _STRING.match(self.text, position)
        if string:
            return string.end()
        if self.text[position : position + 1] == "[":
            return self._array(position + 1, path)
        if self.text[position : position + 1] == "{":
            return self._inline_table(position + 1, path)
        while position < len(self.text) and self.text[position] not in ",]}\n#":
            position += 1
        return position

    def _array(self, position: int, path: Path) -> int:
        index = 0
        while True:
            position = self._skip(position, also=",")
            if position >= len(self.text) or self.text[position] == "]":
                return position + 1
            self._note((*path, index), position)
            position = self._value(position, (*path, index))
            index += 1

    def _inline_table(self, position: int, path: Path) -> int:
        while True:
            position = self._skip(position, also=",")
            if position >= len(self.text) or self.text[position] == "}":
                return position + 1
            position = self._key_value(position, path)
