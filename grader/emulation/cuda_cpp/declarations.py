"""Splits declarations of shared and device variables by token, without a C++ parser.

Splits `static __shared__ volatile T t[N][M + 1], *p;` into its specifiers and names, and
distinguishes `__device__` variables from `__device__` functions. A place is the index of
a code token.

A scan ends at the next mark and at the end of the enclosing brackets, so that the total
time is linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.emulation.cuda_cpp.code import CLOSERS, MARKS, OPENERS, Code

_NAME = re.compile(r"[^\W\d]\w*")
_ALIGNMENTS = frozenset({"__align__", "alignas", "__attribute__", "_Alignas"})
# Words to drop, because a typedef has no storage class.
_STORAGE = frozenset({"__shared__", "extern", "static", "inline", "__device__"})
# One of these before the mark: no variable definition, or another mark handles it.
_NO_VARIABLE = MARKS | {"extern", "template", "__shared__", "__global__"}
_NO_VARIABLE_AFTER = frozenset(
    {"__global__", "__host__", "extern", "template", "operator", "~", "__shared__", "(", *CLOSERS}
)
_MAX_TOKENS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDeclaration:
    """Places in a `__shared__` declaration; `last` is its semicolon."""

    first: int
    last: int
    dropped: tuple[int, ...]
    names: tuple[int, ...]
    is_extern: bool


def split_shared(code: Code, at: int) -> SharedDeclaration | None:
    """Return the parts of the declaration around the `__shared__` at `at`."""
    first = _declaration_start(code, at, frozenset({"__shared__"}))
    if first is None:
        return None
    text = code.text
    dropped = []
    place = first
    is_extern = False
    names: list[int] = []
    candidate: int | None = None
    in_declarator = False  # past the name: subscripts, parameters
    angle = 0
    while place < at + _MAX_TOKENS:
        word = text(place)
        if not word or not code.same_region(at, place):
            return None
        if (word == "__shared__" and place != at) or word in CLOSERS:
            return None
        if word in _STORAGE:
            is_extern = is_extern or word == "extern"
            dropped.append(place)
        elif word in _ALIGNMENTS and text(place + 1) == "(":
            # The runtime aligns shared variables to 128 bytes.
            close = code.closing_anywhere(place + 1)
            if close > at + _MAX_TOKENS:
                return None
            dropped.extend(range(place, close + 1))
            place = close
        elif word in OPENERS:
            close = code.closing_anywhere(place)
            if close > at + _MAX_TOKENS:
                return None
            if word == "(" and text(place + 1) in ("*", "&") and not in_declarator:
                inside = (p for p in range(close - 1, place, -1) if _NAME.fullmatch(text(p)))
                candidate = next(inside, candidate)
            if word != "{":
                in_declarator = in_declarator or word == "["
            place = close
        elif word == "<" and not in_declarator:
            angle += 1
        elif set(word) == {">"} and angle:
            angle = max(0, angle - len(word))
        elif angle:
            pass
        elif word in (",", ";"):
            if candidate is None:
                return None
            names.append(candidate)
            candidate, in_declarator = None, False
            if word == ";":
                return SharedDeclaration(
                    first=first,
                    last=place,
                    dropped=tuple(dropped),
                    names=tuple(names),
                    is_extern=is_extern,
                )
        elif _NAME.fullmatch(word) and not in_declarator:
            candidate = place
        elif word == "=":
            in_declarator = True
        place += 1
    return None


def variable_names(code: Code, at: int) -> tuple[tuple[int, ...], int] | None:
    """Return (names, semicolon) of the variables marked at `at`; None for a function.

    Also None for templates and `extern` declarations, which are no definitions. If a
    variable has two marks, the first one registers it.
    """
    text = code.text
    first = _declaration_start(code, at, _NO_VARIABLE)
    # Only in the same region: the `>` of an `#include <…>` closes no template.
    if first is None or code.before(first) == ">":
        return None
    names: list[int] = []
    candidate: int | None = None
    in_specifiers = True  # a second mark may follow: `__device__ const __constant__ int n;`
    angle = 0
    place = at + 1
    while code.same_region(at, place):
        word = text(place)
        if word in _NO_VARIABLE_AFTER or (word in MARKS and not in_specifiers):
            return None
        if word in _ALIGNMENTS and text(place + 1) == "(":
            place = code.closing_anywhere(place + 1) + 1
            continue
        in_specifiers = in_specifiers and _is_specifier(word)
        if word in ("[", "{"):
            if word == "{" and candidate is None:
                return None
            place = code.closing_anywhere(place)
        elif word == "=":
            place = code.separator(place) - 1
        elif word == "<":
            angle += 1
        elif set(word) == {">"} and angle:
            angle = max(0, angle - len(word))
        elif angle:
            pass
        elif word in (",", ";"):
            if candidate is None:
                return None
            names.append(candidate)
            candidate = None
            if word == ";":
                return tuple(names), place
        elif _NAME.fullmatch(word):
            candidate = place
        place += 1
    return None


def _is_specifier(word: str) -> bool:
    return word in ("::", "*", "&") or _NAME.fullmatch(word) is not None


def _declaration_start(code: Code, at: int, not_before: frozenset[str]) -> int | None:
    """Return the first place of the declaration around the mark at `at`.

    None if one of the words `not_before` precedes the mark, or if the declaration is
    longer than _MAX_TOKENS.
    """
    text = code.text
    place = at
    while place > 0 and code.same_region(at, place - 1):
        word = text(place - 1)
        if at - place > _MAX_TOKENS or word in not_before:
            return None
        if word == ")":
            opened = code.opening_anywhere(place - 1)
            if opened is None or text(opened - 1) not in _ALIGNMENTS:
                break
            place = opened - 1
            continue
        if not _is_specifier(word) or word in ("else", "do"):
            break
        if word in ("define", "pragma"):
            break
        place -= 1
    # In a #define, the macro's name precedes its body.
    if place > 1 and text(place - 1) == "define" and place < at:
        place += 1
    return place
