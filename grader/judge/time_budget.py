"""The time of one submission: how long its calls may idle, and how long they may compile.

A call that idles is not slow by itself, so its own limit says little: nine seconds of sleep in
every call of ten make many minutes. So all idle calls of a submission together have a budget, a few
times the limit of one call. A call that does not idle is never affected, however much others did.

Triton compiles in a call, on a GPU for seconds. That time is `limits.build_s` of each file, as in
CUDA C++. The worker reports it, so a submission may claim it falsely, up to that budget.
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator

from grader.assignment.model import Limits
from grader.gpu.lock import exclusive_use
from grader.sandbox.own_time import SAMPLE_S, Spent

_IDLE_CALLS = 4  # the limit of so many calls is the budget of all
_LEAST_IDLE_S = SAMPLE_S  # a call may always idle for so long, and it counts from then on
# A driver opens the GPU for one process after another: on an H100 with 16 cores and six gradings,
# the programs of one waited for 3 s each.
_OPENING_S = 8.0


class TimeBudget:
    """The idle time of a submission's calls and its time for compiling; safe to share by threads.

    `limits` are the assignment's, `gpu` is the UUID of the GPU that grades.
    """

    def __init__(self, limits: Limits | None = None, gpu: str | None = None) -> None:
        limits = limits or Limits()
        self._most_idle_s = _IDLE_CALLS * limits.call_s
        self._most_compiled_s = limits.build_s
        self._gpu = gpu
        self._lock = threading.Lock()
        self._idle_s = 0.0
        self._idle_calls = 0
        self._compiled_s: dict[str, float] = defaultdict(float)

    @property
    def used_up(self) -> bool:
        """True if the submission's calls may not idle any more."""
        return self._idle_s >= self._most_idle_s

    def idle_left_s(self, *, opens_gpu: bool = False) -> float:
        """Return how long the next call may idle; one that opens the GPU may wait for others."""
        waits_s = _OPENING_S if opens_gpu else 0.0
        return max(self._most_idle_s - self._idle_s, _LEAST_IDLE_S) + waits_s

    def compile_left_s(self, file: str) -> float:
        """Return how long a file may still compile."""
        return max(0.0, self._most_compiled_s - self._compiled_s[file])

    def spend(self, file: str, spent: Spent, *, opens_gpu: bool = False) -> None:
        """Count the time of one call of a file."""
        idle_s = spent.idle_s - (_OPENING_S if opens_gpu else 0.0)
        with self._lock:
            self._compiled_s[file] += spent.compiled_s
            if idle_s >= _LEAST_IDLE_S:
                self._idle_s += idle_s
                self._idle_calls += 1

    @property
    def exhaustion(self) -> str:
        """What used the budget up, to follow the name of what was called; "" if nothing did."""
        if not self.used_up:
            return ""
        calls = "1 call" if self._idle_calls == 1 else f"{self._idle_calls} calls"
        return (
            f"slept for {self._idle_s:.0f} s in {calls}; all calls of a submission together may "
            f"sleep for {self._most_idle_s:g} s"
        )

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Use the GPU alone in the block; yields whether another grading was using it."""
        if self._gpu is None:
            yield False
            return
        with exclusive_use(self._gpu) as shared:
            yield shared
