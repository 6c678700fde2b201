"""The page of shared memory through which the judge orders a change of an output element.

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
from types import TracebackType

# The page's descriptor in the program; the shim has the same number.
PAGE_FD = 3
# The shim's exit code if the page is missing, which is an error of the grader.
NO_ORDERS = 125

_PAGE_BYTES = 4096
_MOST_EXTENTS = 4
_ORDERS = struct.Struct("<6Q")
_OBSERVATION = struct.Struct(f"<4QqQ{_MOST_EXTENTS}q2d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What the shim does with one element of output number `output` after each call.

    With `change` it changes the element, otherwise it writes it back unchanged. The element is the
    last one, or one that the 64-bit number `pick` selects.
    """

    change: bool
    output: int
    last: bool
    pick: int
    negative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The shim's count of calls of the entry, and the first element that it touched.

    `index` has one number for each dimension; it is empty if no element was touched. `before` and
    `after` are the element's value and changed value. After `refused` of the calls the output
    could not be copied.
    """

    calls: int
    touched: int
    refused: int
    index: tuple[int, ...]
    before: float
    after: float


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
            orders.last,
            orders.pick,
            orders.negative,
        )

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        extents, (before, after) = rest[:_MOST_EXTENTS][:count], rest[_MOST_EXTENTS:]
        if min(extents, default=1) < 1 or not 0 <= linear < math.prod(extents):
            return None
        return Observation(
            calls=calls,
            touched=touched,
            refused=refused,
            index=_unravel(linear, extents),
            before=before,
            after=after,
        )


def _unravel(linear: int, extents: Sequence[int]) -> tuple[int, ...]:
    index = []
    for extent in reversed(extents):
        linear, position = divmod(linear, extent)
        index.append(position)
    return tuple(reversed(index))
