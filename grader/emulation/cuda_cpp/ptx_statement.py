"""Finds the parts of an `asm` statement, by token."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.emulation.cuda_cpp.code import Code
from grader.emulation.cuda_cpp.tokens import Kind

ASSEMBLY = frozenset({"asm", "__asm", "__asm__"})
_QUALIFIERS = frozenset({"volatile", "__volatile__", "__volatile"})
# PTX mnemonics have types after dots (ld.global.f32); host assembly has none.
PTX = re.compile(r"\b[a-z][a-z0-9_]*(?:\.[a-z0-9_:]+)+|\b(?:membar|bar|trap|exit|ret)\b")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyStatement:
    """The template with its operands numbered, their expressions, and the place after the `)`."""

    template: str
    operands: tuple[str, ...]
    end: int


def read_assembly(code: Code, at: int) -> AssemblyStatement | None:
    """Return the PTX statement whose `asm` is at a place.

    None if it is no PTX, or if its template is not made of literals.
    """
    place = at + 1
    while code.text(place) in _QUALIFIERS:
        place += 1
    close = code.closing(place) if code.text(place) == "(" else None
    if close is None:
        return None
    template, place = _literals(code, place + 1)
    if not PTX.search(template) or code.text(place) not in (":", "::", ")"):
        return None
    operands: list[str] = []
    names: dict[str, int] = {}
    sections = 0
    while place < close:
        text = code.text(place)
        if text in (":", "::"):
            sections += len(text)
        elif sections >= 3 or text == ",":
            pass
        elif text == "[" and code.text(place + 2) == "]":
            names[code.text(place + 1)] = len(operands)
            place += 2
        elif text.startswith('"') and code.text(place + 1) == "(":
            end = code.closing(place + 1)
            if end is None:
                return None
            operands.append(f"({code.spelling(place + 2, end - 1)})")
            place = end
        else:
            return None
        place += 1
    for name, number in names.items():
        template = template.replace(f"%[{name}]", f"%{number}")
    return AssemblyStatement(
        template=template.replace("%%", "%"), operands=tuple(operands), end=close + 1
    )


def _literals(code: Code, place: int) -> tuple[str, int]:
    """Return the joined string literals from a place on, and the place after them."""
    parts = []
    token = code.at(place)
    while token is not None and token.kind is Kind.STRING:
        if token.text.startswith("R"):
            parts.append(token.text[token.text.index("(") + 1 : token.text.rindex(")")])
        else:
            parts.append(
                re.sub(
                    r"\\(.)", lambda m: _ESCAPES.get(m[1], " "), token.text[1:-1], flags=re.DOTALL
                )
            )
        place += 1
        token = code.at(place)
    return "".join(parts), place
