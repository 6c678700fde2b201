"""A running untrusted program: watch its limits, end it, and report how it ended.

A program ends by itself (exit code or signal), or the judge ends it for a reason that is a
verdict: time (`sandbox.own_time`), output, memory or processes. A pidfd reports its end, never
end-of-file: a grandchild can hold a pipe open for ever.

When it has ended, all its descendants are killed too: its process group, while the dead leader
still holds the group's number; processes that moved into another session, by
`grader.system.process_tree`; and all processes in its control group or of its temporary user.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from grader.sandbox import scratch_dir
from grader.sandbox.capture import KEPT_KIB, Capture
from grader.sandbox.own_time import SAMPLE_S, OwnTime, Spent
from grader.sandbox.policy import Confinement, Layers, confinement
from grader.system import process_tree

_POLL_S = 0.05  # between two checks of memory and processes
_FOLDER_POLL_S = 0.5
REPORT_BYTES = 1 << 20


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

    Address space is not limited: CUDA and the emulation's device arena reserve far more than they
    use. The judge polls memory instead, and the kernel limits it where the program has a control
    group. The same holds for processes, because RLIMIT_NPROC counts all processes of a user.
    `report_s` is the time that a tool gets after a time limit to write its report. Of the output,
    the first and the last `kept_kib` are kept.
    """

    memory_mib: int = 4096
    output_kib: int = 1024
    kept_kib: int = KEPT_KIB
    processes: int = 256
    threads: int = 4096
    file_mib: int = 2048
    folder_mib: int = 4096
    open_files: int = 1024
    cpu_s: int = 600
    report_s: float = 0.0

    def confine(self, cwd: Path, *, gpu: bool, layers: Layers | None = None) -> Confinement:
        """Prepare the confinement of one program; see `grader.sandbox.policy`."""
        return confinement(
            cwd, memory_mib=self.memory_mib, tasks=self.threads, gpu=gpu, layers=layers
        )

    def settings(self, keep: Sequence[int], confinement: Confinement) -> dict[str, object]:
        """Return the settings of `worker/confine.py`."""
        return {
            "cwd": str(confinement.folder),
            "judge": os.getpid(),
            "keep": list(keep),
            "limits": {
                "core": 0,
                "file_bytes": self.file_mib << 20,
                "open_files": self.open_files,
                "cpu_s": self.cpu_s,
                # The kernel counts all threads of a user: only for a user of the program's own.
                **({} if confinement.user is None else {"threads": self.threads}),
            },
            **confinement.settings(),
        }


