"""A launch in words, from the untrusted record of the worker that made it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from grader.checks.common.crash import text_of

_USUAL = frozenset({"num_ctas: 1", "maxnreg: None"})  # parts of a configuration of Triton


def launch_text(
    record: Mapping[str, Any],
    shape: Sequence[int],
    written: int,
    text: str,
    *,
    only_first: int = 0,
    of_every: tuple[int, int] = (0, 0),
    turned: str = "",
) -> str:
    """Return "`silu_kernel` ran with 2 blocks of 256 threads: 512 for 300 elements, enough …".

    `shape` is that of the output, of which `written` elements were written: the first `only_first`
    rows or columns (of a vector, elements), if that is not 0, or the first of every so many
    (`of_every`: how many, and of how many). An input that has its rows as columns is `turned`, and
    threads are counted along that. `text` is the source. A Triton program has no threads to count.
    """
    grid, block = _sizes(record.get("grid")), _sizes(record.get("block"))
    what = f"`{text_of(record, 'kernel')}` ran"
    if not grid:
        return what
    if not block:
        idle = record.get("idle")
        rest = ""
        if type(idle) is int and 0 < idle < math.prod(grid):
            rest = f", {idle} of which store{'s' if idle == 1 else ''} nothing"
        unused = _unused(grid, "program_id({})", text)
        overlap = _overlap(only_first, [(grid[0], _width(only_first - grid[0] + 1))])
        single = _one_each(only_first, grid, shape)
        return f"{what} with {_count(grid, 'program')}{unused or overlap or single or rest}"
    unused = _unused(block, "threadIdx.{}", text) or _unused(grid, "blockIdx.{}", text)
    threads = [a * b for a, b in zip(grid, block, strict=True)]
    what += f" with {_count(grid, 'block')} of {_count(block, 'thread')}: "
    if len(shape) == 2 and threads[1] > 1:
        shape = shape[::-1] if turned else shape
        few = threads[0] < shape[1] or threads[1] < shape[0]
        what += f"{threads[0]} × {threads[1]} for {shape[1]} columns × {shape[0]} rows"
        what += f" of `{turned}`" if turned else ""
    else:
        few = math.prod(threads) < math.prod(shape)
        what += f"{math.prod(threads)} for {_count([math.prod(shape)], 'element')}"
    if unused:
        return what + unused
    if only_first in (blocks * width for blocks, width in zip(grid, block, strict=True)):
        only_first = 0  # all that the launch has along an axis
    sides = [(grid[0], block[0]), (grid[0], block[1]), (grid[1], block[1])]
    if overlap := _overlap(only_first, sides) or _spans(only_first, grid[0], block[0]):
        return what + overlap
    if share := _share(only_first, shape, block[0]) or _exchanged(of_every, grid, block):
        return what + share
    if single := _one_each(only_first, grid, shape):
        return what + single
    rows_lack_threads = len(shape) == 2 and 1 < threads[1] < shape[0]
    if few and written > math.prod(threads) and not rows_lack_threads:
        missing = math.prod(shape) - written
        last = missing * math.prod(threads) < written + math.prod(threads)
        each, over = divmod(written, math.prod(threads))
        if over == 0 and only_first and not last:
            return f"{what}, and they wrote {written}, {each} for each"
        share = ": all but the last thread's share" if last else ""
        return f"{what}, and they wrote {written}, several each{share}"
    return f"{what}, {'too few' if few else 'enough'} for one each"


def configuration_text(record: Mapping[str, Any]) -> str:
    """Return " with the tuner's configuration BM: 32, num_warps: 4", of a tuned launch's record.

    "" if its autotuner has a single configuration.
    """
    several = record.get("configurations")
    if type(several) is not int or several < 2:
        return ""
    parts = text_of(record, "config").split(", ")
    chosen = ", ".join(one for one in parts if one not in _USUAL)
    return f" with the tuner's configuration {chosen}" if chosen.isprintable() and chosen else ""


def _overlap(rows: int, sides: Sequence[tuple[int, int]]) -> str:
    """Recognise an index that adds a block's number instead of its place."""
    for blocks, width in sides:
        if blocks > 1 and width > 1 and rows == blocks + width - 1:
            return (
                f", and {rows} = {blocks} + {width} - 1 were reached, as if the block's number "
                "were not multiplied by its size"
            )
    return ""


def _share(reached: int, shape: Sequence[int], threads: int) -> str:
    """Recognise threads with several neighbours that begin as if each had one."""
    for extent in shape:
        each = -(-extent // threads)
        if each > 1 and reached == threads + each - 1 < extent:
            return (
                f", and {reached} = {threads} + {each} - 1 were reached, as if each thread had "
                f"{each} neighbours and began one after the thread before"
            )
    return ""


def _exchanged(of_every: tuple[int, int], grid: Sequence[int], block: Sequence[int]) -> str:
    """Recognise an index that multiplies the thread's number in the place of the block's."""
    count, period = of_every
    for blocks, threads in zip(grid, block, strict=True):
        # An axis with one block says little beside others.
        alone = blocks > 1 or math.prod(grid) == 1
        if 1 <= count == blocks and period == threads > 1 and alone:
            return (
                f", and the first {count} of every {period} were reached, as if the index were "
                f"blockIdx + threadIdx * {period}"
            )
    return ""


def _one_each(rows: int, grid: Sequence[int], shape: Sequence[int]) -> str:
    """Recognise a launch with a block for each row, but not for all of them."""
    if len(shape) == 2 and 1 < rows == grid[0] == math.prod(grid):
        return f", and the first {rows} were reached, one for each"
    return ""


def _width(rows: int) -> int:
    """Return the number if it can be the width of a Triton program, else 0."""
    return rows if rows >= 4 and rows & (rows - 1) == 0 else 0


def _spans(elements: int, blocks: int, threads: int) -> str:
    """Recognise blocks of several elements a thread that begin as if it had one."""
    step, over = divmod(elements - threads, max(blocks - 1, 1))
    # A multiple of the threads is as well a share of each.
    close = 1 < step < threads and threads % step == 0 and elements % threads
    if blocks > 2 and over == 0 and close:
        return (
            f", and {elements} were reached, as if each block began {step} elements after the one "
            f"before, too close for its {threads} threads"
        )
    each, over = divmod(elements - (blocks - 1) * threads, threads)
    if blocks < 4 or over or each not in (2, 4, 8) or elements % (blocks * threads) == 0:
        return ""
    return (
        f", and {elements} were reached, as if each block began {threads} elements after the one "
        f"before and wrote {each * threads}"
    )


def _unused(sizes: Sequence[int], name: str, text: str) -> str:
    """Return that the source does not use an axis of the launch, "" if it uses all of them.

    `name` is the axis's name in the language. A file that computes it has it in another form.
    """
    triton = name.startswith("program")
    for axis, size in enumerate(sizes):
        word = name.format(axis if triton else "xyz"[axis])
        used = re.sub(r"program_id\(axis=", "program_id(", "".join(text.split()))
        # Inline assembly; Numba's index of the thread in the launch, of so many axes.
        whole = rf"{word.partition('.')[0]}(?!\.)|%[nc]?tid|cuda\.grid\([{axis + 1}-3]"
        whole = r"program_id\((?!\d)" if triton else whole
        if size > 1 and text and word not in used and not re.search(whole, used):
            return f", and the file never {'reads' if triton else 'uses'} {word}"
    return ""


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
