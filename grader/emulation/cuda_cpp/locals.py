"""Finds local variables that are declared without a value, by token: `float sum, acc[4][8];`.

A run that fails for an unknown reason is repeated with these marked (`rewriter.rewrite`): the
runtime fills them and reports reads of the filling. Variables that this module overlooks, such as
those of a template's type, are not looked at; one that has a constructor is not filled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.emulation.cuda_cpp.code import CLOSERS, OPENERS, Code
from grader.emulation.cuda_cpp.tokens import tokenize

_NAME = re.compile(r"[^\W\d]\w*")
# A statement that begins with one of these declares no such variable.
_OTHER = frozenset(
    {
        "return",
        "else",
        "delete",
        "throw",
        "goto",
        "case",
        "default",
        "do",
        "new",
        "using",
        "typedef",
    }
    | {"static", "extern", "thread_local", "constexpr", "template", "friend", "namespace", "asm"}
    | {"struct", "class", "enum", "union", "public", "private", "protected", "operator"}
    | {"if", "for", "while", "switch", "auto", "void"}
    | {"__shared__", "__device__", "__constant__", "__managed__"}
)
_ALIGNMENTS = frozenset({"alignas", "__align__"})
# What stands before the brace of a function or of a statement's block.
_BEFORE_BLOCK = frozenset({")", "else", "do", "try", "const", "noexcept", "mutable"})
_IN_BLOCK = frozenset({";", "{", "}", ":"})
_MOST_TOKENS = 200  # of a declaration


def has_bare_locals(text: str) -> bool:
    """True if a file declares a local variable without a value."""
    return next(uninitialised(Code(tokenize(text))), None) is not None


def uninitialised(code: Code) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the place of each declaration's semicolon, and the names without a value."""
    blocks = [False]  # for each open bracket: is it the brace of a block?
    for place in range(len(code.places)):
        text, before = code.text(place), code.text(place - 1)
        if blocks[-1] and before in _IN_BLOCK and _NAME.fullmatch(text):
            found = _declaration(code, place)
            if found is not None:
                yield found
        if text in OPENERS:
            within = blocks[-1] and before in _IN_BLOCK
            blocks.append(text == "{" and (within or before in _BEFORE_BLOCK))
        elif text in CLOSERS and len(blocks) > 1:
            blocks.pop()


def _declaration(code: Code, first: int) -> tuple[int, tuple[str, ...]] | None:
    """Return the semicolon and the names of a declaration that begins at a place."""
    token = code.at(first)
    if token is None or token.directive:
        return None
    place, words = first, 0
    while code.text(place) in _ALIGNMENTS and code.text(place + 1) == "(":
        place = code.closing_anywhere(place + 1) + 1
    while _NAME.fullmatch(code.text(place)) or code.text(place) == "::":
        if code.text(place) in _OTHER:
            return None
        words += code.text(place) != "::" and code.text(place - 1) != "::"
        place += 1
    if words < 2:
        return None
    place -= 1  # the first variable's name
    names: list[str] = []
    while place < first + _MOST_TOKENS:
        name = code.text(place)
        if not _NAME.fullmatch(name) or not code.same_region(first, place):
            return None
        place += 1
        while code.text(place) == "[":
            closing = code.closing(place)
            if closing is None:
                return None
            place = closing + 1
        if code.text(place) in (",", ";"):
            names.append(name)
        elif code.text(place) not in ("=", "{", "("):
            return None
        while code.text(place) not in (",", ";", ""):
            closing = code.closing(place) if code.text(place) in OPENERS else place
            if closing is None or code.text(place) in CLOSERS:
                return None
            place = closing + 1
        if code.text(place) == ";" and code.same_region(first, place):
            return place, tuple(names)
        place += 1
    return None
