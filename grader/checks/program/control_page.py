"""The page of memory through which the judge orders a change and sees that it was made.

    judge ──orders──→ page ──→ shim in the program: takes them before any line of
                               the student's runs, and wipes them
    judge ←──seen──── page ←── shim: calls of the entry, the element it touched

`build/include/grader_program.h` has the layout, too. The page stays writable
by the program: what it says counts only with the token that the shim took, and
explains what the judge decides by exit codes.
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

# Descriptor of the page in the program, as the shim knows it.
PAGE_FD = 3
# What the program ends with if the page is not there, which is our fault.
NO_ORDERS = 125

_PAGE_BYTES = 4096
_MOST_EXTENTS = 4
_ORDERS = struct.Struct("<6Q")
_SEEN = struct.Struct(f"<4QqQ{_MOST_EXTENTS}q2d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What the shim is to do with output number `output` after each call.

    `change` False writes the element back as it was. The element is the last
    one, or the one that the 64-bit number `pick` chooses.
    """

    change: bool
    output: int
    last: bool
    pick: int
    negative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the shim saw: calls of the entry, and the first element that it touched.

    `index` has one number for each dimension; it is empty if no element was
    touched. `after` is what a changed element became. `refused` calls left an
    output that could not be copied.
    """

    calls: int
    touched: int
    refused: int
    index: tuple[int, ...]
    before: float
    after: float


class Page:
    """The page of one run; a context manager that gives it back."""

    def __init__(self, orders: Orders) -> None:
        self.descriptor = os.memfd_create("grade", os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, _PAGE_BYTES)
        self._memory = mmap.mmap(self.descriptor, _PAGE_BYTES)
        self._token = secrets.randbits(64) | 1  # a page without a call has 0
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
        """True if the shim has taken the orders: then the program was started."""
        token, *_ = _ORDERS.unpack_from(self._memory)
        return bool(token != self._token)

    def seen(self) -> Seen | None:
        """Return what the shim wrote: None if the page was written by somebody else."""
        token, calls, touched, refused, linear, count, *rest = _SEEN.unpack_from(
            self._memory, _ORDERS.size
        )
        if token not in (0, self._token) or count > _MOST_EXTENTS or (calls > 0) != (token > 0):
            return None
        extents, (before, after) = rest[:_MOST_EXTENTS][:count], rest[_MOST_EXTENTS:]
        if min(extents, default=1) < 1 or not 0 <= linear < math.prod(extents):
            return None
        return Seen(
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