# For a program whose output is a result that the judge parses.
WHOLE_OUTPUT = Limits(kept_kib=Limits().output_kib)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended. `signal` is a number: real-time signals have no name.

    `limit_s` limited its own time, which may be far less than `wall_s`. `waited` is true if it used
    up this limit mostly idle, so that the machine may be the cause.
    """

    end: End
    exit_code: int | None
    signal: int | None
    output: str
    wall_s: float
    limit_s: float = math.inf
    waited: bool = False

    @property
    def ok(self) -> bool:
        """True if the program ended by itself with exit code 0."""
        return self.end is End.EXITED and self.exit_code == 0


@dataclass(slots=True, kw_only=True)
class Program:
    """A running untrusted program and the judge's ends of its pipes."""

    pid: int
    pidfd: int
    output: Capture
    limits: Limits
    confinement: Confinement
    report: Capture | None = None
    started_s: float = field(default_factory=time.monotonic)
    _died: os.waitid_result | None = None
    _baseline_mib: float = 0.0
    _granted_mib: float = 0.0
    _next_folder_check_s: float = 0.0
    _time: OwnTime = field(init=False)
    _limit_s: float = math.inf

    def wait_for(
        self,
        channel: int | None,
        deadline_s: float,
        *,
        idle_s: float = math.inf,
        beside: Sequence[int] = (),
        compiled_s: Callable[[], float] = lambda: 0.0,
    ) -> End | None:
        """Wait until `channel` is readable and return None, or return how the program ended.

        `deadline_s` is on the monotonic clock, for a program that never queues for a processor:
        its own time counts (`own_time`), and no more than `idle_s` of idle time. The processes
        `beside` work for it, and of its time `compiled_s` has another budget. The channel is
        checked first: an answer counts even if the program has died since.
        """
        self._time = clock = OwnTime(lambda: [*self._members(), *beside])
        now = time.monotonic()
        self._limit_s = limit_s = deadline_s - now
        check_s, sample_s = now + _POLL_S, now + SAMPLE_S
        captures = self._captures()
        # Not epoll, which takes a system call for each descriptor: most waits are short.
        poll = select.poll()
        for descriptor in (self.pidfd, *(capture.descriptor for capture in captures)):
            poll.register(descriptor, select.POLLIN)
        if channel is not None:
            poll.register(channel, select.POLLIN)
        while True:
            wait_s = max(0.0, min(deadline_s, sample_s, check_s) - time.monotonic())
            ready = {descriptor for descriptor, _ in poll.poll(wait_s * 1000)}
            for capture in captures:
                if capture.descriptor in ready and not capture.drain():
                    poll.unregister(capture.descriptor)
                if capture.over_limit:
                    return End.OUTPUT_LIMIT
            if channel is not None and channel in ready:
                return None
            if self.pidfd in ready:
                death = self._observe_death()
                killed = death is End.SIGNALED and self._ran_out_of_memory
                return End.MEMORY_LIMIT if killed else death
            now = time.monotonic()
            if now >= min(deadline_s, sample_s):
                spent = clock.sample(compiled_s())
                left_s = min(spent.left_s(limit_s), idle_s - spent.idle_s)
                if left_s <= 0:
                    return End.TIME_LIMIT
                deadline_s, sample_s = now + left_s, now + SAMPLE_S
            if now >= check_s:
                over = self._over_limit()
                if over is not None:
                    return over
                check_s = time.monotonic() + _POLL_S

    def drain(self) -> None:
        """Read what the program has written so far."""
        for capture in self._captures():
            capture.drain()

    def _captures(self) -> list[Capture]:
        return [self.output] if self.report is None else [self.output, self.report]

    def mark_memory(self) -> None:
        """Count the submission's memory from now on, without what the worker already uses."""
        self._baseline_mib = self._usage().memory_mib
        if self.confinement.group is not None:
            self.confinement.group.start_here()

    def grant_memory(self, memory_mib: float) -> None:
        """Exclude the size of shared buffers, which are not the program's own memory."""
        self._granted_mib = memory_mib
        if self.confinement.group is not None:
            self.confinement.group.grant(memory_mib)

    @property
    def processes(self) -> int:
        """The number of processes of the program."""
        return len(self._members())

    def _members(self) -> list[int]:
        return process_tree.members(self.pid)

    def spent(self, compiled_s: float = 0.0) -> Spent:
        """Return how it has spent its time since the last wait began; see `wait_for`."""
        if self._time.wall_s < SAMPLE_S:  # too short to be measured
            return Spent(wall_s=self._time.wall_s, processor_s=self._time.wall_s)
        return self._time.sample(compiled_s)

    def _usage(self) -> process_tree.Usage:
        return process_tree.usage(self.pid, granted_mib=self._granted_mib)

    @property
    def _ran_out_of_memory(self) -> bool:
        group = self.confinement.group
        return group is not None and group.ran_out_of_memory

    def _over_limit(self) -> End | None:
        usage = self._usage()
        most_mib = self.limits.memory_mib
        if (
            usage.memory_mib - self._baseline_mib > most_mib
            and most_mib < process_tree.exact_memory_mib(self.pid, granted_mib=self._granted_mib)
        ):
            return End.MEMORY_LIMIT
        if self._ran_out_of_memory:
            return End.MEMORY_LIMIT
        if usage.processes > self.limits.processes:
            return End.PROCESS_LIMIT
        if time.monotonic() >= self._next_folder_check_s:
            self._next_folder_check_s = time.monotonic() + _FOLDER_POLL_S
            if scratch_dir.size_mib(self.confinement.folder) > self.limits.folder_mib:
                return End.FOLDER_LIMIT
        return None

    def _observe_death(self) -> End:
        """Return how the program died, and leave it a zombie, so that its pid is not reused."""
        if self._died is None:
            self._died = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        assert self._died is not None  # None would mean WNOHANG
        return End.EXITED if self._died.si_code == os.CLD_EXITED else End.SIGNALED

    def finish(self, end: End) -> Ended:
        """Kill whatever still runs, collect the last output and return how the program ended."""
        limit_s = self._limit_s
        waited = end is End.TIME_LIMIT and self._time.spent.waited(limit_s)
        if end is End.TIME_LIMIT and self.limits.report_s and self.pidfd >= 0:
            self._let_tool_report()
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
            limit_s=limit_s,
            waited=waited,
        )

    def _let_tool_report(self) -> None:
        """Kill the processes below a tool, and wait until the tool has written its report."""
        for pid in process_tree.descendants(self.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        self.wait_for(None, time.monotonic() + self.limits.report_s)

    def signal_to_end(self) -> None:
        """Kill the program without waiting; `kill` does the rest."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def kill(self) -> None:
        """Kill the program and all its descendants, and wait for them. May be called again."""
        if self.pidfd < 0:
            return
        self.signal_to_end()
        # It leads its own process group only after it has confined itself.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        process_tree.wait_for_killed(self.pidfd)
        self._observe_death()
        process_tree.reap(self.pid)
        os.close(self.pidfd)
        self.pidfd = -1
        try:
            process_tree.sweep()
            self.confinement.end()
        finally:
            for capture in self._captures():
                capture.drain()
                capture.close()
