"""Kernels whose requests are compared with a GPU's counters: benchmarks/triton_agreement.py.

Each function in CASES launches on tensors that `make(*shape)` returns, filled with small numbers.
"""
# mypy: ignore-errors

import importlib.util
from pathlib import Path

import torch
import triton
import triton.language as tl

REFERENCE = Path(__file__).resolve().parents[4] / "reference"


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


@triton.jit
def copy_whole_blocks_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets))


@triton.jit
def strided_kernel(x, out, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets * STEP, mask=mask), mask=mask)


@triton.jit
def every_other_lane_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (offsets < n) & (offsets % 2 == 1)
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


@triton.jit
def gather_kernel(x, index, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + tl.load(index + offsets)))


@triton.jit
def turned_kernel(x, out, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    # Columns first in memory: the block's first dimension is the contiguous one.
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    mask = (r < rows) & (c < cols)
    tl.store(out + c * rows + r, tl.load(x + c * rows + r, mask=mask) + 1, mask=mask)


@triton.jit
def add_row_kernel(x, row, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    # A row and a column of few elements, which all warps load.
    r, c = tl.arange(0, ROWS), tl.arange(0, COLS)
    block = tl.program_id(0) * ROWS * COLS + r[:, None] * COLS + c[None, :]
    sums = tl.load(x + block) + tl.load(row + c)[None, :] * tl.load(row + r)[:, None]
    tl.store(out + block, sums)


@triton.jit
def small_block_kernel(x, out, BLOCK: tl.constexpr):
    # Fewer elements than threads.
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) * tl.load(x + tl.program_id(0)))


@triton.jit
def row_sums_kernel(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, cols, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    tl.store(out + row, tl.sum(total, axis=0))


@triton.jit
def histogram_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask=mask)
    tl.atomic_add(out + values, 1, mask=mask)
    tl.atomic_max(out + 64, tl.max(tl.where(mask, values, 0), axis=0))


