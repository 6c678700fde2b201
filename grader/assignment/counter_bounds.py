"""Bounds on a kernel's access counters, as an assignment sets them.

Every bound is a ratio: what the kernel's accesses cost ÷ the least that would
do. 1 is perfect whatever the width of an access, so that a kernel with float4
(16 sectors a request) and one with float (4) are held to the same number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

FigureName = Literal["load_sectors", "store_sectors", "shared_wavefronts", "traffic"]
FigureUnit = Literal["sectors", "wavefronts", "bytes"]
FIGURES: tuple[FigureName, ...] = get_args(FigureName)


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterBounds:
    """The table `counters` of a kernel: the case to count, and the largest ratio of each figure.

    load_sectors       sectors that loads from global memory take ÷ the fewest for their bytes
    store_sectors      the same for stores
    shared_wavefronts  wavefronts of shared memory ÷ those without bank conflicts
    traffic            bytes of all sectors ÷ bytes of the arrays, each moved once
    """

    sizes: Mapping[str, int | float]
    most: Mapping[FigureName, float]
