"""Measure the copy bandwidth of this GPU, and whether another process keeps it busy.

A busy GPU is time-sliced: another process runs for a millisecond or more between our kernels. It
may slow down torch and the submission differently, so their ratio means nothing. A tiny kernel
finishes within microseconds on an idle GPU and waits for a time slice on a busy one. This is
measured before any worker runs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import torch

from grader.checks.common.diagnosis import Diagnosis
from grader.report.verdict import Verdict

COPY_BYTES = 1 << 28
_AT_ONCE = 8  # copies between two readings of the clock
_COPIES = 12
_COPYING_S = 0.05  # at least: an idle GPU has to raise its clocks first
_WAITS, _WARM = 100, 10
# Longest accepted wait; a tenth of the tiny kernels may take longer for other reasons.
_MOST_WAIT_S = 5e-4
_LOOK_AGAIN_S = 0.3  # the driver may still clean up after a worker that has just ended


def copy_rate_gb_s() -> float:
    """Return the copy bandwidth of the device's memory, reads plus writes, in GB/s."""
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


def kernel_waits() -> list[float]:
    """Return the seconds that each of many tiny kernels took, launched one after the other."""
    cell = torch.zeros(1, device="cuda")
    waits_s: list[float] = []
    for _ in range(_WARM + _WAITS):
        started_s = time.perf_counter()
        cell.add_(1)
        torch.cuda.synchronize()
        waits_s.append(time.perf_counter() - started_s)
    return waits_s[_WARM:]


def busy_gpu() -> Diagnosis | None:
    """Return a diagnosis if another process keeps the GPU busy, now and a moment later."""
    if busy_diagnosis(kernel_waits()) is None:
        return None
    time.sleep(_LOOK_AGAIN_S)
    return busy_diagnosis(kernel_waits())


def busy_diagnosis(waits_s: Sequence[float]) -> Diagnosis | None:
    """Return a diagnosis if tiny kernels had to wait for another process."""
    wait_s = statistics.quantiles(waits_s, n=10)[-1]
    if wait_s <= _MOST_WAIT_S:
        return None
    return Diagnosis(
        Verdict.NOT_MEASURED,
        f"a kernel of one thread was done after {wait_s * 1e3:.1f} ms: another process keeps the "
        "GPU busy",
        hint="grade again on a GPU that nothing else uses",
    )
