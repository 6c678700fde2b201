"""Timed bursts without a worker process: a session whose kernel is a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from builds import silu_build
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.reader import read_assignment
from grader.checks.common.case_run import RunSetup
from grader.checks.performance.buffer_pool import BufferPool, open_buffer_pool
from grader.judge.oracle import Oracle
from grader.judge.outcome import Outcome, Status
from grader.protocol import wire
from grader.vocabulary import Visibility

ASSIGNMENT = read_assignment(REPOSITORY / "assignments" / "silu")
N = 1001  # not a multiple of eight bytes
SETS = 5
ALL = tuple(range(SETS))
Entry = Callable[[torch.Tensor, torch.Tensor, int], Any]


def right(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
    """Compute SiLU as the assignment asks."""
    output.copy_(torch.nn.functional.silu(input))


class FakeSession:
    """Executes RUN immediately, in this process."""

    def __init__(self, pool: BufferPool, entry: Entry) -> None:
        self.pool = pool
        self.entry = entry
        self.calls = 0

    def load(self) -> Outcome:
        return Outcome(status=Status.DONE)

    def attach(self, buffers: list[Any]) -> Outcome:
        self.tensors = [buffer.values for buffer in buffers]
        return Outcome(status=Status.DONE)

    def detach(self) -> Outcome:
        return Outcome(status=Status.DONE)

    def prepare(self, payload: bytes) -> Outcome:
        self.prepared = wire.unpack_run(payload)[1]
        return Outcome(status=Status.DONE)

    def run(self, *, wall_s: float) -> Outcome:
        for call in self.prepared:
            values: list[Any] = [
                self.tensors[bits] if kind == wire.SLOT else bits for kind, bits in call
            ]
            self.entry(*values)
            self.calls += 1
        return Outcome(status=Status.DONE)


@contextmanager
def silu_buffer_pool(folder: Path) -> Iterator[BufferPool]:
    """Open `SETS` buffer sets of a small SiLU."""
    built = silu_build(path=folder / "silu.so")
    bench = RunSetup(assignment=ASSIGNMENT, built=built, server=None, driver=None, private=False)
    case = Case(
        name="n", sizes={"n": N}, values="random", visibility=Visibility.VISIBLE, seed=0
    )  # fmt: skip
    with open_buffer_pool(bench, Oracle(ASSIGNMENT), case, sets=SETS, seed=11) as made:
        yield made
