"""The judge's child processes: start, list, measure and kill them, and leave none behind.

    judge (subreaper)
      ├── worker                 started here, registered, in a session of its own
      │     └── child            found below the worker, killed with its group
      └── daemon                 left its session; its parent died, so it is the judge's child

A stray process is a child that the judge did not start and that is not in the judge's session:
`sweep` kills strays until there are none. `delay_sweeps` delays sweeps while a child that is not
registered yet is being started. The set of registered children belongs to this process, as its
children do, and so is module state.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from grader.errors import GraderError
from grader.system.retry import retry_start

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
# A chain of processes that fork faster than they are killed must not hold the judge for ever.
_KILL_S = 10.0
# One that was killed is still there while the driver of a GPU frees what it held.
_END_S = 60.0
_NOT_ENDED = f"a submission's process was killed {_END_S:g} s ago and has not ended"
_REAP_S = 1.0  # for strays; those that are left are looked for again
_TICKS = os.sysconf("SC_CLK_TCK")  # in a second, of /proc/PID/stat

_lock = threading.Lock()
_started: set[int] = set()


def become_subreaper() -> None:
    """Make orphans of the judge's programs its children, and the judge unreadable to them.

    Call once, early. Another process of the same user cannot trace a process that is not
    dumpable, nor read its memory or environment.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def end_with_parent(parent: int) -> None:
    """Have the kernel end this process by SIGTERM when the thread that started it is gone."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(128 + signal.SIGTERM)  # the parent died before the call above


def start(
    command: Sequence[str], environment: Mapping[str, str], moves: Sequence[tuple[int, int]]
) -> int:
    """Start `command` as a registered child and return its pid.

    `moves` are pairs of a descriptor of this process and its number in the child. The child's
    standard input is /dev/null. Raises GraderError if the machine cannot start a process.
    """
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    # Two steps through high numbers, so that no source is overwritten before it is copied.
    moves = [(null, 0), *moves]
    high = max(200, *(source + 1 for source, _ in moves))
    actions = [(os.POSIX_SPAWN_DUP2, source, high + i) for i, (source, _) in enumerate(moves)]
    actions += [(os.POSIX_SPAWN_DUP2, high + i, target) for i, (_, target) in enumerate(moves)]

    def spawn() -> int:
        with delay_sweeps():
            pid = os.posix_spawn(
                command[0], tuple(command), dict(environment), file_actions=actions
            )
            register(pid)
        return pid

    try:
        return retry_start(spawn)
    finally:
        os.close(null)


@contextlib.contextmanager
def delay_sweeps() -> Iterator[None]:
    """Delay sweeps until the child started in the block is registered."""
    with _lock:
        yield


def register(pid: int) -> None:
    """Mark a child as started by the judge; call it inside `delay_sweeps`."""
    _started.add(pid)


def reap(pid: int) -> None:
    """Wait for a registered child that has died; the kernel may reuse its pid afterwards."""
    with _lock:
        os.waitpid(pid, 0)
        _started.discard(pid)


def kill_all() -> None:
    """Kill every registered child; the thread that waits for it sees its end."""
    with _lock:
        for pid in _started:
            # The child may not lead a process group yet.
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(pid, signal.SIGKILL)


def kill_until_none(kill: Callable[[], Sequence[int]], poll_s: float = 0.0) -> int:
    """Call `kill`, which returns the processes that it found, until there are none; count them all.

    Raises GraderError if they multiply faster than they can be killed, or do not end.
    """
    began_s = time.monotonic()
    first: set[int] = set()
    total = 0
    while found := kill():
        first = first or set(found)
        total += len(found)
        tried_s = time.monotonic() - began_s
        if tried_s > _KILL_S and not first.issuperset(found):
            raise GraderError("a submission starts processes faster than they can be killed")
        if tried_s > _END_S:
            raise GraderError(_NOT_ENDED)
        time.sleep(poll_s)
    return total


def wait_for_killed(pidfd: int) -> None:
    """Wait until a process that was killed has ended. Raises GraderError if it does not."""
    if not readable(pidfd, _END_S):
        raise GraderError(_NOT_ENDED)


def readable(descriptor: int, wait_s: float) -> bool:
    """Wait so long for a descriptor; True if it can be read: a pidfd when its process has ended."""
    poll = select.poll()  # takes descriptors of any number
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(wait_s * 1000))


def sweep() -> int:
    """Kill stray processes until there are none; return how many were killed.

    Raises GraderError if they multiply faster than they can be killed, or do not end.
    """
    return kill_until_none(_kill_strays)


def _kill_strays() -> list[int]:
    with _lock:
        pids = strays()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        left, until_s = pids, time.monotonic() + _REAP_S
        while left := [pid for pid in left if not _reaped(pid)]:
            if time.monotonic() > until_s:
                break
            time.sleep(0.001)
    return pids


def _reaped(pid: int) -> bool:
    """Reap a child if it has died; True if it is gone."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def strays() -> list[int]:
    """Return the children that the judge did not start and that are not in its session.

    The kernel gives an orphan to the subreaper's first thread that lives, which is its main thread
    (`find_alive_thread` in Linux's kernel/exit.c). The other threads, a hundred with torch, are not
    searched: each system call of a thread of Python waits for the others.
    """
    session, judge = os.getsid(0), os.getpid()
    found = []
    for pid in _children(judge, [Path(f"/proc/{judge}/task/{judge}")]):
        if pid in _started:
            continue
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) != session:
                found.append(pid)
    return found


