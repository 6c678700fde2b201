"""Splits C++ into the tokens that the rewriter needs.

A token has its text and its start. Comments, string and character literals (also raw
ones) and numbers are single tokens, so nothing inside them is taken for code. Whitespace,
comments and line splices are tokens, too: the concatenated texts are the file, except that
`<< <`, which nvcc takes for the beginning of a launch and formatters write, has its blank behind.

`directive` is the number of the preprocessor directive that contains the token, so that
no statement extends across the boundary of a `#define`.
"""

from __future__ import annotations

import re
import time
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """The kind of a token."""

    SPACE = "space"
    COMMENT = "comment"
    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    PUNCTUATION = "punctuation"


_MOST_TOKENS = 400_000  # a kernel has some thousands; a megabyte of brackets has a million
_MOST_CPU_S = 10.0
_CHECKED_EVERY = 256


class TooComplicatedError(Exception):
    """The file is larger, or takes more work, than any real kernel file."""


class CpuBudget:
    """A limit on the CPU time for one file, in this thread.

    Every pass over a file is linear, so no file should reach the limit. CPU time is
    independent of the machine's load.
    """

    def __init__(self) -> None:
        self._end_s = time.thread_time() + _MOST_CPU_S

    def check(self, at: int) -> None:
        """Raise TooComplicatedError if the time is used up; `at` counts the calls."""
        if at % _CHECKED_EVERY == 0 and time.thread_time() > self._end_s:
            raise TooComplicatedError("the file takes too long to analyse")


class Token(NamedTuple):  # a tuple, for speed
    """A piece of the file. `directive` is 0 outside preprocessor lines."""

    kind: Kind
    text: str
    start: int
    directive: int

    @property
    def is_code(self) -> bool:
        """False for whitespace and comments."""
        return self.kind not in (Kind.SPACE, Kind.COMMENT)


# Order matters: raw strings before names, `<<<` before shorter punctuation.
# An unterminated string extends to the end of its line, a comment to the end of the file.
_PATTERN = re.compile(
    r"""
    (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\((?s:.*?)(?:\)(?P=delimiter)"|\Z))
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\r\n]|\\(?:\r\n|(?s:.)))*(?:"|(?=[\r\n])|\Z))
  | (?P<character>(?:u8|[uUL])?'(?:[^'\\\r\n]|\\(?:\r\n|(?s:.)))*(?:'|(?=[\r\n])|\Z))
  | (?P<comment>//(?:[^\\\r\n]|\\(?:\r\n|(?s:.)))*|/\*(?s:.*?)(?:\*/|\Z))
  | (?P<splice>\\\r?\n)
  | (?P<newline>\r\n|\n|\r)
  | (?P<space>[^\S\r\n]+)
  | (?P<name>[^\W\d]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
  | (?P<launch>(?<!operator)(?<!operator[ ])<<[ \t]+<(?![<=]))
  | (?P<punctuation><<<|>>>|<<=|>>=|<=>|->\*|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\#\#
      |[-+*/%&|^]=|(?s:.))
    """,
    re.VERBOSE,
)

_KINDS = {
    "raw": Kind.STRING,
    "string": Kind.STRING,
    "character": Kind.STRING,
    "comment": Kind.COMMENT,
    "splice": Kind.SPACE,
    "newline": Kind.SPACE,
    "space": Kind.SPACE,
    "name": Kind.NAME,
    "number": Kind.NUMBER,
    "launch": Kind.PUNCTUATION,
    "punctuation": Kind.PUNCTUATION,
}


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a file; their concatenated texts are `text`, with `<<<` for `<< <`.

    Raises TooComplicatedError.
    """
    tokens: list[Token] = []
    directive = 0
    directives = 0
    line_begins = True
    for match in _PATTERN.finditer(text):
        group = match.lastgroup
        if group == "delimiter" or group is None:
            group = "raw"
        kind = _KINDS[group]
        if len(tokens) == _MOST_TOKENS:
            raise TooComplicatedError(f"more than {_MOST_TOKENS:,} words and symbols")
        if group == "newline":
            directive = 0
        elif line_begins and match.group() == "#":
            directives += 1
            directive = directives
        spelling = match.group()
        if group == "launch":
            tokens.append(Token(kind=kind, text="<<<", start=match.start(), directive=directive))
            kind, spelling = Kind.SPACE, spelling[2:-1]
        start = match.end() - len(spelling)
        tokens.append(Token(kind=kind, text=spelling, start=start, directive=directive))
        if group == "newline":
            line_begins = True
        elif kind not in (Kind.SPACE, Kind.COMMENT):
            line_begins = False
    return tokens


def split_at_commas(text: str) -> list[str]:
    """Split at the commas outside brackets, those of templates too; an empty end is left out."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if text[place - 1 : place + 1] == "->":
            continue
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts
