"""What this GPU's memory can move at this moment, and whether the GPU is ours alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import torch

from grader.check.ending import Sentence
from grader.verdict import Verdict

COPY_BYTES = 1 << 28
_AT_ONCE = 8  # copies between two looks at the clock
_WARM, _FEWEST = 4, 16
# Long enough for several of the slices, some milliseconds, that a GPU gives to processes in turn.
_WINDOW_S = 0.06
# On a GPU that nothing else uses copies differ by a per cent or two.
_STEADY = 1.25


def copies() -> list[float]:
    """Return the seconds of copies within the device's memory, one after the other."""
    source = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    times_s: list[float] = []
    warm = 0
    while len(times_s) < _FEWEST or sum(times_s) * _AT_ONCE < _WINDOW_S:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call] # torch's own
        start.record()
        for _ in range(_AT_ONCE):
            target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        warm += 1
        if warm > _WARM:
            times_s.append(start.elapsed_time(end) / 1e3 / _AT_ONCE)
    return times_s


def rate_gb_s(copies_s: Sequence[float]) -> float:
    """Return what the fastest copy read and wrote, GB/s: the practical roof."""
    return 2 * COPY_BYTES / min(copies_s) / 1e9


def crowded(copies_s: Sequence[float]) -> Sentence | None:
    """Say that something else uses the GPU if copies take now this long, now that.

    A process that keeps a GPU busy gets its slices of time in the middle of ours. Torch's
    figures alone and beside the hand-in may agree all the same, and both be wrong.
    """
    usual_s, best_s = statistics.mean(copies_s), min(copies_s)
    if usual_s <= _STEADY * best_s:
        return None
    return Sentence(
        verdict=Verdict.NOT_MEASURED,
        message=f"a copy takes {best_s * 1e6:.0f} us at best and {usual_s * 1e6:.0f} us "
        "on average: something else uses the GPU",
        hint="grade again on a GPU that nothing else uses",
    )
