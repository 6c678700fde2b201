"""Processes that do tasks side by side, one grading in each at a time.

    grade verify ──task──→ worker: imports torch once, keeps a Python server
                 ←─rows──    └── compilers, hand-ins: found below it, ended with it

Not more than one grading in a process: at its end it ends every process below
its own. The channel carries pickles, between programs of ours only: no program
that runs a hand-in inherits it. A worker that dies costs its task, which is
reported, and is replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from grader.errors import GraderError
from grader.verify.row import Row
from grader.verify.tasks import Task, failed

# As in the process that starts it: installed, or run from a folder.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from grader.verify.worker import main; main(*map(int, sys.argv[2:]))"
)
# A worker that is told to end has compilers and hand-ins to end first.
_END_S = 15.0
_MOST_DEATHS = 3  # of workers that never did a task: they cannot be started here


@dataclass(slots=True, eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    channel: Connection
    task: Task | None = None


class Pool:
    """So many workers; use as a context manager, from the main thread."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._threads = max(1, len(os.sched_getaffinity(0)) // jobs)
        self._workers: list[_Worker] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        """End all of them, whatever they are doing."""
        for worker in self._workers:
            worker.channel.close()
            if worker.task is not None:
                worker.process.terminate()
        for worker in self._workers:
            try:
                worker.process.wait(_END_S)
            except subprocess.TimeoutExpired:
                # What it started dies with it, by the kernel's hand.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(worker.process.pid, signal.SIGKILL)
                worker.process.wait()

    def results(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, tuple[Row, ...]]]:
        """Yield each task with its rows as it is done, the long ones begun first."""
        waiting = sorted(tasks, key=lambda task: task.weight)
        useless = 0
        while waiting or any(worker.task for worker in self._workers):
            while waiting and len(self._workers) < self._jobs:
                self._start()
            for worker in self._workers:
                if worker.task is None and waiting:
                    worker.task = waiting.pop()
                    with contextlib.suppress(BrokenPipeError):  # its death is seen below
                        worker.channel.send(worker.task)
            for worker in self._answering():
                task = worker.task
                assert task is not None
                try:
                    rows: tuple[Row, ...] = worker.channel.recv()
                    worker.task = None
                    useless = 0
                except (EOFError, ConnectionResetError):
                    rows = (failed(task, self._death(worker)),)
                    useless += 1
                    if useless >= _MOST_DEATHS:
                        raise GraderError(rows[0].note) from None
                yield task, rows

    def _answering(self) -> list[_Worker]:
        busy = [worker for worker in self._workers if worker.task is not None]
        ready = wait([worker.channel for worker in busy])
        return [worker for worker in busy if worker.channel in ready]

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-c", _START, json.dumps(sys.path)),
                    *(str(theirs.fileno()), str(os.getpid()), str(self._threads)),
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._workers.append(_Worker(process=process, channel=Connection(ours.detach())))

    def _death(self, worker: _Worker) -> str:
        """Take a dead worker away; say how it died."""
        self._workers.remove(worker)
        worker.channel.close()
        code = worker.process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"the process that was to do it ended {how}"