@triton.jit
def three_dimensions_kernel(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a = tl.arange(0, A)[:, None, None]
    b = tl.arange(0, B)[None, :, None]
    c = tl.arange(0, C)[None, None, :]
    base = tl.program_id(0) * A * B * C
    tl.store(out + base + (a * C + c) * B + b, tl.load(x + base + (a * B + b) * C + c))


@triton.jit
def product_kernel(
    a, b, out, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # float32, rows that are no multiple of 16 elements, prefetched
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(0, k, BK):
        depth = first + tl.arange(0, BK)
        left = a + rows[:, None] * k + depth[None, :]
        right = b + depth[:, None] * n + cols[None, :]
        left_part = tl.load(left, mask=depth[None, :] < k, other=0.0)
        right_part = tl.load(right, mask=(depth[:, None] < k) & (cols[None, :] < n), other=0.0)
        total += tl.dot(left_part, right_part)
    tl.store(out + rows[:, None] * n + cols[None, :], total, mask=cols[None, :] < n)


@triton.jit
def read(x, offsets, mask):
    return tl.load(x + offsets, mask=mask, other=0.0)


@triton.jit(noinline=True)
def apart(x, offsets):
    return tl.load(x + offsets * 3)


@triton.jit
def functions_kernel(x, y, out, n, BLOCK: tl.constexpr):
    # One line of `read`, inlined with other widths: y begins where the compiler knows nothing.
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = read(x, offsets, mask) + read(y, offsets, mask) + apart(x, tl.program_id(0))
    tl.store(out + offsets, total, mask=mask)


@triton.jit
def split_product_kernel(
    a, b, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # programs share the depth and add up with atomics
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(tl.program_id(2) * BK, k, 2 * BK):
        depth = first + tl.arange(0, BK)
        mask = (rows[:, None] < m) & (depth[None, :] < k)
        left = tl.load(a + rows[:, None] * k + depth[None, :], mask=mask, other=0.0)
        mask = (depth[:, None] < k) & (cols[None, :] < n)
        right = tl.load(b + depth[:, None] * n + cols[None, :], mask=mask, other=0.0)
        total = tl.dot(left, right, total)
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.atomic_add(out + rows[:, None] * n + cols[None, :], total.to(out.dtype.element_ty), mask)


@triton.jit
def exchange_kernel(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    old = tl.atomic_cas(out + offsets // 2, tl.zeros((BLOCK,), tl.int32), offsets)
    tl.atomic_xchg(x + offsets, old)
    tl.atomic_add(x, 1)


@triton.jit
def block_pointer_kernel(x, out, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = (tl.program_id(0) * ROWS, tl.program_id(1) * COLS)
    source = tl.make_block_ptr(x, (rows, cols), (cols, 1), at, (ROWS, COLS), (1, 0))
    target = tl.make_block_ptr(out, (rows, cols), (cols, 1), at, (ROWS, COLS), (1, 0))
    tl.store(target, tl.load(source, boundary_check=(0, 1)), boundary_check=(0, 1))


def _functions(make):
    functions_kernel[(8,)](make(4096), make(4097)[1:], make(4096), 4096, BLOCK=512)


def _split_product(dtype):
    def launch(make):
        a, b, out = make(96, 256, dtype=F16), make(256, 80, dtype=F16), make(96, 80, dtype=dtype)
        split_product_kernel[(2, 2, 2)](a, b, out, 96, 80, 256, BM=64, BN=64, BK=32)

    return launch


def _exchange(make):
    exchange_kernel[(8,)](make(4096, dtype=I32), make(2048, dtype=I32), BLOCK=512)


def _block_pointer(make):
    block_pointer_kernel[(4, 3)](make(100, 80), make(100, 80), 100, 80, ROWS=32, COLS=32)


def _copy(dtype, n, block=1024, skip=0, **options):
    def launch(make):
        x, out = make(n + skip, dtype=dtype)[skip:], make(n, dtype=dtype)
        copy_kernel[(triton.cdiv(n, block),)](x, out, n, BLOCK=block, **options)

    return launch


def _whole_blocks(make):
    copy_whole_blocks_kernel[(64,)](make(65536), make(65536), BLOCK=1024)


def _strided(step):
    def launch(make):
        strided_kernel[(16,)](make(16384 * step), make(16384), 16384, STEP=step, BLOCK=1024)

    return launch


def _every_other(make):
    every_other_lane_kernel[(16,)](make(16384), make(16384), 16384, BLOCK=1024)


def _gather(make):
    n = 16384
    index = (torch.arange(n) * 7919 % n).to(torch.int32)
    gather_kernel[(n // 512,)](make(n), make(n, like=index), make(n), BLOCK=512)


def _turned(make):
    turned_kernel[(5, 4)](make(60, 72), make(60, 72), 72, 60, ROWS=16, COLS=16)


def _add_row(make):
    add_row_kernel[(8,)](make(8 * 64 * 128), make(128), make(8 * 64 * 128), ROWS=64, COLS=128)


def _small_block(make):
    small_block_kernel[(64,)](make(64 * 32), make(64 * 32), BLOCK=32, num_warps=8)


def _row_sums(make):
    row_sums_kernel[(96,)](make(96, 1000), make(96), 1000, BLOCK=256)


def _histogram(make):
    values = (torch.arange(10000) * 31 % 64).to(torch.int32)
    out = make(65, dtype=torch.int32)
    histogram_kernel[(10,)](make(10000, like=values), out, 10000, BLOCK=1024)


def _three_dimensions(make):
    three_dimensions_kernel[(16,)](make(16 * 2048), make(16 * 2048), A=4, B=16, C=32)


def _product(dtype, n, k):
    def launch(make):
        a, b, out = make(128, k, dtype=dtype), make(k, n, dtype=dtype), make(128, n)
        product_kernel[(2, triton.cdiv(n, 64))](a, b, out, n, k, BM=64, BN=64, BK=32)

    return launch


def _reference(assignment, kernel, *arguments):
    def launch(make):
        spec = importlib.util.spec_from_file_location(
            f"{assignment}_{kernel}", REFERENCE / assignment / f"{kernel}.py"
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made = [make(*a[1:], dtype=a[0]) if isinstance(a, tuple) else a for a in arguments]
        getattr(module, assignment)(*made)

    return launch


F16, F32, F64 = torch.float16, torch.float32, torch.float64
I8, I32 = torch.int8, torch.int32


def _transpose(kernel, rows, cols):
    return _reference("transpose", kernel, (F32, rows, cols), (F32, cols, rows), rows, cols)


def _gemm(kernel, m, n, k):
    return _reference("gemm", kernel, (F16, m, k), (F16, k, n), (F16, m, n), m, n, k)


CASES = {
    "transpose v1": _transpose("v1_row_wise", 72, 2056),
    "transpose v2": _transpose("v2_coalesced", 72, 2056),
    "transpose v3": _transpose("v3_shared_tile", 264, 328),
    "transpose v4": _transpose("v4_padded", 264, 328),
    "transpose v4, odd rows": _transpose("v4_padded", 263, 325),
    "gemm v1": _gemm("v1_simple", 256, 256, 64),
    "gemm v2": _gemm("v2_tiled", 256, 256, 64),
    "gemm v3": _gemm("v3_optimized", 256, 256, 64),
    "gemm v3, deep": _gemm("v3_optimized", 256, 256, 512),
    "gemm v3, odd rows": _gemm("v3_optimized", 250, 251, 67),
    "gemm v4": _gemm("v4_autotuned", 256, 256, 64),
    "silu": _reference("silu", "silu", (F32, 10007), (F32, 10007), 10007),
    "silu, multiple of 16": _reference("silu", "silu", (F32, 16000), (F32, 16000), 16000),
    "rms_norm_vector": _reference(
        "rms_norm_vector", "rms_norm_vector", (F32, 5003), (F32, 5003), (F32, 5003), 5003, 1e-5
    ),
    "rms_norm_matrix": _reference(
        "rms_norm_matrix", "rms_norm_matrix", (F32, 64, 1000), (F32, 1000), (F32, 64, 1000), 64,
        1000, 1e-5,
    ),
    "copy": _copy(F32, 65536),
    "copy, no mask": _whole_blocks,
    "copy, masked tail": _copy(F32, 65521),
    "copy, misaligned": _copy(F32, 65536, skip=1),
    "copy float16": _copy(F16, 65536),
    "copy float64": _copy(F64, 32768),
    "copy int8": _copy(I8, 65536),
    "copy int8, odd": _copy(I8, 65521),
    "copy, 16 warps": _copy(F32, 65536, num_warps=16),
    "strided by 2": _strided(2),
    "strided by 8": _strided(8),
    "every other lane": _every_other,
    "gather": _gather,
    "columns first": _turned,
    "rows and columns of few": _add_row,
    "block of one warp": _small_block,
    "row sums": _row_sums,
    "histogram": _histogram,
    "three dimensions": _three_dimensions,
    "product float32": _product(F32, 120, 200),
    "product float32, odd rows": _product(F32, 123, 77),
    "product float16, odd rows": _product(F16, 123, 77),
    "functions": _functions,
    "split product, float32 atomics": _split_product(F32),
    "split product, float16 atomics": _split_product(F16),
    "exchanges": _exchange,
    "block pointers": _block_pointer,
}  # fmt: skip
