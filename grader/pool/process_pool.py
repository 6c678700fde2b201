"""Processes that do tasks side by side, one grading in each at a time.

    grade verify, ──task──→ member: imports torch once, keeps a Python server
    grade batch   ←answer─    └── compilers, hand-ins: found below it, ended with it

Not more than one grading in a process: at its end it ends every process below
its own. The channel carries pickles, between programs of ours only: no program
that runs a hand-in inherits it. A member that dies costs its task, which is
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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

from grader.errors import GraderError
from grader.pool.worker_process import READY
from grader.system.retry import patiently

# As in the process that starts it: installed, or run from a folder.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from grader.pool.worker_process import main; main(sys.argv[2], *map(int, sys.argv[3:]))"
)
# A member that is told to end has compilers and hand-ins to end first.
_END_S = 15.0
# In a row: of members that were never ready, or, on request, of any.
_MOST_DEATHS = 3
# Addresses and keys of a cluster are no business of a process that grades.
_CLUSTERS = ("DASK_", "SLURM_")


class Task(Protocol):
    """A piece of work; `weight` is a guess at its seconds, for the longest to be first."""

    @property
    def weight(self) -> float:
        """A guess at the seconds that it takes."""


T = TypeVar("T", bound=Task)
A = TypeVar("A")
P = TypeVar("P", bound="Pool[Any, Any]")


@dataclass(slots=True, eq=False)
class _Member(Generic[T]):
    process: subprocess.Popen[bytes]
    channel: Connection
    slot: int
    ready: bool = False
    task: T | None = None
    overdue: bool = False
    since_s: float = field(default_factory=time.monotonic)


class Pool(Generic[T, A]):
    """So many members; use as a context manager, from the main thread.

    `doer` names what does a task, "module:function"; `failed` makes the answer
    of a task whose member died, of the task and a sentence. Where `deaths_end`
    is true, several deaths in a row end the run, whatever was being done.
    `patience_s`, if given, is the longest that one task may take. `slots` are
    changes of the members' environment, one each. `unusable`, of such changes
    and an answer from there, may say why nothing more is to be done there: the
    task then goes to another place, and `given_up` has the sentence. The last
    place is never given up.
    """

    def __init__(
        self,
        jobs: int,
        doer: str,
        failed: Callable[[T, str], A],
        *,
        deaths_end: bool = True,
        patience_s: float | None = None,
        slots: Sequence[Mapping[str, str]] = (),
        unusable: Callable[[Mapping[str, str], A], str] = lambda slot, answer: "",
    ) -> None:
        self._jobs = jobs
        self._doer = doer
        self._failed = failed
        self._deaths_end = deaths_end
        self._patience_s = patience_s
        self._slots = slots
        self._unusable = unusable
        self._given_up: dict[int, str] = {}  # by the slot's number
        self._threads = max(1, len(os.sched_getaffinity(0)) // jobs)
        self._members: list[_Member[T]] = []
        self._waiting: list[T] = []

    def __enter__(self: P) -> P:
        return self

    def __exit__(self, *_: object) -> None:
        """End all of them, whatever they are doing."""
        for member in self._members:
            member.channel.close()
            if member.task is not None:
                member.process.terminate()
        for member in self._members:
            _end(member.process)

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of the members."""
        return tuple(member.process.pid for member in self._members)

    @property
    def given_up(self) -> tuple[str, ...]:
        """Why places are used no more, a sentence for each."""
        return tuple(dict.fromkeys(self._given_up.values()))

    def add(self, task: T) -> None:
        """Have a task done last, once more perhaps; while `results` is read."""
        self._waiting.insert(0, task)

    def results(self, tasks: Sequence[T]) -> Iterator[tuple[T, A]]:
        """Yield each task with its answer as it is done, the long ones begun first."""
        self._waiting = sorted(tasks, key=lambda task: task.weight)
        useless = 0
        while self._waiting or any(member.task is not None for member in self._members):
            while self._waiting and (slot := self._free_slot()) is not None:
                self._start(slot)
            for member in self._members:
                usable = member.slot not in self._given_up
                if member.task is None and self._waiting and usable:
                    member.task = self._waiting.pop()
                    member.since_s = time.monotonic()
                    with contextlib.suppress(BrokenPipeError):  # its death is seen below
                        member.channel.send(member.task)
            for member in self._answering():
                task = member.task
                assert task is not None
                try:
                    received = member.channel.recv()
                    if received == READY:
                        member.ready = True
                        continue
                    member.task = None
                    useless = 0
                    answer: A = received
                except (EOFError, ConnectionResetError):
                    how = self._death(member)
                    answer = self._failed(task, how)
                    if self._deaths_end or not member.ready:
                        useless += 1
                    if useless >= _MOST_DEATHS:
                        raise GraderError(how) from None
                    if not (member.ready or self._deaths_end):
                        self._waiting.append(task)  # it was never looked at
                        continue
                if self._slots and self._give_up(member.slot, answer):
                    self._waiting.append(task)
                    continue
                yield task, answer

    def _free_slot(self) -> int | None:
        taken = {member.slot for member in self._members} | self._given_up.keys()
        return next((number for number in range(self._jobs) if number not in taken), None)

    def _give_up(self, slot: int, answer: A) -> bool:
        """True if the answer says that its place is of no use, and there are others."""
        changes = self._slots[slot]
        why = self._unusable(changes, answer)
        same = {number for number in range(self._jobs) if self._slots[number] == changes}
        if not why or len(self._given_up.keys() | same) == self._jobs:
            return False
        for number in same:
            self._given_up.setdefault(number, why)
        return True

    def _answering(self) -> list[_Member[T]]:
        busy = [member for member in self._members if member.task is not None]
        patience_s = None if self._patience_s is None else 1.0
        ready = wait([member.channel for member in busy], patience_s)
        if self._patience_s is not None:
            for member in busy:
                if time.monotonic() - member.since_s > self._patience_s:
                    member.overdue = True
                    # It has a session of its own, and what is below it dies with it.
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(member.process.pid, signal.SIGKILL)
        return [member for member in busy if member.channel in ready]

    def _start(self, slot: int) -> None:
        changes = self._slots[slot] if self._slots else {}
        ours, theirs = socket.socketpair()
        with theirs:
            process = patiently(
                lambda: subprocess.Popen(
                    [
                        *(sys.executable, "-c", _START, json.dumps(sys.path), self._doer),
                        *(str(theirs.fileno()), str(os.getpid()), str(self._threads)),
                    ],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    env={**_environment(), **changes},
                )
            )
        channel = Connection(ours.detach())
        self._members.append(_Member(process=process, channel=channel, slot=slot))

    def _death(self, member: _Member[T]) -> str:
        """Take a dead member away; say how it died."""
        self._members.remove(member)
        member.channel.close()
        code = member.process.wait()
        if member.overdue:
            return f"it was not done after {self._patience_s:g} s, and was ended"
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"the process that was to do it ended {how}"


def _environment() -> dict[str, str]:
    """Return ours, without what leads to a cluster."""
    return {key: value for key, value in os.environ.items() if not key.startswith(_CLUSTERS)}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that is on its way out; kill it where that takes too long."""
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        # What it started dies with it, by the kernel's hand.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
