"""What a load leaves in lanes that its mask switches off, if it names no `other`.

On a GPU: whatever was in the register. In the interpreter: 0, which hides the
bug in every sum. Here: values that show. In the floats every third lane is
NaN, which no arithmetic hides, then a huge and a hugely negative value,
because a maximum or minimum passes over NaN; integers get a number that is no
likely index.

The NaN's lowest bits say which load it came from; additions, products and
quotients keep them. So a store that writes one can name that load.
"""

from typing import Any

import numpy as np

_Array = np.ndarray[Any, np.dtype[Any]]

# A quiet NaN with a tag that arithmetic does not produce, and room for the site.
_NAN = {2: (0x7F00, 8), 4: (0x7FD50000, 16), 8: (0x7FFD5A0000000000, 16)}
_INTEGER = 0x5A


class Garbage:
    """The values, and which lines they came from."""

    def __init__(self) -> None:
        self._sites: list[int | None] = []

    def begin(self) -> None:
        """Start a call."""
        self._sites.clear()

    def fill(self, lanes: int, kind: Any, line: int | None) -> _Array:
        """Return garbage of numpy type `kind` for the lanes that the load in `line` leaves out."""
        kind = np.dtype(kind)
        if kind == np.bool_:
            return np.ones(lanes, kind)
        if kind.kind != "f":
            return np.full(lanes, int.from_bytes(bytes([_INTEGER]) * kind.itemsize, "little"), kind)
        if line not in self._sites:
            self._sites.append(line)
        nan, room = _NAN[kind.itemsize]
        site = self._sites.index(line) % (1 << room)
        huge = np.finfo(kind).max / 2
        values = np.empty(lanes, kind)
        values[0::3] = np.array(nan | site, f"u{kind.itemsize}").view(kind)
        values[1::3] = huge
        values[2::3] = -huge
        return values

    def found(self, values: _Array) -> tuple[_Array, int | None] | None:
        """Return (which of the values are our NaNs, the load's line), None if none are."""
        if not self._sites or values.dtype.kind != "f" or values.itemsize not in _NAN:
            return None
        nan, room = _NAN[values.itemsize]
        magnitude = (1 << values.itemsize * 8 - 1) - 1
        bits = np.ascontiguousarray(values).view(f"u{values.itemsize}") & magnitude
        ours = bits >> room == nan >> room
        if not ours.any():
            return None
        site = int(bits[ours][0]) & ((1 << room) - 1)
        return (ours, self._sites[site]) if site < len(self._sites) else None
