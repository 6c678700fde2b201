"""A launch in words, from the untrusted record of the worker that made it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from grader.checks.common.crash import text_of


def launch_text(record: Mapping[str, Any], shape: Sequence[int]) -> str:
    """Return "`silu_kernel` ran with 2 blocks of 256 threads: 512 for 300 elements, enough …".

    `shape` is that of the output. A Triton program has no threads to count.
    """
    grid, block = _sizes(record.get("grid")), _sizes(record.get("block"))
    what = f"`{text_of(record, 'kernel')}` ran"
    if not grid:
        return what
    if not block:
        return f"{what} with {_count(grid, 'program')}"
    threads = [a * b for a, b in zip(grid, block, strict=True)]
    what += f" with {_count(grid, 'block')} of {_count(block, 'thread')}: "
    if len(shape) == 2 and threads[1] > 1:
        few = threads[0] < shape[1] or threads[1] < shape[0]
        what += f"{threads[0]} × {threads[1]} for {shape[1]} columns × {shape[0]} rows"
    else:
        few = math.prod(threads) < math.prod(shape)
        what += f"{math.prod(threads)} for {_count([math.prod(shape)], 'element')}"
    return f"{what}, {'too few' if few else 'enough'} for one each"


def _sizes(value: object) -> list[int]:
    """Return the three sizes of a grid or block, [] if the value is none."""
    if not isinstance(value, list) or len(value) != 3:
        return []
    return value if all(type(size) is int and size > 0 for size in value) else []


def _count(sizes: Sequence[int], word: str) -> str:
    """Return "2×3 blocks", without trailing ones."""
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return f"{'×'.join(map(str, kept))} {word}{'' if kept == [1] else 's'}"
