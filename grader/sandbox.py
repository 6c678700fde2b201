"""Run an untrusted program: start it, watch it, end it, and say how it ended.

    judge (this process, subreaper)
      │ posix_spawn
      └── confine.py: own session, limits, no other descriptors ── exec ──→ program
             stdin /dev/null · stdout+stderr ──pipe──→ `Capture` here (capped)
             descriptor 3… as given (channel, report pipe)

A program ends in one of two ways: by itself (exit code or signal), or by us,
for a reason that is a verdict: time, output, memory or processes. Its end is
seen by pidfd, never by end-of-file: a grandchild can hold a pipe open for ever.

What keeps it from everything that is not its own is its `confinement`: a fence
of files, a filter of system calls, where possible a user of its own.

When it has ended, everything it started is ended too: its process group is
killed while the dead leader still holds the group's number, `family` sweeps up
what fled into another session, and where it had a user of its own, all that
this user has is killed and counted.

Threads: the kernel kills a program when the thread that spawned it ends: spawn
from threads that live as long as the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from grader import box, family
from grader.capture import Capture
from grader.confinement import Confinement, Layers, confinement
from grader.launch import launch
from grader.worker import confine

_POLL_S = 0.05  # between two looks at memory and processes
_FOLDER_POLL_S = 0.5
REPORT_BYTES = 1 << 20
_CONFINE = Path(confine.__file__)


class End(Enum):
    """How a program's run, or one wait for it, came to an end."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIME_LIMIT = "time limit"
    OUTPUT_LIMIT = "output limit"
    MEMORY_LIMIT = "memory limit"
    PROCESS_LIMIT = "process limit"
    FOLDER_LIMIT = "folder limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one program may use.

    There is no limit on address space: CUDA and the device arena reserve far
    more of it than they use. Memory is watched instead; so are processes, for
    the kernel's limit counts all of a user's.
    """

    memory_mib: int = 4096
    output_kib: int = 1024
    processes: int = 256
    threads: int = 4096
    file_mib: int = 2048
    folder_mib: int = 4096
    open_files: int = 1024
    cpu_s: int = 600

    def settings(self, keep: Sequence[int], confinement: Confinement) -> dict[str, object]:
        """Return what `confine.py` is told."""
        return {
            "cwd": str(confinement.folder),
            "judge": os.getpid(),
            "keep": list(keep),
            "limits": {
                "core": 0,
                "file_bytes": self.file_mib << 20,
                "open_files": self.open_files,
                "cpu_s": self.cpu_s,
                # The kernel counts a user's threads, all of them: only with a user of its own.
                **({} if confinement.user is None else {"threads": self.threads}),
            },
            **confinement.settings(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A finished run: the positive record that a verdict can rest on.

    `signal` is a number: real-time signals have no name.
    """

    end: End
    exit_code: int | None
    signal: int | None
    output: str
    wall_s: float

    @property
    def ok(self) -> bool:
        """True if the program ended by itself with exit code 0."""
        return self.end is End.EXITED and self.exit_code == 0


