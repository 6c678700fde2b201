"""Branches and loops on which the programs of a batch differ."""

# Kernels have no types of Python's.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from grader.emulation.common.errors import KernelError, TimeLimitError
from ir_kernels import Calls, launched


def clean(kernel: Any, *args: Any, grid: tuple[int, ...] = (1,), **kwargs: Any) -> Calls:
    calls = launched(kernel, grid, *args, **kwargs)
    assert [finding.message for finding in calls.findings] == []
    return calls


@triton.jit
def collatz(out, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    number = pid + 1
    steps = 0
    while number != 1:
        if number % 2 == 0:  # noqa: SIM108 # a branch on which programs differ
            number = number // 2
        else:
            number = 3 * number + 1
        steps += 1
    tl.store(out + pid, steps)


def test_programs_leave_a_loop_at_different_times() -> None:
    out = torch.full((60,), -1, dtype=torch.int32)
    clean(collatz, out, 50, grid=(60,))
    for number in range(1, 51):
        steps, value = 0, number
        while value != 1:
            value, steps = (value // 2 if value % 2 == 0 else 3 * value + 1), steps + 1
        assert int(out[number - 1]) == steps
    assert out[50:].tolist() == [-1] * 10


@triton.jit
def early(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid == 1:
        return
    i = pid * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    if tl.sum(value, axis=0) < 0:
        tl.store(out + i, -value, mask=i < n)
        return
    tl.store(out + i, value, mask=i < n)


def test_early_returns() -> None:
    x, out = torch.randn(100), torch.zeros(100)
    clean(early, x, out, 100, grid=(7,), BLOCK=16)
    wanted = torch.cat([part if part.sum() >= 0 else -part for part in x.split(16)])
    wanted[16:32] = 0
    assert torch.equal(out, wanted)


@triton.jit
def chosen(pid, x):
    if pid % 3 == 0:
        return x * 2.0
    return x + 100.0


@triton.jit
def of_all_kinds(x, starts, out, BLOCK: tl.constexpr, TIMES: tl.constexpr):
    pid = tl.program_id(0)
    first, last = tl.load(starts + pid), tl.load(starts + pid + 1)
    total = tl.zeros((BLOCK,), tl.float32)
    count = 0
    for start in range(first, last, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + i, mask=i < last, other=0.0)
        if pid % 2 == 1:
            for _ in range(pid):
                value += 1.0
        elif start == first:
            value = -value
        total += tl.where(i < last, value, 0.0)
        count += 1
    for step in tl.static_range(TIMES):
        total += step
    result = chosen(pid, tl.sum(total, axis=0))
    if (count > 2) and (pid > 0):
        result = result + 0.25
    tl.store(out + pid, result)


def test_bounds_branches_and_functions_that_differ() -> None:
    lengths = torch.tensor([0, 5, 40, 17, 8, 33, 1, 0, 16])
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).to(torch.int32)
    x, out, block = torch.randn(int(lengths.sum())), torch.empty(len(lengths)), 8
    clean(of_all_kinds, x, starts, out, grid=(len(lengths),), BLOCK=block, TIMES=3)
    for pid, part in enumerate(x.split(lengths.tolist())):
        tiles = list(part.split(block)) if len(part) else []
        for i, tile in enumerate(tiles):
            if pid % 2 == 1:
                tiles[i] = tile + pid
            elif i == 0:
                tiles[i] = -tile
        total = sum((tile.sum() for tile in tiles), torch.tensor(0.0)) + 3 * block
        total = total * 2 if pid % 3 == 0 else total + 100
        total = total + (0.25 if len(tiles) > 2 and pid else 0)
        torch.testing.assert_close(out[pid], total, rtol=1e-4, atol=1e-4)


@triton.jit
def search(x, wanted, out, n):
    """A binary search: `while` with two carried bounds."""
    pid = tl.program_id(0)
    value = tl.load(wanted + pid)
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if tl.load(x + middle) < value:
            low = middle + 1
        else:
            high = middle
    tl.store(out + pid, low)


def test_a_search() -> None:
    x, wanted = torch.rand(1000).sort().values, torch.rand(40)
    out = torch.empty(40, dtype=torch.int32)
    clean(search, x, wanted, out, 1000, grid=(40,))
    assert torch.equal(out.long(), torch.searchsorted(x, wanted))


@triton.jit
def pointers_that_move(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    source = x + pid * n
    if pid % 2 == 0:
        source += n // 2
    total = 0.0
    for _ in range(0, n // 2, BLOCK):
        total += tl.sum(tl.load(source + tl.arange(0, BLOCK)))
        source += BLOCK
    tl.store(out + pid, total)


def test_pointers_differ() -> None:
    x, out = torch.randn(6, 32), torch.empty(6)
    clean(pointers_that_move, x, out, 32, grid=(6,), BLOCK=8)
    wanted = [row[16:].sum() if i % 2 == 0 else row[:16].sum() for i, row in enumerate(x)]
    torch.testing.assert_close(out, torch.stack(wanted))


@triton.jit
def three_axes(out, BLOCK: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    nx, ny = tl.num_programs(0), tl.num_programs(1)
    value = x + 10 * y + 100 * z + 1000 * tl.num_programs(2)
    if (x == 1) | (y == 2):
        value = -value
    tl.store(out + (z * ny + y) * nx + x, value)


def test_three_axes() -> None:
    out = torch.empty(2, 3, 4, dtype=torch.int32)
    clean(three_axes, out, grid=(4, 3, 2), BLOCK=1)
    z, y, x = torch.meshgrid(torch.arange(2), torch.arange(3), torch.arange(4), indexing="ij")
    value = x + 10 * y + 100 * z + 2000
    assert torch.equal(out.long(), torch.where((x == 1) | (y == 2), -value, value))


@triton.jit
def ticket(counter, out, n):
    """Programs take the work that is next, as a persistent kernel does."""
    work = tl.atomic_add(counter, 1)
    while work < n:
        tl.store(out + work, work * 2)
        work = tl.atomic_add(counter, 1)


def test_work_by_tickets() -> None:
    counter, out = torch.zeros(1, dtype=torch.int32), torch.empty(20, dtype=torch.int32)
    clean(ticket, counter, out, 20, grid=(4,))
    assert out.tolist() == [2 * i for i in range(20)]


@triton.jit(debug=True)
def asserting(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=1.0)
    tl.device_assert(value > 0, "not positive")
    tl.device_print("value", value)


def test_device_assert() -> None:
    x = torch.ones(100)
    clean(asserting, x, 100, grid=(4,), BLOCK=32, debug=True)
    x[70] = -1
    with pytest.raises(KernelError, match="not positive") as raised:
        clean(asserting, x, 100, grid=(4,), BLOCK=32, debug=True)
    assert raised.value.at is not None and raised.value.at.file == __file__


@triton.jit
def endless(out):
    going = 1
    while going > 0:
        going += 1
        tl.store(out, going)


def test_an_endless_loop_ends() -> None:
    calls = Calls(deadline_s=0.0)
    with calls.patched(), pytest.raises(TimeLimitError):
        endless[(1,)](torch.zeros(1, dtype=torch.int32))
