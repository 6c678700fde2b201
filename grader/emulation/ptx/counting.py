"""Count what warps request of global memory, by line."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from grader.emulation.common.findings import Access
from grader.emulation.common.warp_requests import OFF, Line, count_warps
from grader.emulation.ptx.operations import Values
from grader.protocol.targets import WARP

Watch = Callable[[Access, int, Values, Values, "int | None"], None]


def counter(lines: dict[tuple[int | None, str, int], Line], block: tuple[int, int, int]) -> Watch:
    """Return what to call for each access of a launch to global memory: it counts in `lines`."""
    per_block = math.prod(block)
    warps_per_block = -(-per_block // WARP)

    def watch(
        access: Access, size: int, addresses: Values, threads: Values, line: int | None
    ) -> None:
        places = threads // per_block * warps_per_block * WARP + threads % per_block
        warps, index = np.unique(places // WARP, return_inverse=True)
        lanes = np.full((len(warps), WARP), OFF, dtype="i8")
        lanes[index, places % WARP] = addresses
        key = line, access, size
        entry = lines.setdefault(key, Line(*key))
        count_warps(entry, torch.from_numpy(lanes), size)

    return watch
