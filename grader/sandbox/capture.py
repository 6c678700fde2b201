"""Capture a pipe within bounds: the head, the tail and the number of bytes.

A submission may write gigabytes, or hold the pipe open for ever. Reading never blocks, and stops
for good once the limit is passed.
"""

from __future__ import annotations

import os

KEPT_KIB = 32  # at the head, and again at the tail: as much as a person may read


class Capture:
    """The reading end of a pipe, which this object owns.

    The middle of more than twice `keep_bytes` is dropped.
    """

    def __init__(self, descriptor: int, limit_bytes: int, keep_bytes: int = KEPT_KIB << 10) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.total_bytes = 0
        self._limit = limit_bytes
        self._keep_bytes = keep_bytes
        self._left_out = 0
        self._head = bytearray()
        self._tail = bytearray()

    @property
    def over_limit(self) -> bool:
        """True if more than the limit was read."""
        return self.total_bytes > self._limit

    def drain(self) -> bool:
        """Read what is available; False once all writers have closed."""
        while not self.over_limit:
            try:
                data = os.read(self.descriptor, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.total_bytes += len(data)
            self._keep(data)
        return True

    def _keep(self, data: bytes) -> None:
        head_bytes = self._keep_bytes - len(self._head)
        self._head += data[:head_bytes]
        self._tail += data[head_bytes:]
        surplus = max(0, len(self._tail) - self._keep_bytes)
        del self._tail[:surplus]
        self._left_out += surplus

    def text(self, since: int = 0) -> str:
        """Return the captured text without the first `since` bytes.

        A line in the middle states how many bytes were dropped.
        """
        middle = f"\n… {self._left_out} bytes left out …\n".encode() if self._left_out else b""
        tail = self._tail[max(0, since - len(self._head) - self._left_out) :]
        return bytes(self._head[since:] + middle + tail).decode("utf-8", "replace")

    def close(self) -> None:
        """Close the pipe."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
