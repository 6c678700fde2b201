"""The processor cores that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

# The limit of a container's control group, "QUOTA PERIOD" in microseconds, or "max PERIOD".
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores(quota: Path = _QUOTA) -> int:
    """Return the number of cores, at least 1; a container's quota counts whole cores."""
    cores = len(os.sched_getaffinity(0))
    try:
        most, period = quota.read_text().split()
        return max(1, min(cores, int(most) // int(period)))
    except (OSError, ValueError):
        return cores  # there is no quota
