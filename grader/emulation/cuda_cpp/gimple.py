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
from functools import cached_property
from itertools import pairwise

_HEADER = re.compile(r"^;; Function (.+) \((\S+), funcdef_no=\d+, ", re.MULTILINE)
_ATTRIBUTES = re.compile(r"^__attribute__\(\((.*)\)\)$")
_PLACE = re.compile(r"\[([^\[\]\n]*):(\d+):(\d+)(?: discrim \d+)?\] ?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_DECLARED = re.compile(r"([\w.]+)(?:\[[^;]*\])*(?: \[value-expr: .*\])?;$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement without its places and strings; `place` is (file, line, column), if known."""

    text: str
    place: tuple[str, int, int] | None


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function as the compiler knows it; `symbol` is the assembler's name.

    `text` is all that the dump has of it. It is read on demand: most functions are the headers'.
    """

    name: str
    symbol: str
    text: str

    @property
    def attributes(self) -> frozenset[str]:
        """The GNU attributes."""
        found = _ATTRIBUTES.match(self._head[0])
        return frozenset(found[1].replace(",", " ").split() if found else ())

    @property
    def signature(self) -> str:
        """The line with its type and parameters."""
        return self._head[1]

    @property
    def own_names(self) -> frozenset[str]:
        """The names of its parameters and locals."""
        return self._body[0]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Its statements, in the order of the dump."""
        return self._body[1]

    @cached_property
    def _head(self) -> tuple[str, str]:
        """The attributes, and the signature."""
        attributes, signature = "", ""
        for line in self.text.partition("\n{\n")[0].split("\n")[1:]:
            if line and not line.startswith(";;"):
                attributes = signature if _ATTRIBUTES.match(signature) else ""
                signature = line
        return attributes, signature

    @cached_property
    def _body(self) -> tuple[frozenset[str], tuple[Statement, ...]]:
        own_names = set(re.findall(r"[^\W\d]\w*", _parameters(self.signature)))
        statements = []
        for line in self.text.partition("\n{\n")[2].partition("\n}")[0].split("\n"):
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
        return frozenset(own_names), tuple(statements)


def functions(dump: str) -> Iterator[Function]:
    """Yield the functions of a dump, in its order."""
    headers = list(_HEADER.finditer(dump))
    starts = [*(header.start() for header in headers), len(dump)]
    for header, (start, end) in zip(headers, pairwise(starts), strict=True):
        yield Function(name=header[1], symbol=header[2], text=dump[start:end])


def spellings(symbol: str) -> Iterator[str]:
    """Yield a symbol, and for a constructor or destructor the names of its other variants."""
    yield symbol
    for match in re.finditer(r"[CD][24](?=[EI])", symbol):
        for variant in "0124":
            yield f"{symbol[: match.start() + 1]}{variant}{symbol[match.end() :]}"


def _parameters(signature: str) -> str:
    return signature.partition(" (")[2]
