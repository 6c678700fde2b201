"""Run an untrusted program: start it, watch it, end it, and say how it ended.

    judge (this process, subreaper)
      │ posix_spawn
      └── confine.py: own session, limits, no other descriptors ── exec ──→ program
             stdin /dev/null · stdout+stderr ──pipe──→ `Capture` here (capped)
             descriptor 3… as given (channel, report pipe)

A program ends in one of two ways: by itself (exit code or signal), or by us,
for a reason that is a verdict: time, output or memory. Its end is seen by
pidfd, never by end-of-file: a grandchild can hold a pipe open for ever.

When it has ended, everything it started is ended too. Its process group is
killed; what fled into another session was orphaned to us, because we are a
subreaper, and is recognised as a child that we did not start and that is not
in our session. `sweep` kills those until none is left.

Threads: `spawn`, `adopt` and `sweep` exclude each other, so that no sweep sees
a child that is not registered yet. The kernel kills a program when the thread
that spawned it ends: spawn from threads that live as long as the program.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import psutil

from grader.worker import confine

_PR_SET_CHILD_SUBREAPER = 36
_KEEP_BYTES = 32 * 1024  # of a program's output, at its head and again at its tail
_MEMORY_POLL_S = 0.05
_CONFINE = Path(confine.__file__)

_family = threading.Lock()
_own_children: set[int] = set()


class End(Enum):
    """How a program's run, or one wait for it, came to an end."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIME_LIMIT = "time limit"
    OUTPUT_LIMIT = "output limit"
    MEMORY_LIMIT = "memory limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one program may use.

    There is no limit on address space: CUDA and the device arena reserve far
    more of it than they use. Memory is watched instead.
    """

    memory_mib: int = 4096
    output_kib: int = 1024
    file_mib: int = 2048
    open_files: int = 1024
    cpu_s: int = 600

    def settings(self, cwd: Path, keep: Sequence[int]) -> dict[str, object]:
        """Return what `confine.py` is told."""
        return {
            "cwd": str(cwd),
            "keep": list(keep),
            "limits": {
                "core": 0,
                "file_bytes": self.file_mib << 20,
                "open_files": self.open_files,
                "cpu_s": self.cpu_s,
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A finished run: the positive record that a verdict can rest on."""

    end: End
    exit_code: int | None
    signal: signal.Signals | None
    output: str
    wall_s: float

    @property
    def ok(self) -> bool:
        """True if the program ended by itself with exit code 0."""
        return self.end is End.EXITED and self.exit_code == 0


