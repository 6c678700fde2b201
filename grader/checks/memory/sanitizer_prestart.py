"""Workers under compute-sanitizer's tools, started before they are needed.

    build ─ import of torch ─ correctness ─ rules ─ memory
        └─ a worker under each tool: opens the GPU ─ waits ──┘ loads the submission

A worker takes a second to start under a tool. It runs nothing of the submission until the memory
check sends its first command. The workers of one CUDA C++ file wait at a time, and only on machines
with enough cores. This module does not import torch, because it is used earlier.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace

from grader.assignment.model import Limits
from grader.build.artifact import Built, Rejected
from grader.checks.memory import sanitizer
from grader.judge.session import Session
from grader.system import toolchain
from grader.system.retry import Pool
from grader.system.toolchain import Tool

# Under a sanitizer a kernel runs some ten to a hundred times slower.
_CALL_S = 20.0
_LOAD_S = 120.0
MEMORY_MIB = 32768  # most of it for the tool itself
# One core per tool, and as many for the judge, the server and the correctness check.
_CORES = 2 * len(sanitizer.TOOLS)


def limits_under_tool(limits: Limits) -> Limits:
    """Return the limits of a worker under a tool."""
    return replace(limits, call_s=_CALL_S, load_s=_LOAD_S, memory_mib=MEMORY_MIB)


def start(built: Built, limits: Limits, tool: Tool, name: str) -> Session:
    """Start a worker under one of the tools."""
    tool_command = sanitizer.tool_command(tool, name, leaks=True)
    return Session(built, limits, None, tool_command=tool_command)


class Prestart:
    """Starts workers under the tools in the threads of `pool`, for one build at a time."""

    def __init__(self, pool: Pool, limits: Limits, cores: int | None = None) -> None:
        self._pool = pool
        self._limits = limits_under_tool(limits)
        self._cores = cores or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._expected: deque[tuple[Hashable, Future[Built | Rejected]]] = deque()
        self._begun: tuple[Hashable, Future[dict[str, Session]]] | None = None

    def expect(self, builds: Iterable[tuple[Hashable, Future[Built | Rejected]]]) -> None:
        """Start the workers of the first build; `take` asks for the builds in this order.

        Does nothing on a machine with too few cores.
        """
        if self._cores >= _CORES:
            self._expected.extend(builds)
            self._begin()

    def take(self, key: Hashable) -> Mapping[str, Session]:
        """Return the workers of a build by tool, none if they were not expected.

        The caller closes them. Ends the workers of builds that were passed over, and starts those
        of the next build. Several threads may take workers.
        """
        with self._lock:
            begun = self._begun
            expected = [expected for expected, _ in self._expected]
            if begun is None or key not in (begun[0], *expected):
                return {}
            while begun is None or begun[0] != key:
                self._end_begun()
                self._begin()
                begun = self._begun
            self._begun = None
            self._begin()
        return begun[1].result()

    def close(self) -> None:
        """End all workers that were not taken, and start no more."""
        self._expected.clear()
        self._end_begun()

    def _begin(self) -> None:
        if self._begun is None and self._expected:
            key, build = self._expected.popleft()
            # No deadlock: the build was submitted to the pool earlier.
            self._begun = key, self._pool.submit(self._start, build)

    def _start(self, build: Future[Built | Rejected]) -> dict[str, Session]:
        built, tool = build.result(), toolchain.find_compute_sanitizer()
        if isinstance(built, Rejected) or tool is None:
            return {}
        with ExitStack() as undo:
            sessions = {
                name: undo.enter_context(start(built, self._limits, tool, name))
                for name in sanitizer.TOOLS
            }
            undo.pop_all()
        return sessions

    def _end_begun(self) -> None:
        if self._begun is None:
            return
        future = self._begun[1]
        self._begun = None
        if future.cancel() or future.exception() is not None:
            return
        for session in future.result().values():
            session.close()
