"""How many bytes a thread moves by one instruction, from the PTX that the compiler made.

Whether four neighbouring elements of a thread are one load of 16 bytes or four of 4, the compiler
decides by what it can prove of addresses and masks. PTX says so, below the place of each
instruction in the source, which an inlined function has once for every call:

    .loc    1 4 19          // v1.py:4:19 @[ v1.py:12:21 ]
    @%p2 ld.global.v4.b32 { … }, [ %rd10 + 0 ];
    cp.async.cg.shared.global [ %r22 + 0 ], [ %rd14 + 0 ], 0x10, %r23;

The text comes from a compiler that has read a submission's IR. It is read line by line, by
expressions that cannot backtrack far.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.emulation.common.location import Location

MOST_CHARACTERS = 64 << 20
_MOST_LINE = 2000
_MOST_CALLERS = 50

# (file, line, column), then where that function was inlined, and so on.
Place = tuple[tuple[str, int, int], ...]

_LOC = re.compile(r"\s*\.loc\s+\d+\s+\d+\s+\d+\s.*?//\s*(.*)$")
_PLACE = re.compile(r"([^@\[\]]{1,300}):(\d{1,9}):(\d{1,9})\s")
_COPY = re.compile(r"\scp\.async\.c[ag]\.shared\.global[^\]]*\][^\]]*\],\s*(0x[0-9a-f]+|\d+)")
_ACCESS = re.compile(r"\s(ld|st|atom|red)((?:\.[\w:]+)+)\s")
_TYPE = re.compile(r"(?:\.v(\d))?\.(?:[busf]|bf)(\d+)(x2)?$")
_KINDS = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}


class UnknownWidthError(ValueError):
    """PTX does not say how wide an access is."""


@dataclass(frozen=True, slots=True)
class Widths:
    """The bytes of the accesses of each kind at each place of the source."""

    by_place: Mapping[tuple[str, Place], frozenset[int]] = field(default_factory=dict)

    def of(self, kind: str, at: Location | None) -> int:
        """Return the bytes that a thread moves by one instruction of this kind, here.

        Kinds are load, store, atomic and copy. Raises UnknownWidthError.
        """
        place = _place(at)
        found = self.by_place.get((kind, place))
        if found is None:
            # Some versions leave out some of the calls.
            found = frozenset[int]().union(
                *(w for (k, p), w in self.by_place.items() if k == kind and p[:1] == place[:1])
            )
        if len(found) != 1:
            what = "no instruction" if not found else "instructions of different widths"
            raise UnknownWidthError(f"the compiler made {what} of it")
        return next(iter(found))


def _place(at: Location | None) -> Place:
    place: list[tuple[str, int, int]] = []
    while at is not None and len(place) < _MOST_CALLERS:
        place.append((at.file.rpartition("/")[2], at.line, at.column))
        at = at.caller
    return tuple(place)


def widths(text: str) -> Widths:
    """Read the widths of all accesses of global memory. Raises UnknownWidthError."""
    if len(text) > MOST_CHARACTERS:
        raise UnknownWidthError(f"PTX of more than {MOST_CHARACTERS:,} characters")
    found: dict[tuple[str, Place], set[int]] = {}
    here: Place = ()
    for line in text.split("\n"):
        if len(line) > _MOST_LINE:
            continue
        if ".loc" in line and (match := _LOC.match(line)):
            here = tuple(
                (file.strip(), int(row), int(column))
                for file, row, column in _PLACE.findall(f"{match[1]} ")
            )
        elif ".global" not in line:
            continue
        elif match := _COPY.search(line):
            found.setdefault(("copy", here), set()).add(int(match[1], 0))
        elif (match := _ACCESS.search(line)) and "global" in match[2].split("."):
            found.setdefault((_KINDS[match[1]], here), set()).add(_width(match[2]))
    return Widths({key: frozenset(of) for key, of in found.items()})


def _width(suffix: str) -> int:
    """Return the bytes of `.global.v4.b32`; 0 if that is unknown."""
    match = _TYPE.search(suffix)
    if match is None:
        return 0
    return int(match[1] or 1) * int(match[2]) * (2 if match[3] else 1) // 8
