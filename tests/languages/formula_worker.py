"""A worker of another language: it evaluates a formula in `x` for each element of an array.

python -I -S start.py formula_worker.py FILE cpu
"""

import math
import mmap
import os
import socket
import sys
from pathlib import Path

from grader.protocol import wire
from grader.worker import worker_log


class Formula:
    """The commands of `wire` that a grading on a CPU needs."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._buffers: dict[int, memoryview[float]] = {}

    def load(self) -> tuple[int, int]:
        """Compile the formula."""
        self._code = compile(Path(self._path).read_text(encoding="utf-8"), self._path, "eval")
        return wire.OK, 0

    def attach(self, about: wire.BufferMessage, descriptor: int) -> None:
        """Map one buffer."""
        access = mmap.ACCESS_WRITE if about.writable else mmap.ACCESS_READ
        mapped = mmap.mmap(descriptor, about.file_bytes, access=access)
        data = memoryview(mapped)[about.offset : about.offset + about.size]
        self._buffers[about.slot] = data.cast("f")

    def call(self, payload: bytes) -> tuple[int, int]:
        """Compute the output from the input."""
        (_, source), (_, target), (_, n) = wire.ARGUMENT.iter_unpack(payload)
        for i in range(n):
            names = {"x": self._buffers[source][i], "exp": math.exp}
            try:
                self._buffers[target][i] = eval(self._code, names)
            except Exception as error:
                worker_log.tell("exception", message=f"{type(error).__name__}: {error}")
                return wire.EXCEPTION, 0
        return wire.OK, 0


def main() -> None:
    """Serve the judge until it is done."""
    formula = Formula(sys.argv[1])
    try:
        wire.serve(
            socket.socket(fileno=wire.CHANNEL_FD),
            {
                wire.LOAD: lambda *_: formula.load(),
                wire.ATTACH: wire.for_each_buffer(formula.attach),
                wire.CALL: lambda payload, _: formula.call(payload),
                wire.DETACH: lambda *_: formula._buffers.clear(),
                wire.FINISH: lambda *_: None,
            },
        )
    except EOFError:
        os._exit(0)
