"""Count what warps request of global memory, by line: see `triton_ir.requests`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from grader.emulation.ptx.operations import Values
from grader.emulation.triton_ir.findings import Access
from grader.emulation.triton_ir.requests import OFF, Line, Requests, count_warps
from grader.protocol.targets import WARP

Watch = Callable[[Access, int, Values, Values, "int | None"], None]


@dataclass(slots=True)
class Counting:
    """Counts the accesses of launches."""

    def begin(self, requests: Requests, block: tuple[int, int, int]) -> Watch:
        """Start a launch; return what to call for each access to global memory."""
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
            entry = requests.lines.setdefault(key, Line(*key))
            count_warps(entry, torch.from_numpy(lanes), size)

        return watch
