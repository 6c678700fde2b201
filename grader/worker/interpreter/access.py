"""One access of a block, lane by lane: where it goes, and what it may do there.

    addresses, mask ──→ the lanes that are on
        │  inside their tensor, aligned, not a store to an input?   else: finding, lane off
        │  met by another lane or program?                          finding
        │  memory that nothing has written?                         finding
        ▼
    shadow and counters updated ──→ the lanes that may go on

A lane that must not go on is switched off, so that a wild pointer crashes
nothing and the next fault is found too.
"""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.worker.interpreter import lanes as triton_lanes
from grader.worker.interpreter import regions

if TYPE_CHECKING:
    from grader.worker.interpreter import counters, findings, shadow

_Array = np.ndarray[Any, np.dtype[Any]]


class Launch:
    """What the accesses of one launch have in common."""

    def __init__(self, kernel: "counters.Kernel", clock: "shadow.Clock") -> None:
        self.kernel = kernel
        self.clock = clock
        self.grid: tuple[int, ...] = (1, 1, 1)
        self.program = (0, 0, 0)
        self.regions: list[regions.Region] = []


class Accesses:
    """Checks accesses of the launch that is running."""

    def __init__(self, file: str, ledger: "findings.Ledger", peek: Any) -> None:
        self._file = file
        self._ledger = ledger
        self._peek = peek  # (addresses, bytes) → the words there, unsigned
        self.launch: Launch | None = None

    def line(self) -> int | None:
        """Return the line of the hand-in that is running, the innermost."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self._file:
                return frame.f_lineno
            if frame.f_back is None:
                return None
            frame = frame.f_back
        return None

    def line_of(self, error: BaseException | None) -> int | None:
        """Return the innermost line of the hand-in that an error came from, or that is running."""
        if error is None:
            return self.line()
        line = None
        while error is not None:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_code.co_filename == self._file:
                    line = trace.tb_lineno
                trace = trace.tb_next
            error = error.__cause__
        return line

    def check(
        self,
        access: str,
        pointers: Any,
        active: _Array,
        values: Any = None,
        *,
        reads: bool = True,
        writes: bool = True,
    ) -> _Array | None:
        """Check one access; return the lanes that may go on, None if all of `active` may.

        `values` are what a store writes. An atomic that does not look at what
        was there has `reads` False, one that only looks `writes` False.
        """
        launch = self.launch
        if launch is None:
            return None  # not inside a launch that we know of
        addresses = pointers.data
        if active.shape != addresses.shape:
            active = np.broadcast_to(active, addresses.shape)
        whole = bool(active.all())
        lanes = (addresses.reshape(-1) if whole else addresses[active]).view(np.int64)
        if not lanes.size:
            return None
        if values is not None:
            values = np.broadcast_to(values, addresses.shape)
            values = values.reshape(-1) if whole else values[active]
        size = regions.element_bytes(pointers)
        region = regions.of(pointers)
        one = triton_lanes.OneAccess(self, launch, access, size, values, reads, writes)
        good = one.in_region(region, lanes) if region is not None else one.anywhere(lanes)
        if good is None:
            return None
        remaining: _Array = active.copy()
        remaining[active] = good
        return remaining

    def report(
        self, kind: str, one: triton_lanes.OneAccess, name: str | None, **words: Any
    ) -> None:
        """Add a finding; `words` holds `message`, a function, and what else `Ledger.add` takes."""
        message = words.pop("message")
        severity = words.setdefault("severity", "error")
        if not self._ledger.known(kind, severity, one.access, name, one.line):
            self._ledger.add(
                kind,
                message(),
                access=one.access,
                tensor=name,
                line=one.line,
                kernel=one.launch.kernel.kernel,
                program=one.launch.program,
                **words,
            )

    def remark(
        self, kind: str, access: str, name: str | None, message: Any, **more: object
    ) -> None:
        """Add a warning about the line that is running, of no address in particular."""
        if self.launch is None:
            return
        line = self.line()
        if not self._ledger.known(kind, "warning", access, name, line):
            self._ledger.add(
                kind,
                message(),
                access=access,
                tensor=name,
                line=line,
                offset=None,
                kernel=self.launch.kernel.kernel,
                program=self.launch.program,
                severity="warning",
                **more,
            )

    def peek(self, addresses: _Array, size: int) -> _Array:
        """Return the words at addresses that are known to be good."""
        found: _Array = self._peek(addresses, size)
        return found
