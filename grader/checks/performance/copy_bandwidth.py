"""What this GPU's memory can move at this moment, and whether the GPU is ours alone.

A process that keeps a GPU busy gets slices of its time, a millisecond or more, in turn with
ours: torch and the hand-in are slowed down alike or not, and their ratio means nothing. On a
GPU that nothing else uses a tiny kernel is done after some microseconds; beside such a process
it waits for its slice. That is measured before any worker is there.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import torch

from grader.checks.common.diagnosis import Diagnosis
from grader.report.verdict import Verdict

COPY_BYTES = 1 << 28
_AT_ONCE = 8  # copies between two looks at the clock
_COPIES = 12
_COPYING_S = 0.05  # at least: a GPU that was idle has to raise its clocks first
_WAITS, _WARM = 100, 10
# A tenth of the tiny kernels may take longer, for other reasons.
_MOST_WAIT_S = 5e-4
_LOOK_AGAIN_S = 0.3  # a worker that has just ended may still be tidied up after


def copy_rate_gb_s() -> float:
    """Return what a copy within the device's memory reads and writes, GB/s: the practical roof."""
    source = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    times_s: list[float] = []
    while len(times_s) < _COPIES or _AT_ONCE * sum(times_s) < _COPYING_S:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call] # torch's own
        start.record()
        for _ in range(_AT_ONCE):
            target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        times_s.append(start.elapsed_time(end) / 1e3 / _AT_ONCE)
    return 2 * COPY_BYTES / min(times_s) / 1e9


def waits() -> list[float]:
    """Return the seconds after which each of many tiny kernels was done, one after the other."""
    cell = torch.zeros(1, device="cuda")
    found: list[float] = []
    for _ in range(_WARM + _WAITS):
        started_s = time.perf_counter()
        cell.add_(1)
        torch.cuda.synchronize()
        found.append(time.perf_counter() - started_s)
    return found[_WARM:]


def somebody_else() -> Diagnosis | None:
    """Say that something else keeps the GPU busy, now and a moment later; None if not."""
    if crowded(waits()) is None:
        return None
    time.sleep(_LOOK_AGAIN_S)
    return crowded(waits())


def crowded(waits_s: Sequence[float]) -> Diagnosis | None:
    """Say that something else keeps the GPU busy, None if tiny kernels did not have to wait."""
    wait_s = statistics.quantiles(waits_s, n=10)[-1]
    if wait_s <= _MOST_WAIT_S:
        return None
    return Diagnosis(
        Verdict.NOT_MEASURED,
        f"a kernel of one thread was done after {wait_s * 1e3:.1f} ms: something else "
        "keeps the GPU busy",
        hint="grade again on a GPU that nothing else uses",
    )