@dataclass(slots=True, kw_only=True)
class Program:
    """A running untrusted program and our ends of its pipes."""

    pid: int
    pidfd: int
    output: Capture
    limits: Limits
    confinement: Confinement
    report: Capture | None = None
    granted_mib: float = 0.0  # of shared buffers, which are not the program's own
    started_s: float = field(default_factory=time.monotonic)
    _died: os.waitid_result | None = None
    _baseline_mib: float = 0.0
    _look_at_folder_s: float = 0.0

    def wait_for(self, channel: int | None, deadline_s: float) -> End | None:
        """Wait until `channel` is readable (None), or for the end that came instead.

        `deadline_s` is on the monotonic clock. An answer that is there counts
        even if the program has died since: it is looked at first.
        """
        check_s = time.monotonic() + _POLL_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.pidfd, selectors.EVENT_READ)
            for capture in self._captures():
                selector.register(capture.descriptor, selectors.EVENT_READ, capture)
            if channel is not None:
                selector.register(channel, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                wait_s = max(0.0, min(deadline_s, check_s) - now)
                ready = {key.fd for key, _ in selector.select(wait_s)}
                for capture in self._captures():
                    if capture.descriptor in ready and not capture.drain():
                        selector.unregister(capture.descriptor)
                    if capture.over_limit:
                        return End.OUTPUT_LIMIT
                if channel is not None and channel in ready:
                    return None
                if self.pidfd in ready:
                    return self._look_at_death()
                now = time.monotonic()
                if now >= deadline_s:
                    return End.TIME_LIMIT
                if now >= check_s:
                    over = self._over_limit()
                    if over is not None:
                        return over
                    check_s = time.monotonic() + _POLL_S

    def drain(self) -> None:
        """Read what the program has written by now."""
        for capture in self._captures():
            capture.drain()

    def _captures(self) -> list[Capture]:
        return [self.output] if self.report is None else [self.output, self.report]

    def mark_memory(self) -> None:
        """Count memory from here: what the worker holds now is not the hand-in's."""
        self._baseline_mib = self._usage().memory_mib

    @property
    def processes(self) -> int:
        """How many processes the program is by now."""
        return len(family.members(self.pid))

    def _usage(self) -> family.Usage:
        return family.usage(self.pid, granted_mib=self.granted_mib)

    def _over_limit(self) -> End | None:
        usage = self._usage()
        most_mib = self.limits.memory_mib
        if usage.memory_mib - self._baseline_mib > most_mib and most_mib < family.exact_memory_mib(
            self.pid, granted_mib=self.granted_mib
        ):
            return End.MEMORY_LIMIT
        if usage.processes > self.limits.processes:
            return End.PROCESS_LIMIT
        if time.monotonic() >= self._look_at_folder_s:
            self._look_at_folder_s = time.monotonic() + _FOLDER_POLL_S
            if box.size_mib(self.confinement.folder) > self.limits.folder_mib:
                return End.FOLDER_LIMIT
        return None

    def _look_at_death(self) -> End:
        """See how it died and leave it a zombie: that keeps its number ours."""
        if self._died is None:
            self._died = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        assert self._died is not None  # None would mean WNOHANG
        return End.EXITED if self._died.si_code == os.CLD_EXITED else End.SIGNALED

    def finish(self, end: End) -> Ended:
        """End whatever still runs, collect the last output and say how it ended."""
        self.kill()
        assert self._died is not None
        by_itself = end in (End.EXITED, End.SIGNALED)
        exited = self._died.si_code == os.CLD_EXITED
        return Ended(
            end=end,
            exit_code=self._died.si_status if by_itself and exited else None,
            signal=self._died.si_status if by_itself and not exited else None,
            output=self.output.text(),
            wall_s=time.monotonic() - self.started_s,
        )

    def kill(self) -> None:
        """Kill the program and all it started; wait for it. May be called again."""
        if self.pidfd < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        # Its group is its own only once it has confined itself.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._look_at_death()
        family.reap(self.pid)
        os.close(self.pidfd)
        self.pidfd = -1
        try:
            family.sweep()
            self.confinement.end()
        finally:
            for capture in self._captures():
                capture.drain()
                capture.close()


def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limits: Limits,
    descriptors: Mapping[int, int] | None = None,
    report: bool = False,
    gpu: bool = False,
    layers: Layers | None = None,
) -> Program:
    """Start `argv` confined. `descriptors` maps its numbers to ours.

    The program owns the folder `cwd` and sees nothing else of ours. With
    `report`, it gets a pipe of its own for what it has to tell, on the number
    that follows the given ones. `gpu` and `layers` are `confinement`'s. Raises
    GraderError if the machine has no room for a process.
    """
    confined = confinement(cwd, gpu=gpu, layers=layers)
    descriptors = dict(descriptors or {})
    reading, writing = os.pipe2(os.O_CLOEXEC)
    report_ends = os.pipe2(os.O_CLOEXEC) if report else None
    if report_ends is not None:
        descriptors[max(descriptors, default=2) + 1] = report_ends[1]
    settings = limits.settings(sorted(descriptors), confined)
    command = [sys.executable, "-I", "-S", str(_CONFINE), json.dumps(settings), *argv]
    moves = [(writing, 1), (writing, 2), *((ours, its) for its, ours in descriptors.items())]
    try:
        pid = launch(command, environment, moves)
        pidfd = os.pidfd_open(pid)
    except BaseException:
        os.close(reading)
        if report_ends is not None:
            os.close(report_ends[0])
        confined.end()
        raise
    finally:
        os.close(writing)
        if report_ends is not None:
            os.close(report_ends[1])
    return Program(
        pid=pid,
        pidfd=pidfd,
        output=Capture(reading, limits.output_kib << 10),
        report=Capture(report_ends[0], REPORT_BYTES, REPORT_BYTES)
        if report_ends is not None
        else None,
        limits=limits,
        confinement=confined,
    )


def adopt(
    pid: int, pidfd: int, output: int, report: int, limits: Limits, confined: Confinement
) -> Program:
    """Take charge of a worker that a fork server orphaned to us (inside `family.hold`)."""
    family.register(pid)
    return Program(
        pid=pid,
        pidfd=pidfd,
        output=Capture(output, limits.output_kib << 10),
        report=Capture(report, REPORT_BYTES, REPORT_BYTES),
        limits=limits,
        confinement=confined,
    )


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    wall_s: float,
    limits: Limits | None = None,
    gpu: bool = False,
    layers: Layers | None = None,
) -> Ended:
    """Run `argv` to its end, or to a limit; see `spawn`."""
    limits = limits or Limits()
    program = spawn(argv, cwd=cwd, environment=environment, limits=limits, gpu=gpu, layers=layers)
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