def children(pid: int) -> list[int]:
    """Return the children of a process, [] if it is gone."""
    try:
        # A child belongs to the thread that forked it.
        return _children(pid, list(Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return []


def _children(pid: int, threads: Sequence[Path]) -> list[int]:
    """Return the children of these threads; of all, where the kernel keeps no such lists."""
    found: list[int] = []
    for thread in threads:
        try:
            found += map(int, (thread / "children").read_text().split())
        except FileNotFoundError:
            if not Path(f"/proc/{pid}/task/{pid}/children").exists():
                return _listed_children(pid)
        except OSError:
            pass  # the thread has ended
    return found


def _listed_children(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []


def members(pid: int) -> list[int]:
    """Return the process, its descendants, and all stray processes with their descendants."""
    return [
        pid,
        *descendants(pid),
        *(each for stray in strays() for each in (stray, *descendants(stray))),
    ]


def descendants(pid: int) -> list[int]:
    """Return the descendants of a process, [] if it is gone."""
    found: list[int] = []
    waiting = children(pid)
    while waiting:
        found.append(waiting.pop())
        waiting += children(found[-1])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a program and all its descendants use."""

    processes: int
    memory_mib: float


def usage(pid: int, *, granted_mib: float = 0.0) -> Usage:
    """Measure the members of `pid`, quickly and never too low.

    Memory is private memory plus shared memory beyond the `granted_mib` of buffers that each
    member may map. The page cache does not count: the kernel can take it back. Pages that a
    fork shares are counted for each member.
    """
    pids = members(pid)
    sizes = [_status_sizes_kib(member) for member in pids]
    return Usage(processes=len(pids), memory_mib=_total_mib(sizes, granted_mib))


def exact_memory_mib(pid: int, *, granted_mib: float = 0.0) -> float:
    """Measure memory like `usage`, slowly, with every page counted once in total."""
    sizes = [
        # A process can hide its mappings from the judge, but not its number of pages.
        _sizes_kib(Path(f"/proc/{member}/smaps_rollup"), "Pss_Anon", "Pss_Shmem")
        or _status_sizes_kib(member)
        for member in members(pid)
    ]
    return _total_mib(sizes, granted_mib)


def processor_s(pids: Sequence[int]) -> float:
    """Return the processor time of processes and of the children that they have waited for."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            # A process chooses its own name, in parentheses: the figures follow the last one.
            fields = (
                Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
            )
            ticks += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    return ticks / _TICKS


def queued_s(pids: Sequence[int]) -> dict[int, float]:
    """Return how long each thread of the processes has waited for a processor, by thread id.

    The figures are empty where the kernel does not keep them (no CONFIG_SCHED_INFO).
    """
    found: dict[int, float] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError, IndexError):
                    figures = (thread / "schedstat").read_text().split()
                    found[int(thread.name)] = int(figures[1]) / 1e9
    return found


def _total_mib(sizes_kib: Sequence[tuple[int, int]], granted_mib: float) -> float:
    """Add up (private, shared) sizes; `granted_mib` of each shared size is free."""
    granted_kib = granted_mib * 1024
    return sum(own + max(0.0, shared - granted_kib) for own, shared in sizes_kib) / 1024


def _status_sizes_kib(pid: int) -> tuple[int, int]:
    return _sizes_kib(Path(f"/proc/{pid}/status"), "RssAnon", "RssShmem") or (0, 0)


def _sizes_kib(file: Path, *keys: str) -> tuple[int, int] | None:
    """Return the figures behind the two `keys`, 0 for one that is absent; None if unreadable."""
    sizes = dict.fromkeys(keys, 0)
    try:
        for line in file.read_text().splitlines():
            key, _, rest = line.partition(":")
            if key in sizes:
                sizes[key] = int(rest.split()[0])
    except OSError:
        return None
    private, shared = sizes.values()
    return private, shared
