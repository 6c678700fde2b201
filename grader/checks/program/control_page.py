"""The page of shared memory through which the judge orders a change of an output.

    judge ──orders───────→ page ──→ shim in the program: reads and wipes them before
                                    any of the student's code runs
    judge ←──observation── page ←── shim: number of calls, the touched element

`build/include/grader_program.h` repeats the layout. The program can write to the page, so an
observation counts only with the shim's token; it explains verdicts that follow from exit codes.
"""

from __future__ import annotations

import math
import mmap
import os
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

# The page's descriptor in the program; the shim has the same number.
PAGE_FD = 3
# The shim's exit code if the page is missing, which is an error of the grader.
NO_ORDERS = 125

_PAGE_BYTES = 4096
_MOST_EXTENTS = 4
_ORDERS = struct.Struct("<6Qd")
_OBSERVATION = struct.Struct(f"<4QqQ{_MOST_EXTENTS}q2d3Q32s96s")


class Kind(IntEnum):
    """What becomes of an element. Integers have no NaN, infinity or small change: they move far."""

    FAR_UP = 0
    FAR_DOWN = 1
    NOT_A_NUMBER = 2
    INFINITE = 3
    SLIGHT = 4  # by a share of 1 plus its size
    EXCHANGED = 5  # with another element, whose value differs by as much
    ALL_ZERO = 6  # and so are all others
    WHOLE_TILE = 7  # of 16 × 16 elements
    NEVER_WRITTEN = 8  # all are as they were before the call


class Place(IntEnum):
    """Which element is changed."""

    ANY = 0  # but the last
    LAST = 1
    ROW_END = 2
    EVEN = 3  # row and column
    ODD = 4
    FIRST = 5
    TOP_RIGHT = 6
    BOTTOM_LEFT = 7


_KINDS = frozenset(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What the shim does with an element of output number `output` after each call.

    With `change` it changes the element, otherwise it writes everything back unchanged. The 64-bit
    number `pick` selects the element among those of `place`. `slight` is the share of SLIGHT.
    """

    change: bool
    output: int
    place: Place
    pick: int
    kind: Kind
    slight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCall:
    """The first call of the CUDA runtime that failed: its name, why, and the address after it.

    The texts are what the program says; `offset` is from the start of the program's file.
    """

    name: str
    why: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The shim's count of calls of the entry, and the first element that it touched.

    `index` has one number for each dimension; it is empty if no element was touched. `before` and
    `after` are the element's value and changed value, `kind` is what was done, to `elements` of
    them. After `refused` of the calls the output could not be copied. `failed` is None if no call
    of the CUDA runtime failed.
    """

    calls: int
    touched: int
    refused: int
    index: tuple[int, ...]
    before: float
    after: float
    kind: Kind
    elements: int
    failed: FailedCall | None


class Page:
    """The page of one run; a context manager that closes it."""

    def __init__(self, orders: Orders) -> None:
        self.descriptor = os.memfd_create("grade", os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, _PAGE_BYTES)
        self._memory = mmap.mmap(self.descriptor, _PAGE_BYTES)
        self._token = secrets.randbits(64) | 1  # never 0, which means no call
        _ORDERS.pack_into(
            self._memory,
            0,
            self._token,
            orders.change,
            orders.output,
            orders.place,
            orders.pick,
            orders.kind,
            orders.slight,
        )

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *error: object) -> None:
        self._memory.close()
        os.close(self.descriptor)

    @property
    def taken(self) -> bool:
        """True if the shim has taken the orders, which proves that the program was started."""
        token, *_ = _ORDERS.unpack_from(self._memory)
        return bool(token != self._token)

    def observation(self) -> Observation | None:
        """Return the shim's observation; None if the student's code wrote into the page."""
        token, calls, touched, refused, linear, count, *rest = _OBSERVATION.unpack_from(
            self._memory, _ORDERS.size
        )
        if token not in (0, self._token) or count > _MOST_EXTENTS or (calls > 0) != (token > 0):
            return None
        extents = rest[:_MOST_EXTENTS][:count]
        before, after, kind, elements, failed_at, *failed = rest[_MOST_EXTENTS:]
        name, why = (text.split(b"\0")[0].decode("ascii", "replace") for text in failed)
        if (
            min(extents, default=1) < 1
            or not 0 <= linear < math.prod(extents)
            or kind not in _KINDS
        ):
            return None
        return Observation(
            calls=calls,
            touched=touched,
            refused=refused,
            index=_unravel(linear, extents),
            before=before,
            after=after,
            kind=Kind(kind),
            elements=elements,
            failed=FailedCall(name=name, why=why, offset=failed_at) if failed_at else None,
        )


def _unravel(linear: int, extents: Sequence[int]) -> tuple[int, ...]:
    index = []
    for extent in reversed(extents):
        linear, position = divmod(linear, extent)
        index.append(position)
    return tuple(reversed(index))
