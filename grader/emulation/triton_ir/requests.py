"""What a launch requests of global memory: warps' requests, sectors, and how few would do.

    access of a block ─→ layout: which lane of which warp has which element
                      ─→ PTX: how many of its elements one instruction moves
                      ─→ of each warp and instruction the addresses of its active lanes
                      ─→ sectors

As a GPU counts without its caches: a request is one instruction of one warp with an active lane.
Its sectors are the distinct 32-byte pieces that its lanes touch, its ideal sectors as many as the
distinct bytes that it requests would fill. All threads that hold an element load it, the first of
them alone stores it, or copies it to shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from grader.emulation.common.location import Location
from grader.emulation.common.warp_requests import OFF, Line, count_warps
from grader.emulation.triton_ir import layouts, ptx
from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.layouts import UnknownLayoutError
from grader.emulation.triton_ir.types import Tensor
from grader.protocol.targets import WARP

COPY = "ttg.async_copy_global_to_local"
# Lanes that are sorted at once.
_MOST_LANES = 1 << 21


class UncountedError(Exception):
    """The compiler's output does not say which thread accesses what, at `at`."""

    def __init__(self, why: object, at: Location | None) -> None:
        super().__init__(str(why))
        self.at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """How the threads of a program share an access: elements and lanes by (access, warp, lane)."""

    elements: torch.Tensor
    active: torch.Tensor | None  # None: all
    bytes: int


@dataclass(slots=True, kw_only=True)
class Requests:
    """The requests of the launches of one kernel, by line.

    `begin` says how the launch that follows was compiled.
    """

    lines: dict[tuple[int | None, str, int], Line] = field(default_factory=dict)
    _widths: ptx.Widths = field(default_factory=ptx.Widths)
    _encodings: Mapping[str, str] = field(default_factory=dict)
    _warps: int = 0
    _shapes: dict[int, _Shape] = field(default_factory=dict)

    def begin(self, widths: ptx.Widths, encodings: Mapping[str, str], warps: int) -> None:
        """Start a launch."""
        self._widths, self._encodings, self._warps = widths, encodings, warps
        self._shapes = {}

    def count(
        self,
        access: str,
        op: Operation,
        size: int,
        batch: int,
        addresses: torch.Tensor,
        mask: torch.Tensor | None,
    ) -> None:
        """Count an access of a batch of programs, of elements of `size` bytes, where it is on.

        Addresses and mask are `(batch or 1, *block)`. Raises UncountedError.
        """
        shape = self._shapes.get(id(op))
        if shape is None:
            shape = self._shapes[id(op)] = self._shape(access, op, size)
        block = addresses.shape[1:]
        flat = addresses.expand(batch, *block).reshape(batch, -1)
        on = None if mask is None else mask.expand(batch, *block).reshape(batch, -1)
        step = max(1, _MOST_LANES // shape.elements.numel())
        line = op.location.line if op.location else None
        key = line, access, shape.bytes
        entry = self.lines.setdefault(key, Line(*key))
        for first in range(0, batch, step):
            part = slice(first, first + step)
            _count(entry, shape, flat[part], None if on is None else on[part])

    def _shape(self, access: str, op: Operation, size: int) -> _Shape:
        kind = op.given[0]
        try:
            width = self._width("copy" if op.name == COPY else access, op.location)
            if isinstance(kind, Tensor):
                found = layouts.layout(kind.encoding, kind.shape, self._warps, self._encodings)
            else:
                found = layouts.scalar(self._warps)
            together, rest = divmod(width, size)
            if rest or not together or (op.name == "tt.atomic_cas" and together > 1):
                raise ptx.UnknownWidthError(f"the compiler made accesses of {width} bytes of it")
            elements = found.elements(together)
        except (UnknownLayoutError, ptx.UnknownWidthError) as error:
            raise UncountedError(error, op.location) from error
        active = None
        if access != "load" or op.name == COPY:
            threads = found.first_threads()
            active = None if bool(threads.all()) else threads.expand(elements.shape)
        return _Shape(elements=elements, active=active, bytes=width)

    def _width(self, access: str, at: Location | None) -> int:
        try:
            return self._widths.of(access, at)
        except ptx.UnknownWidthError:
            if access != "atomic":
                raise
            return self._widths.of("load", at)  # an atomic that only reads


def _count(entry: Line, shape: _Shape, addresses: torch.Tensor, on: torch.Tensor | None) -> None:
    index = shape.elements.reshape(-1)
    lanes = addresses[:, index].view(-1, WARP)
    off = None if shape.active is None else ~shape.active.reshape(-1).expand(len(addresses), -1)
    if on is not None:
        masked = ~on[:, index]
        off = masked if off is None else off | masked
    if off is not None:
        lanes = torch.where(off.reshape(-1, WARP), OFF, lanes)
    count_warps(entry, lanes, shape.bytes)
