"""Which processes are ours, what they use, and how none of them is left.

    judge (subreaper)
      ├── worker                 started by us, registered, in a session of its own
      │     └── child            found below it, killed with its group
      └── daemon                 left its session; its parent died, so it is ours now

A daemon is recognised as a child that we did not start and that is not in our
session: `sweep` kills such children until there are none. `hold` keeps sweeps
off while a child is on its way that is not registered yet.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from grader.errors import GraderError

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
# A chain of processes that fork faster than we kill must not keep us for ever.
_SWEEP_S = 10.0

_lock = threading.Lock()
_started: set[int] = set()


def become_subreaper() -> None:
    """Make orphans of our programs our children, and ourselves unreadable to them.

    Call once, early: a process that is not dumpable cannot be traced, nor its
    memory and environment be read, by another of the same user.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def end_with_parent(parent: int) -> None:
    """Have the kernel end this process by SIGTERM when the thread that started it is gone."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(128 + signal.SIGTERM)  # it died before the kernel was told


@contextlib.contextmanager
def hold() -> Iterator[None]:
    """Hold off sweeps until the child started in the block is registered."""
    with _lock:
        yield


def register(pid: int) -> None:
    """Say, inside `hold`, that this child is no stray."""
    _started.add(pid)


def reap(pid: int) -> None:
    """Wait for a registered child that has died; from here on its number is free."""
    with _lock:
        os.waitpid(pid, 0)
        _started.discard(pid)


def kill_all() -> None:
    """Kill everything that we started; whoever waits for it sees its end."""
    with _lock:
        for pid in _started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            # It may not be the leader of a group yet.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def sweep() -> int:
    """Kill the children that we did not start and that left our session; return how many.

    Raises GraderError if they multiply faster than they can be killed.
    """
    deadline_s = time.monotonic() + _SWEEP_S
    killed = 0
    while strays := _kill_strays():
        killed += strays
        if time.monotonic() > deadline_s:
            raise GraderError("a hand-in's processes multiply faster than they can be ended")
    return killed


def _kill_strays() -> int:
    with _lock:
        pids = strays()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
    return len(pids)


def strays() -> list[int]:
    """Return our children that we did not start and that are not in our session."""
    ours = os.getsid(0)
    found = []
    for pid in children(os.getpid()):
        if pid in _started:
            continue
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) != ours:
                found.append(pid)
    return found


def children(pid: int) -> list[int]:
    """Return the children of a process, [] if it is gone."""
    try:
        # One file for each thread: a child belongs to the thread that forked it.
        files = list(Path(f"/proc/{pid}/task").glob("*/children"))
        if files:
            return [int(word) for file in files for word in file.read_text().split()]
        return [child.pid for child in psutil.Process(pid).children()]
    except (OSError, psutil.Error):
        return []


def members(pid: int) -> list[int]:
    """Return the process, all below it, and whatever has fled from there."""
    return [pid, *below(pid), *(each for stray in strays() for each in (stray, *below(stray)))]


def below(pid: int) -> list[int]:
    """Return the children of a process, and theirs, [] if it is gone."""
    found: list[int] = []
    waiting = children(pid)
    while waiting:
        found.append(waiting.pop())
        waiting += children(found[-1])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a program and all that it started use."""

    processes: int
    memory_mib: float


def usage(pid: int, *, granted_mib: float = 0.0) -> Usage:
    """Measure the members of `pid`, quickly and never too low.

    Memory is what they have for themselves, and what they share beyond the
    `granted_mib` of buffers that each was given to map. Pages of files are the
    kernel's to take back. Pages that a fork shares are counted for each member.
    """
    pids = members(pid)
    total_kib = 0.0
    for member in pids:
        sizes = _sizes_kib(Path(f"/proc/{member}/status"), "RssAnon", "RssShmem")
        total_kib += sizes[0] + max(0.0, sizes[1] - granted_mib * 1024)
    return Usage(processes=len(pids), memory_mib=total_kib / 1024)


def exact_memory_mib(pid: int, *, granted_mib: float = 0.0) -> float:
    """Measure memory like `usage`, slowly, every page counted once in all."""
    total_kib = 0.0
    for member in members(pid):
        rollup = Path(f"/proc/{member}/smaps_rollup")
        if _readable(rollup):
            sizes = _sizes_kib(rollup, "Pss_Anon", "Pss_Shmem")
        else:
            # A process may hide its mappings from us, but not how many pages it has.
            sizes = _sizes_kib(Path(f"/proc/{member}/status"), "RssAnon", "RssShmem")
        total_kib += sizes[0] + max(0.0, sizes[1] - granted_mib * 1024)
    return total_kib / 1024


def _readable(file: Path) -> bool:
    """True if a file below /proc can be read, which only opening it tells."""
    try:
        file.open().close()
    except OSError:
        return False
    return True


def _sizes_kib(file: Path, *keys: str) -> list[int]:
    """Return the figures behind `keys`; zeros for a process that is gone."""
    sizes = dict.fromkeys(keys, 0)
    with contextlib.suppress(OSError):
        for line in file.read_text().splitlines():
            key, _, rest = line.partition(":")
            if key in sizes:
                sizes[key] = int(rest.split()[0])
    return list(sizes.values())
