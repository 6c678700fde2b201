"""Workers under compute-sanitizer's tools, started before they are needed.

    build ─ Python server ─ import of torch ─ correctness ─ rules ─ memory
        └─ a worker under each tool: it imports torch, too ─ waits ──┘ loads the hand-in

A worker for Python takes several seconds to start under a tool. Nothing of the
hand-in runs in it meanwhile: it is given its first command by the memory check.
One hand-in's workers at a time wait so, and only where there are cores for them
beside everything else. This module imports no torch: it is used before.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from typing import Generic, TypeVar

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
_MEMORY_MIB = 32768  # the tool's own share, for the most part
# For the tools, and as many for the judge, the server and the correctness check.
_CORES = 2 * len(sanitizer.TOOLS)
Key = TypeVar("Key")


def limits_under_a_tool(limits: Limits) -> Limits:
    """Return what a watched worker is allowed."""
    return replace(limits, call_s=_CALL_S, load_s=_LOAD_S, memory_mib=_MEMORY_MIB)


def start(built: Built, limits: Limits, tool: Tool, name: str) -> Session:
    """Start a worker under one of the tools, within limits that allow for it."""
    tool_command = sanitizer.tool_command(tool, name, built.language)
    return Session(built, limits, None, tool_command=tool_command)


class Prestart(Generic[Key]):
    """Starts the watched workers of builds, in the threads of `pool`, one build at a time.

    They live no longer than those threads.
    """

    def __init__(self, pool: Pool, limits: Limits, cores: int | None = None) -> None:
        self._pool = pool
        self._limits = limits_under_a_tool(limits)
        self._cores = cores or os.cpu_count() or 1
        self._expected: deque[tuple[Key, Future[Built | Rejected]]] = deque()
        self._begun: tuple[Key, Future[dict[str, Session]]] | None = None

    def expect(self, builds: Iterable[tuple[Key, Future[Built | Rejected]]]) -> None:
        """Start the workers of the first of these builds, which `take` will ask for in this order.

        On a machine with few cores it does nothing.
        """
        if self._cores >= _CORES:
            self._expected.extend(builds)
            self._begin()

    def take(self, key: Key) -> Mapping[str, Session]:
        """Return the workers of a build by their tools, none if they were not expected.

        They are the caller's to close. Those of the next build are started; those
        of builds that nobody asked for are ended.
        """
        begun = self._begun
        if begun is None or key not in (begun[0], *(expected for expected, _ in self._expected)):
            return {}
        while begun is None or begun[0] != key:
            self._end_begun()
            self._begin()
            begun = self._begun
        sessions = begun[1].result()
        self._begun = None
        self._begin()
        return sessions

    def close(self) -> None:
        """End all that were not taken, and start no more."""
        self._expected.clear()
        self._end_begun()

    def _begin(self) -> None:
        if self._begun is None and self._expected:
            key, build = self._expected.popleft()
            # It waits for a build that was submitted before: no deadlock.
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
