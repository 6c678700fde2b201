"""Finds the kernel expression and the configuration of a launch: `k<T, 4><<<grid, block>>>(…)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.emulation.cuda_cpp.code import CLOSERS, OPENERS, Code
from grader.emulation.cuda_cpp.tokens import Kind

# Keywords that precede an expression without being part of it.
_STATEMENTS = frozenset({"if", "while", "for", "switch", "return", "else", "do", "case", "throw"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEnd:
    """The place of the `>>>` that ends a configuration.

    `respelled` has new texts for places where the tokenizer split wrongly: in `f<2>>>>(x)`
    the first `>` closes the template.
    """

    place: int
    respelled: Mapping[int, str] = field(default_factory=dict)


def kernel_start(code: Code, at: int) -> int | None:
    """Return where the expression before `<<<` starts: `ns::k<T, 4>`, `(*f)`, `s.f[1]`."""
    place = at - 1
    while True:
        if not code.same_region(at, place):
            return None
        text = code.text(place)
        token = code.at(place)
        if token is None:
            return None
        if text and set(text) == {">"}:
            opened = _template_start(code, place)
            if opened is None:
                return None
            place = opened - 1
            continue
        if text in (")", "]"):
            opened = code.opening(place)
            if opened is None:
                return None
            if text == "]":
                place = opened - 1
                continue
            before = code.at(opened - 1)
            if before is not None and before.kind is Kind.NAME and before.text not in _STATEMENTS:
                place = opened - 1
                continue
            return opened
        if token.kind is not Kind.NAME:
            return None
        previous = code.text(place - 1)
        if previous == "##" and code.same_region(at, place - 2):
            place -= 2  # `name##_kernel`, in a macro
            continue
        if previous == "template" and code.same_region(at, place - 1):
            place -= 1
            previous = code.text(place - 1)
        if previous in ("::", ".", "->") and code.same_region(at, place - 1):
            qualifier = code.at(place - 2)
            joined = qualifier is not None and (
                (qualifier.kind is Kind.NAME and qualifier.text not in _STATEMENTS)
                or qualifier.text in (")", "]")
                or set(qualifier.text) == {">"}
            )
            if joined and code.same_region(at, place - 2):
                place -= 2
                continue
            return place - 1 if previous == "::" else None
        return place


def config_end(code: Code, at: int) -> ConfigEnd | None:
    """Return the place of the `>>>` of a launch, by counting angle brackets.

    A `<` after a name may open template arguments or be a comparison. A `>>>` closes the
    launch, unless three templates are open and another `>>>` follows in this statement. So
    does `>> >`, which nvcc takes for it, with a bracket that no template opened.
    """
    opened = 0
    place = at + 1
    while place < len(code.places):
        if not code.same_region(at, place):
            if code.at(at).directive:  # type: ignore[union-attr]  # `at` is a token
                return None
            place += 1
            continue
        text = code.text(place)
        if text in OPENERS:
            closing = code.closing(place)
            if closing is None:
                return None
            place = closing
        elif text in CLOSERS or text in (";", "<<<"):
            return None
        elif text == "<":
            opened += 1
        elif text == ">":
            # `f<2>>>>(x)`: the tokenizer took the first three for the launch.
            opened = max(0, opened - 1)
        elif text == ">>":
            if opened < 3 and code.text(place + 1) == ">":
                return ConfigEnd(place=place + 1, respelled={place: ""})
            opened = max(0, opened - 2)
        elif text == ">>>":
            if opened >= 3 and _another_run(code, place):
                opened -= 3
            elif code.text(place + 1) == ">" and opened > 0:
                # `>>>>`: the first closes a template, the last three the launch.
                return ConfigEnd(place=place + 1, respelled={place: ">", place + 1: ">>>"})
            elif code.text(place + 1) == ">>" and opened >= 2:
                return ConfigEnd(place=place + 1, respelled={place: ">>"})
            else:
                return ConfigEnd(place=place)
        place += 1
    return None


def _template_start(code: Code, at: int) -> int | None:
    """Return the place of the name before the `<` that the `>` at `at` closes."""
    depth = 0
    place = at
    while place >= 0 and code.same_region(at, place):
        text = code.text(place)
        if text and set(text) == {">"}:
            depth += len(text)
        elif text in (")", "]", "}"):
            opened = code.opening(place)
            if opened is None:
                return None
            place = opened
        elif text == "<":
            depth -= 1
            if depth == 0:
                return place
        elif text in (";", "<<<") or text in OPENERS:
            return None
        place -= 1
    return None


def _another_run(code: Code, at: int) -> bool:
    """True if a later `>>>` in this statement can close the launch."""
    place = at + 1
    while place < len(code.places) and code.same_region(at, place):
        text = code.text(place)
        if text in OPENERS:
            closing = code.closing(place)
            if closing is None:
                return False
            place = closing
        elif text in CLOSERS or text in (";", "<<<"):
            return False
        elif text == ">>>":
            return True
        place += 1
    return False
