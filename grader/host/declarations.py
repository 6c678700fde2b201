"""Reading a declaration by token, without a C++ parser.

Enough to split `static __shared__ volatile T t[N][M + 1], *p;` into its
specifiers and the names it declares, and to tell a `__device__` variable from
a `__device__` function. A place is the index of a code token; `text` and
`same` are the rewriter's accessors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Text = Callable[[int], str]
Same = Callable[[int, int], bool]

_NAME = re.compile(r"[^\W\d]\w*")
_ALIGNMENTS = frozenset({"__align__", "alignas", "__attribute__", "_Alignas"})
# Words that go, because a typedef has no storage class.
_STORAGE = frozenset({"__shared__", "extern", "static", "inline", "__device__"})
_MAX_TOKENS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDeclaration:
    """Places in a `__shared__` declaration; `last` is its semicolon."""

    first: int
    last: int
    dropped: tuple[int, ...]
    names: tuple[int, ...]
    is_extern: bool


def split_shared(text: Text, same: Same, at: int) -> SharedDeclaration | None:
    """Return the parts of the declaration around the `__shared__` at `at`."""
    first = _declaration_start(text, same, at)
    dropped = []
    place = first
    is_extern = False
    names: list[int] = []
    candidate: int | None = None
    in_declarator = False  # past the name: subscripts, parameters
    angle = 0
    while place < at + _MAX_TOKENS:
        word = text(place)
        if not word or not same(at, place):
            return None
        if word in _STORAGE:
            is_extern = is_extern or word == "extern"
            dropped.append(place)
        elif word in _ALIGNMENTS and text(place + 1) == "(":
            # Shared variables are placed at multiples of 128 bytes anyway.
            close = _close(text, place + 1)
            dropped.extend(range(place, close + 1))
            place = close
        elif word in ("(", "[", "{"):
            close = _close(text, place)
            if word == "(" and text(place + 1) in ("*", "&") and not in_declarator:
                names_in = [p for p in range(place, close) if _NAME.fullmatch(text(p))]
                candidate = names_in[-1] if names_in else candidate
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


def variable_names(text: Text, same: Same, at: int) -> tuple[tuple[int, ...], int] | None:
    """Return (names, semicolon) of the variables marked at `at`; None for a function.

    Templates and `extern` declarations are left alone: they are no definitions.
    """
    first = _declaration_start(text, same, at)
    marks = ("__device__", "__constant__", "__managed__")
    if _follows_template(text, same, first) or any(
        text(p) in ("extern", "template", "__shared__", "__global__", *marks)
        for p in range(first, at)  # of two marks on one variable the first registers it
    ):
        return None
    names: list[int] = []
    candidate: int | None = None
    angle = 0
    place = at + 1
    while same(at, place):
        word = text(place)
        if word in ("__global__", "__host__", "extern", "template", "operator", "~", "__shared__"):
            return None
        if word in _ALIGNMENTS and text(place + 1) == "(":
            place = _close(text, place + 1)
        elif word in ("(", ")", "}"):
            return None
        elif word in ("[", "{"):
            if word == "{" and candidate is None:
                return None
            place = _close(text, place)
        elif word == "=":
            place = _initializer_end(text, place) - 1
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


def is_function_scope(text: Text, at: int) -> bool:
    """True unless every brace open at `at` belongs to a namespace or linkage block."""
    depth = 0
    for place in range(at - 1, -1, -1):
        word = text(place)
        if word == "}":
            depth += 1
        elif word == "{":
            if depth:
                depth -= 1
                continue
            before = place - 1
            words: list[str] = []
            while before >= 0 and text(before) not in (";", "{", "}", ")") and len(words) < 12:
                words.append(text(before))
                before -= 1
            namespace = (
                "namespace" in words
                or (bool(words) and words[-1] == "extern")
                or (len(words) >= 2 and words[-2] == "extern")
            )
            if not namespace and not ('"C"' in words or '"C++"' in words):
                return True
    return False


def _follows_template(text: Text, same: Same, first: int) -> bool:
    """True after `template <…>`; the `>` of an `#include <…>` on a line between does not count."""
    before = first - 1
    while before >= 0 and not same(first, before):
        before -= 1
    return text(before) == ">"


def _declaration_start(text: Text, same: Same, at: int) -> int:
    place = at
    while place > 0 and same(at, place - 1):
        word = text(place - 1)
        if word == ")":
            opened = _open(text, place - 1)
            if opened is None or text(opened - 1) not in _ALIGNMENTS:
                break
            place = opened - 1
            continue
        if not (_NAME.fullmatch(word) or word in ("::", "*", "&")) or word in ("else", "do"):
            break
        if word in ("define", "pragma"):
            break
        place -= 1
    # In a #define, the macro's own name stands before its body.
    if place > 1 and text(place - 1) == "define" and place < at:
        place += 1
    return place


def _close(text: Text, at: int) -> int:
    depth = 0
    place = at
    while text(place):
        if text(place) in ("(", "[", "{"):
            depth += 1
        elif text(place) in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return place
        place += 1
    return place


def _open(text: Text, at: int) -> int | None:
    depth = 0
    for place in range(at, -1, -1):
        if text(place) in (")", "]", "}"):
            depth += 1
        elif text(place) in ("(", "[", "{"):
            depth -= 1
            if depth == 0:
                return place
    return None


def _initializer_end(text: Text, at: int) -> int:
    """Return the place of the comma or semicolon after an initializer."""
    place = at
    while text(place) not in ("", ",", ";"):
        place = _close(text, place) if text(place) in ("(", "[", "{") else place
        place += 1
    return place
