"""Reads the compiler's dump of its intermediate code (GIMPLE): functions, marks, statements.

g++ writes the dump with `-fdump-tree-PASS-lineno-asmname`. A function in it:

    ;; Function k (_Z1kPf, funcdef_no=17, decl_uid=30397, cgraph_uid=864, symbol_order=1369)
    __attribute__((noclone))
    void k (float * s)
    {
      float x;

      [k.cu:6:43] _5 = _Z5twicef (_4);
    }
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = re.compile(r"^;; Function (.+) \((\S+), funcdef_no=\d+, ")
_ATTRIBUTES = re.compile(r"^__attribute__\(\((.*)\)\)$")
_PLACE = re.compile(r"\[([^\[\]\n]*):(\d+):(\d+)(?: discrim \d+)?\] ?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_DECLARED = re.compile(r"([\w.]+)(?:\[[^;]*\])*(?: \[value-expr: .*\])?;$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement without its places and strings; `place` is (file, line, column), if known."""

    text: str
    place: tuple[str, int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function as the compiler knows it.

    `symbol` is the assembler's name, `own_names` are those of its parameters and locals.
    """

    name: str
    symbol: str
    attributes: frozenset[str]
    signature: str
    own_names: frozenset[str]
    statements: tuple[Statement, ...]


def functions(dump: str) -> Iterator[Function]:
    """Yield the functions of a dump, in its order."""
    lines = iter(dump.split("\n"))
    for line in lines:
        header = _HEADER.match(line)
        if header is None:
            continue
        attributes, signature = "", ""
        for line in lines:
            if line.startswith("{"):
                break
            if line and not line.startswith(";;"):
                attributes = signature if _ATTRIBUTES.match(signature) else ""
                signature = line
        found = _ATTRIBUTES.match(attributes)
        own_names = set(re.findall(r"[^\W\d]\w*", _parameters(signature)))
        statements = []
        for line in lines:
            if line.startswith("}"):
                break
            text = line.strip()
            if not text or text.startswith(("<bb ", "<L", "# ", "static ")):
                continue
            place = _PLACE.match(text)
            bare = _PLACE.sub("", _STRING.sub('""', text))
            declared = _DECLARED.search(bare) if place is None and " = " not in bare else None
            if declared:
                own_names.add(declared[1])
                continue
            statements.append(
                Statement(
                    text=bare,
                    place=(place[1], int(place[2]), int(place[3])) if place else None,
                )
            )
        yield Function(
            name=header[1],
            symbol=header[2],
            attributes=frozenset(found[1].replace(",", " ").split() if found else ()),
            signature=signature,
            own_names=frozenset(own_names),
            statements=tuple(statements),
        )


def spellings(symbol: str) -> Iterator[str]:
    """Yield a symbol, and for a constructor or destructor the names of its other variants."""
    yield symbol
    for match in re.finditer(r"[CD][24](?=[EI])", symbol):
        for variant in "0124":
            yield f"{symbol[: match.start() + 1]}{variant}{symbol[match.end() :]}"


def _parameters(signature: str) -> str:
    return signature.partition(" (")[2]