class Capture:
    """The reading end of a program's output: its head, its tail, its size."""

    def __init__(self, descriptor: int, limit_bytes: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.total_bytes = 0
        self._limit = limit_bytes
        self._head = bytearray()
        self._tail = bytearray()

    @property
    def over_limit(self) -> bool:
        """True if more came than is allowed."""
        return self.total_bytes > self._limit

    def drain(self) -> bool:
        """Read what is there; False once all writers have closed."""
        while not self.over_limit:
            try:
                data = os.read(self.descriptor, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.total_bytes += len(data)
            room = _KEEP_BYTES - len(self._head)
            self._head += data[:room]
            self._tail = (self._tail + data[max(room, 0) :])[-_KEEP_BYTES:]
        return True

    def text(self) -> str:
        """Return the output, its middle left out if it was long."""
        left_out = self.total_bytes - len(self._head) - len(self._tail)
        middle = f"\n… {left_out} bytes left out …\n".encode() if left_out else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace")

    def close(self) -> None:
        """Close our end."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


@dataclass(slots=True, kw_only=True)
class Program:
    """A running untrusted program and our ends of its pipes."""

    pid: int
    pidfd: int
    output: Capture
    limits: Limits
    report: Capture | None = None
    started_s: float = field(default_factory=time.monotonic)
    _status: int | None = None
    _baseline_mib: float | None = None

    @property
    def ended(self) -> bool:
        """True once the program has been waited for."""
        return self._status is not None

    def wait_for(self, channel: int | None, deadline_s: float) -> End | None:
        """Wait until `channel` is readable (None), or for the end that came instead.

        `deadline_s` is on the monotonic clock. An answer that is there counts
        even if the program has died since: it is looked at first.
        """
        memory_check_s = time.monotonic() + _MEMORY_POLL_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.pidfd, selectors.EVENT_READ)
            for capture in self._captures():
                selector.register(capture.descriptor, selectors.EVENT_READ, capture)
            if channel is not None:
                selector.register(channel, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                wait_s = max(0.0, min(deadline_s, memory_check_s) - now)
                ready = {key.fd: key for key, _ in selector.select(wait_s)}
                for capture in self._captures():
                    if capture.descriptor in ready and not capture.drain():
                        selector.unregister(capture.descriptor)
                    if capture.over_limit:
                        return End.OUTPUT_LIMIT
                if channel is not None and channel in ready:
                    return None
                if self.pidfd in ready:
                    return self._reap()
                now = time.monotonic()
                if now >= deadline_s:
                    return End.TIME_LIMIT
                if now >= memory_check_s:
                    if self._over_memory():
                        return End.MEMORY_LIMIT
                    memory_check_s = now + _MEMORY_POLL_S

    def drain(self) -> None:
        """Read what the program has written by now."""
        for capture in self._captures():
            capture.drain()

    def _captures(self) -> list[Capture]:
        return [self.output] if self.report is None else [self.output, self.report]

    def mark_memory(self) -> None:
        """Count memory from here: what the worker holds now is not the hand-in's."""
        self._baseline_mib = self._memory_mib()

    def _memory_mib(self) -> float:
        total = 0
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self.pid)
            for member in (process, *process.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    memory = member.memory_info()
                    # Shared pages are the judge's buffers, or counted in another member.
                    total += memory.rss - memory.shared
        return total / 2**20

    def _over_memory(self) -> bool:
        return self._memory_mib() - (self._baseline_mib or 0.0) > self.limits.memory_mib

    def _reap(self) -> End:
        if self._status is None:
            _, self._status = os.waitpid(self.pid, 0)
        return End.SIGNALED if os.WIFSIGNALED(self._status) else End.EXITED

    def finish(self, end: End) -> Ended:
        """End whatever still runs, collect the last output and say how it ended."""
        self.kill()
        assert self._status is not None
        exited, status = os.WIFEXITED(self._status), self._status
        by_itself = end in (End.EXITED, End.SIGNALED)
        return Ended(
            end=end,
            exit_code=os.WEXITSTATUS(status) if by_itself and exited else None,
            signal=signal.Signals(os.WTERMSIG(status)) if by_itself and not exited else None,
            output=self.output.text(),
            wall_s=time.monotonic() - self.started_s,
        )

    def kill(self) -> None:
        """Kill the program and all it started; wait for it. May be called again."""
        if self.pidfd < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._reap()
        with _family:
            _own_children.discard(self.pid)
        sweep()
        for capture in self._captures():
            if capture.descriptor >= 0:
                capture.drain()
            capture.close()
        os.close(self.pidfd)
        self.pidfd = -1


def become_subreaper() -> None:
    """Make orphans of our programs our children. Call once, early."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def sweep() -> int:
    """Kill children that we did not start and that left our session; return how many."""
    ours, killed = os.getsid(0), 0
    while True:
        with _family:
            strays = [pid for pid in _children() if _is_stray(pid, ours)]
            for pid in strays:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in strays:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        killed += len(strays)
        if not strays:
            return killed


def kill_all() -> None:
    """Kill everything that we started; whoever waits for it sees its end."""
    with _family:
        for pid in _own_children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


def _children() -> list[int]:
    return [child.pid for child in psutil.Process().children()]


def _is_stray(pid: int, our_session: int) -> bool:
    if pid in _own_children:
        return False
    try:
        return os.getsid(pid) != our_session
    except ProcessLookupError:
        return False


def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limits: Limits,
    descriptors: Mapping[int, int] | None = None,
    report: bool = False,
) -> Program:
    """Start `argv` confined. `descriptors` maps its numbers to ours.

    With `report`, the program gets a pipe of its own for what it has to tell,
    on the number that follows the given ones.
    """
    descriptors = dict(descriptors or {})
    reading, writing = os.pipe2(os.O_CLOEXEC)
    report_ends = os.pipe2(os.O_CLOEXEC) if report else None
    if report_ends is not None:
        descriptors[max(descriptors, default=2) + 1] = report_ends[1]
    settings = limits.settings(cwd, sorted(descriptors))
    command = [sys.executable, "-I", "-S", str(_CONFINE), json.dumps(settings), *argv]
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    # Two steps through high numbers, so that no source is overwritten before its turn.
    moves = [(null, 0), (writing, 1), (writing, 2), *((o, t) for t, o in descriptors.items())]
    actions = [(os.POSIX_SPAWN_DUP2, source, 200 + i) for i, (source, _) in enumerate(moves)]
    actions += [(os.POSIX_SPAWN_DUP2, 200 + i, target) for i, (_, target) in enumerate(moves)]
    try:
        with _family:
            pid = os.posix_spawn(sys.executable, command, dict(environment), file_actions=actions)
            _own_children.add(pid)
        pidfd = os.pidfd_open(pid)
    finally:
        os.close(null)
        os.close(writing)
        if report_ends is not None:
            os.close(report_ends[1])
    return Program(
        pid=pid,
        pidfd=pidfd,
        output=Capture(reading, limits.output_kib << 10),
        report=Capture(report_ends[0], 1 << 20) if report_ends is not None else None,
        limits=limits,
    )


@contextlib.contextmanager
def adoption() -> Iterator[None]:
    """Hold off sweeps while a server forks a worker that will become our child."""
    with _family:
        yield


def adopt(pid: int, pidfd: int, output: int, report: int, limits: Limits) -> Program:
    """Take charge of a worker that a fork server orphaned to us (inside `adoption`)."""
    _own_children.add(pid)
    return Program(
        pid=pid,
        pidfd=pidfd,
        output=Capture(output, limits.output_kib << 10),
        report=Capture(report, 1 << 20),
        limits=limits,
    )


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    wall_s: float,
    limits: Limits | None = None,
) -> Ended:
    """Run `argv` to its end, or to a limit."""
    program = spawn(argv, cwd=cwd, environment=environment, limits=limits or Limits())
    try:
        end = program.wait_for(None, time.monotonic() + wall_s)
        assert end is not None  # there is no channel to become readable
        return program.finish(end)
    finally:
        program.kill()


def clean_environment(scratch: Path) -> dict[str, str]:
    """Return the environment of an untrusted program: an allow-list, and its own folder."""
    kept = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment.setdefault("PATH", os.defpath)
    environment.update(
        HOME=str(scratch),
        TMPDIR=str(scratch),
        TRITON_CACHE_DIR=str(scratch / "triton"),
        CUDA_CACHE_PATH=str(scratch / "cuda"),
        PYTHONDONTWRITEBYTECODE="1",
    )
    return environment
