"""A pool of processes that do tasks in parallel, one grading at a time in each.

    grade verify, ──task──→ pool worker: imports torch once, keeps a Python server
    grade batch   ←answer─    └── compilers, submissions: its children, ended with it

A process does one grading at a time, because a grading ends every child of its
process. The channel carries pickles, between trusted processes only: no process
that runs a submission inherits it. If a worker dies, the pool reports its task as
failed and starts another worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from grader.errors import GraderError
from grader.pool.worker_process import READY
from grader.system.retry import retry_start

# Copies sys.path, so that the worker imports the same modules as this process.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from {} import main; main(*sys.argv[2:])"
)
_END_S = 15.0  # for a worker to end compilers and submissions after SIGTERM
# In a row: of workers that were never ready; with `deaths_end`, of any workers.
_MOST_DEATHS = 3
# A grading process must not see the address or keys of a cluster.
_CLUSTERS = ("DASK_", "SLURM_")


T = TypeVar("T")
A = TypeVar("A")
P = TypeVar("P", bound="Pool[Any, Any]")


@dataclass(slots=True, eq=False)
class _Worker(Generic[T]):
    process: subprocess.Popen[bytes]
    channel: Connection
    slot: int
    ready: bool = False
    task: T | None = None
    overdue: bool = False
    since_s: float = field(default_factory=time.monotonic)


class Pool(Generic[T, A]):
    """A pool of `jobs` workers; use as a context manager, from the main thread.

    `function` ("module:function") does a task. `failed` returns the answer for a
    task whose worker died, from the task and the reason. With `deaths_end`,
    several deaths in a row end the run; otherwise only deaths of workers that
    were never ready do. `patience_s` limits the time of one task.

    `slots` are changes of the environment, one for each worker. `unusable` returns
    a reason to stop using the slot that gave this answer, or "": the task then goes
    to another slot and `given_up` has the reason. The last usable slot is kept.
    """

    def __init__(
        self,
        jobs: int,
        function: str,
        failed: Callable[[T, str], A],
        *,
        deaths_end: bool = True,
        patience_s: float | None = None,
        slots: Sequence[Mapping[str, str]] = (),
        unusable: Callable[[Mapping[str, str], A], str] = lambda slot, answer: "",
    ) -> None:
        self._jobs = jobs
        self._function = function
        self._failed = failed
        self._deaths_end = deaths_end
        self._patience_s = patience_s
        self._slots = slots
        self._unusable = unusable
        self._given_up: dict[int, str] = {}  # by the slot's number
        self._cores = sorted(os.sched_getaffinity(0))
        self._threads = max(1, len(self._cores) // jobs)
        self._workers: list[_Worker[T]] = []
        self._waiting: list[T] = []

    def __enter__(self: P) -> P:
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers, busy ones too."""
        for worker in self._workers:
            worker.channel.close()
            if worker.task is not None:
                worker.process.terminate()
        for worker in self._workers:
            _end(worker.process)

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the workers."""
        return tuple(worker.process.pid for worker in self._workers)

    @property
    def given_up(self) -> tuple[str, ...]:
        """The reasons why slots are no longer used."""
        return tuple(dict.fromkeys(self._given_up.values()))

    def add(self, task: T) -> None:
        """Append a task, for example another attempt, while `results` is being read."""
        self._waiting.append(task)

    def results(self, tasks: Sequence[T]) -> Iterator[tuple[T, A]]:
        """Start the tasks in this order; yield each with its answer as soon as it is done."""
        self._waiting = list(tasks)
        deaths = 0
        while self._waiting or any(worker.task is not None for worker in self._workers):
            self._hand_out()
            for worker in self._answering():
                task = worker.task
                assert task is not None
                try:
                    received = worker.channel.recv()
                    if received == READY:
                        worker.ready = True
                        continue
                    worker.task = None
                    deaths = 0
                    answer: A = received
                except (EOFError, ConnectionResetError):
                    reason = self._remove(worker)
                    answer = self._failed(task, reason)
                    if self._deaths_end or not worker.ready:
                        deaths += 1
                    if deaths >= _MOST_DEATHS:
                        raise GraderError(reason) from None
                    if not (worker.ready or self._deaths_end):
                        self._waiting.insert(0, task)  # the worker died before it saw the task
                        continue
                if self._slots and self._give_up(worker.slot, answer):
                    self._waiting.insert(0, task)
                    continue
                yield task, answer

    def _hand_out(self) -> None:
        """Start missing workers and give each idle worker a task."""
        while self._waiting and (slot := self._free_slot()) is not None:
            self._start(slot)
        for worker in self._workers:
            if worker.task is None and self._waiting and worker.slot not in self._given_up:
                worker.task = self._waiting.pop(0)
                worker.since_s = time.monotonic()
                with contextlib.suppress(BrokenPipeError):  # `results` notices that it died
                    worker.channel.send(worker.task)

    def _own_core(self, slot: int) -> list[int]:
        """Return the core of a slot's worker, if there are as many of both; else nothing.

        A judge and its submission take turns. On a core of their own neither finds a cold cache or
        waits for a sleeping core to wake: `grade verify silu` takes a tenth less.
        """
        return [self._cores[slot]] if self._jobs == len(self._cores) else []

    def _free_slot(self) -> int | None:
        taken = {worker.slot for worker in self._workers} | self._given_up.keys()
        return next((number for number in range(self._jobs) if number not in taken), None)

    def _give_up(self, slot: int, answer: A) -> bool:
        """Give up the slot if the answer shows that it is unusable and others are left."""
        changes = self._slots[slot]
        reason = self._unusable(changes, answer)
        same = {number for number in range(self._jobs) if self._slots[number] == changes}
        if not reason or len(self._given_up.keys() | same) == self._jobs:
            return False
        for number in same:
            self._given_up.setdefault(number, reason)
        return True

    def _answering(self) -> list[_Worker[T]]:
        """Return the busy workers with something to read; kill those that are overdue."""
        busy = [worker for worker in self._workers if worker.task is not None]
        patience_s = None if self._patience_s is None else 1.0
        ready = wait([worker.channel for worker in busy], patience_s)
        if self._patience_s is not None:
            for worker in busy:
                if time.monotonic() - worker.since_s > self._patience_s:
                    worker.overdue = True
                    _kill(worker.process)
        return [worker for worker in busy if worker.channel in ready]

    def _start(self, slot: int) -> None:
        changes = self._slots[slot] if self._slots else {}
        environment = {k: v for k, v in os.environ.items() if not k.startswith(_CLUSTERS)}
        ours, theirs = socket.socketpair()
        with theirs:
            command = python_command(
                "grader.pool.worker_process",
                self._function,
                theirs.fileno(),
                os.getpid(),
                self._threads,
                *self._own_core(slot),
            )
            process = retry_start(
                lambda: subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    env={**environment, **changes},
                )
            )
        self._workers.append(_Worker(process=process, channel=Connection(ours.detach()), slot=slot))

    def _remove(self, worker: _Worker[T]) -> str:
        """Remove a dead worker; return how it died."""
        self._workers.remove(worker)
        worker.channel.close()
        code = worker.process.wait()
        if worker.overdue:
            return f"not finished after {self._patience_s:g} s; the worker process was killed"
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"the worker process ended {how}"


def python_command(module: str, *arguments: str | int) -> list[str]:
    """Return the command that calls the module's `main` in a new Python process."""
    start = _START.format(module)
    return [sys.executable, "-c", start, json.dumps(sys.path), *map(str, arguments)]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has ended; kill it if that takes too long."""
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        _kill(process)
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker's process group; its children in other sessions die with their parent."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
