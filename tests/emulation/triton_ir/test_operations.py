"""Operations on blocks compute what torch computes."""

# Kernels have no types of Python's.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from ir_kernels import Calls, launched
from triton.language.extra import libdevice


def clean(
    kernel: Any, *args: Any, grid: tuple[int, ...] = (1,), capability: int = 80, **kwargs: Any
) -> Calls:
    calls = launched(kernel, grid, *args, capability=capability, **kwargs)
    assert [finding.message for finding in calls.findings] == []
    return calls


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def larger(av, ai, bv, bi):
    take = (av > bv) | ((av == bv) & (ai < bi))
    return tl.where(take, av, bv), tl.where(take, ai, bi)


@triton.jit
def recurrence(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def matrix_product(a, b, c, d, e, f, g, h):
    """An associative function that does not commute."""
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


@triton.jit
def reductions(x, out, places, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out, tl.sum(v, axis=0))
    tl.store(out + 1, tl.max(v, axis=0))
    tl.store(out + 2, tl.min(v, axis=0))
    tl.store(out + 3, tl.reduce(v, 0, multiply))
    best, at = tl.reduce((v, i), 0, larger)
    tl.store(out + 4, best)
    tl.store(places, at)
    tl.store(places + 1, tl.argmax(v, axis=0))
    tl.store(places + 2, tl.argmin(v, axis=0))
    tl.store(places + 3, tl.xor_sum(i, axis=0))
    tl.store(places + 4, tl.max((i * 7) % 13, axis=0))
    best, at = tl.max(tl.abs(v), axis=0, return_indices=True)
    tl.store(out + 5, best)
    tl.store(places + 5, at)


def test_reductions() -> None:
    x, out, places = torch.rand(64) + 0.5, torch.empty(6), torch.empty(6, dtype=torch.int32)
    clean(reductions, x, out, places, BLOCK=64)
    wanted = torch.stack([x.sum(), x.max(), x.min(), x.prod(), x.max(), x.max()])
    torch.testing.assert_close(out, wanted)
    most = int(x.argmax())
    assert places.tolist() == [most, most, int(x.argmin()), 0, 12, most]


def test_reductions_along_axes() -> None:
    x, rows, cols, total = torch.randn(8, 16), torch.empty(8), torch.empty(16), torch.empty(2)
    clean(reductions_2d, x, rows, cols, total, R=8, C=16)
    torch.testing.assert_close(rows, x.sum(1))
    torch.testing.assert_close(cols, x.amax(0))
    torch.testing.assert_close(total, x.sum().expand(2))


@triton.jit
def reductions_2d(x, rows, cols, all, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + r[:, None] * C + c[None, :])
    tl.store(rows + r, tl.sum(v, 1))
    tl.store(cols + c, tl.max(v, 0))
    tl.store(all, tl.sum(v))
    kept = tl.sum(tl.sum(v, axis=1, keep_dims=True), axis=0)
    tl.store(all + 1 + tl.arange(0, 1), kept)


@triton.jit
def scans(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v, w = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.cumsum(v, 0))
    tl.store(out + BLOCK + i, tl.cumsum(v, 0, reverse=True))
    tl.store(out + 2 * BLOCK + i, tl.cumprod(v, 0))
    _, b = tl.associative_scan((v, w), 0, recurrence)
    tl.store(out + 3 * BLOCK + i, b)
    _, b = tl.associative_scan((v, w), 0, recurrence, reverse=True)
    tl.store(out + 4 * BLOCK + i, b)


def test_scans() -> None:
    n = 32
    x, y, out = torch.rand(n) + 0.2, torch.randn(n), torch.empty(5, n)
    clean(scans, x, y, out, BLOCK=n)
    torch.testing.assert_close(out[0], x.cumsum(0))
    torch.testing.assert_close(out[1], x.flip(0).cumsum(0).flip(0))
    torch.testing.assert_close(out[2], x.cumprod(0))

    def steps(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        last, found = torch.tensor(0.0), []
        for factor, summand in zip(a, b, strict=True):
            last = factor * last + summand
            found.append(last)
        return torch.stack(found)

    torch.testing.assert_close(out[3], steps(x, y))
    torch.testing.assert_close(out[4], steps(x.flip(0), y.flip(0)).flip(0))


@triton.jit
def products_of_matrices(m, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(m + 4 * i), tl.load(m + 4 * i + 1)
    c, d = tl.load(m + 4 * i + 2), tl.load(m + 4 * i + 3)
    e, f, g, h = tl.associative_scan((a, b, c, d), 0, matrix_product)
    tl.store(out + 4 * i, e)
    tl.store(out + 4 * i + 1, f)
    tl.store(out + 4 * i + 2, g)
    tl.store(out + 4 * i + 3, h)


def test_a_scan_keeps_the_order_of_what_does_not_commute() -> None:
    n = 16
    m, out = torch.randn(n, 2, 2) / 2 + torch.eye(2), torch.empty(n, 2, 2)
    clean(products_of_matrices, m, out, BLOCK=n)
    running = [m[0]]
    for one in m[1:]:
        running.append(running[-1] @ one)
    torch.testing.assert_close(out, torch.stack(running), rtol=1e-4, atol=1e-4)


@triton.jit
def orders(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, tl.sort(v))
    tl.store(out + BLOCK + i, tl.sort(v, descending=True))
    tl.store(out + 2 * BLOCK + i, tl.flip(v, 0))
    k = tl.arange(0, 8)
    tl.store(out + 3 * BLOCK + k, tl.topk(v, 8))


def test_sort_flip_and_topk() -> None:
    x, out = torch.randn(64), torch.zeros(4, 64)
    clean(orders, x, out, BLOCK=64)
    assert torch.equal(out[0], x.sort().values)
    assert torch.equal(out[1], x.sort(descending=True).values)
    assert torch.equal(out[2], x.flip(0))
    assert torch.equal(out[3, :8], x.topk(8).values)


@triton.jit
def counts(x, n, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.store(out + tl.arange(0, BINS), tl.histogram(v, BINS, mask=i < n))


def test_histogram() -> None:
    x, out = torch.randint(0, 16, (100,), dtype=torch.int32), torch.empty(16, dtype=torch.int32)
    clean(counts, x, 100, out, BLOCK=128, BINS=16)
    assert out.tolist() == x.bincount(minlength=16).tolist()


@triton.jit
def rounds(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    asm: tl.constexpr = "cvt.rna.tf32.f32 $0, $1;"
    tl.store(out + i, tl.inline_asm_elementwise(asm, "=r,r", [v], tl.float32, True, 1))


def test_rounding_to_tf32_in_assembly() -> None:
    x, out = torch.tensor([1.0, 1 + 2**-11, 1 + 2**-12, -3.1415927]), torch.empty(4)
    clean(rounds, x, out, BLOCK=4)
    assert out.tolist() == [1.0, 1 + 2**-10, 1.0, -3.140625]


@triton.jit
def counts_all(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, BLOCK)), BINS))


def test_a_value_without_a_bin_counts_in_another_one() -> None:
    x, out = torch.tensor([64, 65, -1, 3], dtype=torch.int32), torch.empty(64, dtype=torch.int32)
    clean(counts_all, x, out, BLOCK=4, BINS=64)
    assert out.nonzero().reshape(-1).tolist() == [0, 1, 3, 63]
    few = torch.empty(16, dtype=torch.int32)
    clean(counts_all, torch.tensor([16, 33, 0, 2], dtype=torch.int32), few, BLOCK=4, BINS=16)
    assert few.nonzero().reshape(-1).tolist() == [0, 1, 2]


@triton.jit
def picks(x, index, out, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    v = tl.load(x + r * C + c)
    at = tl.load(index + r * C + c)
    tl.store(out + r * C + c, tl.gather(v, at, axis=1))


def test_gather() -> None:
    x, index = torch.randn(4, 16), torch.randint(0, 16, (4, 16), dtype=torch.int32)
    out = torch.empty(4, 16)
    clean(picks, x, index, out, R=4, C=16)
    assert torch.equal(out, x.gather(1, index.long()))


@triton.jit
def shapes(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v, w = tl.load(x + i), tl.load(y + i)
    j = tl.arange(0, 2 * BLOCK)
    tl.store(out + j, tl.interleave(v, w))
    joined = tl.join(v, w)
    left, right = tl.split(joined)
    tl.store(out + 2 * BLOCK + i, left - right)
    tl.store(out + 3 * BLOCK + j, tl.cat(v, w, can_reorder=True))
    tile = tl.reshape(v, (4, BLOCK // 4))
    tl.store(out + 5 * BLOCK + i, tl.ravel(tl.trans(tile)))
    three = tl.permute(tl.reshape(v, (2, 2, BLOCK // 4)), (2, 0, 1))
    tl.store(out + 6 * BLOCK + i, tl.reshape(three, (BLOCK,)))
    wide = tl.broadcast_to(tl.expand_dims(tl.sum(tile, 1), 1), (4, BLOCK // 4))
    tl.store(out + 7 * BLOCK + i, tl.ravel(wide))


def test_shapes() -> None:
    n = 16
    x, y, out = torch.randn(n), torch.randn(n), torch.empty(8 * n)
    clean(shapes, x, y, out, BLOCK=n)
    sums = x.view(4, -1).sum(1)
    parts = [
        torch.stack([x, y], -1).reshape(-1), x - y, x, y, x.view(4, -1).t().reshape(-1),
        x.view(2, 2, -1).permute(2, 0, 1).reshape(-1), sums.repeat_interleave(n // 4),
    ]  # fmt: skip
    torch.testing.assert_close(out, torch.cat(parts))


@triton.jit
def atomics(i32, u32, f32, f16, i64, old, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    same = i * 0
    tl.atomic_add(i32 + i % 4, i, mask=mask)
    tl.atomic_max(i32 + 4 + same, i - 5, mask=mask)
    tl.atomic_min(i32 + 5 + same, 5 - i, mask=mask)
    tl.atomic_and(i32 + 6 + same, ~(1 << (i % 31)), mask=mask)
    tl.atomic_or(i32 + 7 + same, 1 << (i % 31), mask=mask)
    tl.atomic_xor(i32 + 8 + same, i, mask=mask)
    tl.atomic_max(u32 + same, i.to(tl.uint32) + 2147483648, mask=mask)
    tl.atomic_min(u32 + 1 + same, i.to(tl.uint32) + 2147483648, mask=mask)
    tl.atomic_add(f32 + same, 0.5, mask=mask)
    tl.atomic_max(f32 + 1 + same, i.to(tl.float32) - 50.0, mask=mask)
    tl.atomic_min(f32 + 2 + same, i.to(tl.float32) - 50.0, mask=mask)
    tl.atomic_add(f16 + i % 2, 1.0, mask=mask)
    tl.atomic_add(i64 + same, i.to(tl.int64) << 33, mask=mask)
    before = tl.atomic_add(i32 + 9 + same, 1, mask=mask)
    tl.store(old + i, before, mask=mask)
    tl.atomic_cas(i32 + 10, 0, 7)
    tl.atomic_xchg(i32 + 11, 9)


def test_atomics() -> None:
    n = 100
    i = torch.arange(n)
    i32, u32, f32 = (
        torch.zeros(12, dtype=torch.int32),
        torch.zeros(2, dtype=torch.int32),
        torch.zeros(3),
    )
    i32[6], u32[1] = -1, -1
    f16, i64 = torch.zeros(2, dtype=torch.float16), torch.zeros(1, dtype=torch.int64)
    old = torch.zeros(n, dtype=torch.int32)
    unsigned = u32.view(torch.uint32)
    clean(atomics, i32, unsigned, f32, f16, i64, old, n, grid=(4,), BLOCK=32)
    sums = [int(i[i % 4 == rest].sum()) for rest in range(4)]
    bits = (1 << 31) - 1
    xors = 0
    for number in range(n):
        xors ^= number
    assert i32[:10].tolist() == [*sums, 94, -94, ~bits, bits, xors, n]
    assert i32[10:].tolist() == [7, 9]
    assert [number & 0xFFFFFFFF for number in u32.tolist()] == [(1 << 31) + 99, 1 << 31]
    assert f32.tolist() == [50.0, 49.0, -50.0]
    assert f16.tolist() == [50.0, 50.0]
    assert int(i64) == int(i.sum()) << 33
    assert sorted(old.tolist()) == list(range(n))


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


KINDS = (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32, torch.uint32,
    torch.int64, torch.uint64, torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.float8_e4m3fn, torch.float8_e5m2,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_type_is_copied(kind: torch.dtype) -> None:
    n = 77
    if kind in (torch.float8_e4m3fn, torch.float8_e5m2):
        x = torch.randn(n).to(kind)  # float8_e4m3fn needs sm_89
    elif kind.is_floating_point:
        x = torch.randn(n, dtype=torch.float64).to(kind)
    else:
        x = torch.randint(0, 2 if kind is torch.bool else 100, (n,)).to(kind)
    out = torch.zeros(n).to(kind)
    clean(copy, x, out, n, grid=(3,), BLOCK=32, capability=90)
    assert torch.equal(out.view(torch.uint8), x.view(torch.uint8))


@triton.jit
def convert(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, v.to(out.dtype.element_ty), mask=i < n)


@pytest.mark.parametrize("target", KINDS[:-2], ids=str)
@pytest.mark.parametrize(
    "source", [torch.float32, torch.int32, torch.uint8, torch.bfloat16], ids=str
)
def test_conversions(source: torch.dtype, target: torch.dtype) -> None:
    x = (torch.rand(50) * 100).to(source)
    if target is torch.bool:
        x[::3] = 0
    out = torch.zeros(50).to(target)
    clean(convert, x, out, 50, BLOCK=64)
    assert torch.equal(out.float(), x.to(target).float())


@triton.jit
def integers(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a // b)
    tl.store(out + BLOCK + i, a % b)
    tl.store(out + 2 * BLOCK + i, a >> 3)
    tl.store(out + 3 * BLOCK + i, (a << 3) ^ (b & a) | ~b)
    tl.store(out + 4 * BLOCK + i, tl.minimum(a, b) + tl.maximum(a, b) * tl.cast(a > b, a.dtype))
    tl.store(out + 5 * BLOCK + i, tl.where(a < b, a, b) - (-a))
    tl.store(out + 6 * BLOCK + i, tl.clamp(a.to(tl.float32), 3.0, 50.0).to(a.dtype))


@pytest.mark.parametrize(
    "kind", [torch.int8, torch.uint8, torch.int32, torch.uint32, torch.int64, torch.uint64], ids=str
)
def test_integers(kind: torch.dtype) -> None:
    signed = kind in (torch.int8, torch.int32, torch.int64)
    a = torch.randint(-100 if signed else 100, 127 if signed else 255, (64,))
    b = torch.randint(1, 60, (64,)) * (torch.randint(0, 2, (64,)) * 2 - 1 if signed else 1)
    out = torch.zeros(7, 64, dtype=torch.int64).to(kind)
    clean(integers, a.to(kind), b.to(kind), out, BLOCK=64)
    quotient = torch.div(a, b, rounding_mode="trunc")
    wanted = [
        quotient, a - quotient * b, a >> 3, (a << 3) ^ (b & a) | ~b,
        torch.minimum(a, b) + torch.maximum(a, b) * (a > b), torch.minimum(a, b) + a,
        a.clamp(3, 50),
    ]  # fmt: skip
    assert torch.equal(out, torch.stack(wanted).to(kind))


@triton.jit
def functions(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + 0 * BLOCK + i, tl.exp(v))
    tl.store(out + 1 * BLOCK + i, tl.log2(v))
    tl.store(out + 2 * BLOCK + i, tl.sin(v) + tl.cos(v))
    tl.store(out + 3 * BLOCK + i, tl.sqrt(v) + tl.rsqrt(v) + tl.sqrt_rn(v))
    tl.store(out + 4 * BLOCK + i, tl.sigmoid(v))
    tl.store(out + 5 * BLOCK + i, tl.softmax(v))
    tl.store(out + 6 * BLOCK + i, tl.erf(v) + tl.floor(v) + tl.ceil(v))
    tl.store(out + 7 * BLOCK + i, tl.fma(v, v, v) + tl.div_rn(v, 3.0) + tl.fdiv(v, 7.0))
    tl.store(out + 8 * BLOCK + i, libdevice.tanh(v) + libdevice.pow(v, 2.5) + libdevice.rint(v))
    tl.store(out + 9 * BLOCK + i, tl.exp2(v) + tl.log(v) + tl.abs(-v))
    tl.store(out + 10 * BLOCK + i, v % 0.3)
    tl.store(out + 11 * BLOCK + i, tl.umulhi(i * 65537, i * 65537).to(tl.float32))


def test_functions() -> None:
    x, out = torch.rand(64) * 3 + 0.1, torch.empty(12, 64)
    clean(functions, x, out, BLOCK=64)
    i = torch.arange(64)
    wanted = [
        x.exp(), x.log2(), x.sin() + x.cos(), 2 * x.sqrt() + x.rsqrt(), x.sigmoid(), x.softmax(0),
        x.erf() + x.floor() + x.ceil(), x * x + x + x / 3 + x / 7,
        x.tanh() + x.pow(2.5) + x.round(), x.exp2() + x.log() + x, x % 0.3,
        ((i * 65537) ** 2 >> 32).float(),
    ]  # fmt: skip
    torch.testing.assert_close(out, torch.stack(wanted), rtol=1e-5, atol=1e-5)


@triton.jit
def product(a, b, c, PRECISION: tl.constexpr, T: tl.constexpr, ACC: tl.constexpr):
    i, j = tl.arange(0, T)[:, None], tl.arange(0, T)[None, :]
    left, right = tl.load(a + i * T + j), tl.load(b + i * T + j)
    if tl.int32 == ACC:
        tl.store(c + i * T + j, tl.dot(left, right, out_dtype=tl.int32))
    else:
        tl.store(c + i * T + j, tl.dot(left, right, input_precision=PRECISION))


@pytest.mark.parametrize(("precision", "error"), [("ieee", 2e-6), ("tf32", 4e-3), ("tf32x3", 1e-5)])
def test_precisions_of_a_product(precision: str, error: float) -> None:
    a, b, c = torch.randn(32, 32), torch.randn(32, 32), torch.empty(32, 32)
    clean(product, a, b, c, PRECISION=precision, T=32, ACC=tl.float32)
    far = float((c - a @ b).abs().max() / (a.abs() @ b.abs()).max())
    assert far < error
    assert precision != "tf32" or far > 1e-6


def test_product_of_int8() -> None:
    a, b = (torch.randint(-128, 128, (32, 32), dtype=torch.int8) for _ in range(2))
    c = torch.empty(32, 32, dtype=torch.int32)
    clean(product, a, b, c, PRECISION="ieee", T=32, ACC=tl.int32)
    assert torch.equal(c, a.int() @ b.int())


@triton.jit
def batched(a, b, c, B: tl.constexpr, T: tl.constexpr):
    n = tl.arange(0, B)[:, None, None]
    i, j = tl.arange(0, T)[None, :, None], tl.arange(0, T)[None, None, :]
    at = n * T * T + i * T + j
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


def test_product_of_three_dimensions() -> None:
    a, b = (torch.randn(2, 16, 16, dtype=torch.float16) for _ in range(2))
    c = torch.empty(2, 16, 16)
    clean(batched, a, b, c, B=2, T=16)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-3, atol=1e-3)


@triton.jit
def moving_block(x, out, rows, cols, R: tl.constexpr, C: tl.constexpr):
    source = tl.make_block_ptr(
        x, (rows, cols), (cols, 1), (tl.program_id(0) * R, 0), (R, C), (1, 0)
    )
    target = tl.make_block_ptr(
        out, (cols, rows), (rows, 1), (0, tl.program_id(0) * R), (C, R), (1, 0)
    )
    for _ in range(0, cols, C):
        tile = tl.load(source, boundary_check=(0, 1), padding_option="zero")
        tl.store(target, tl.trans(tile), boundary_check=(0, 1))
        source = tl.advance(source, (0, C))
        target = tl.advance(target, (C, 0))


@pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
@pytest.mark.filterwarnings("ignore:tl.advance is deprecated")
def test_block_pointers() -> None:
    x, out = torch.randn(21, 37), torch.empty(37, 21)
    clean(moving_block, x, out, 21, 37, grid=(3,), R=8, C=16)
    assert torch.equal(out, x.t())


@triton.jit
def padded(x, out, n, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    value = tl.load(source, boundary_check=(0,), padding_option="nan")
    tl.store(out + tl.arange(0, BLOCK), value)


@pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
def test_padding_of_block_pointers() -> None:
    x, out = torch.randn(10), torch.empty(16)
    clean(padded, x, out, 10, BLOCK=16)
    assert torch.equal(out[:10], x)
    assert bool(out[10:].isnan().all())


@triton.jit
def unchecked(x, out, n, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    tl.store(out + tl.arange(0, BLOCK), tl.load(source))


@pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
def test_a_block_pointer_past_the_end_asks_for_a_boundary_check() -> None:
    calls = Calls()
    calls.launch(unchecked, (1,), torch.randn(10), torch.empty(16), 10, BLOCK=16)
    (finding,) = calls.findings
    assert (finding.kind, finding.element) == ("out_of_bounds", 15)
    assert "name in boundary_check each dimension" in finding.hint


@triton.jit
def add_tiles(x, out, n, BLOCK: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [n, n], [n, 1], [BLOCK, BLOCK])
    source = tl.make_tensor_descriptor(x, [n, n], [n, 1], [BLOCK, BLOCK])
    row, col = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.atomic_add([0, 0], source.load([row, col]))


def test_descriptors_add_atomically() -> None:
    x, out = torch.randn(32, 32), torch.zeros(32, 32)
    clean(add_tiles, x, out, 32, grid=(2, 2), BLOCK=16)
    tiles = x.view(2, 16, 2, 16).permute(0, 2, 1, 3).reshape(4, 16, 16).sum(0)
    torch.testing.assert_close(out[:16, :16], tiles)


@triton.jit
def gather_rows(x, places, out, n, column, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n, 64], [64, 1], [1, BLOCK])
    target = tl.make_tensor_descriptor(out, [n, 64], [64, 1], [1, BLOCK])
    rows = tl.load(places + tl.arange(0, ROWS))
    target.scatter(source.gather(rows, column) + 1, rows, column)


def test_descriptors_gather_and_scatter_rows() -> None:
    """Rows outside of the shape are zero when read, and not written."""
    x, out = torch.randn(50, 64), torch.zeros(50, 64)
    places = torch.tensor([3, 1, 49, 20, 7, 50, 8, 9], dtype=torch.int32)
    clean(gather_rows, x, places, out, 50, 48, BLOCK=32, ROWS=8, capability=90)
    expected, rows = torch.zeros(50, 64), places[places < 50].long()
    expected[rows, 48:] = x[rows, 48:] + 1
    assert torch.equal(out, expected)


def test_a_row_outside_of_a_descriptors_memory_is_found() -> None:
    x, out = torch.randn(50, 64), torch.zeros(50, 64)
    places = torch.arange(50, 58, dtype=torch.int32)
    calls = launched(gather_rows, (1,), x, places, out, 60, 0, BLOCK=32, ROWS=8, capability=90)
    assert [(f.kind, f.access) for f in calls.findings] == [
        ("out_of_bounds", "load"), ("out_of_bounds", "store"),
    ]  # fmt: skip


@triton.jit
def product_of_matrices(m, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(m + 4 * i), tl.load(m + 4 * i + 1)
    c, d = tl.load(m + 4 * i + 2), tl.load(m + 4 * i + 3)
    e, f, g, h = tl.reduce((a, b, c, d), 0, matrix_product)
    tl.store(out, e)
    tl.store(out + 1, f)
    tl.store(out + 2, g)
    tl.store(out + 3, h)


def test_a_reduction_keeps_the_order_of_what_does_not_commute() -> None:
    n = 16
    m, out = torch.randn(n, 2, 2) / 2 + torch.eye(2), torch.empty(2, 2)
    clean(product_of_matrices, m, out, BLOCK=n)
    expected = torch.linalg.multi_dot(list(m))
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-4)


@triton.jit
def scaled_product(
    a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, LEFT_PACK: tl.constexpr, RIGHT_PACK: tl.constexpr,
):  # fmt: skip
    m, n, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    left_k, right_k = tl.arange(0, K // LEFT_PACK), tl.arange(0, K // RIGHT_PACK)
    x = tl.load(a + m[:, None] * (K // LEFT_PACK) + left_k[None, :])
    y = tl.load(b + right_k[:, None] * N + n[None, :])
    s = tl.load(a_scale + m[:, None] * (K // 32) + g[None, :])
    t = tl.load(b_scale + n[:, None] * (K // 32) + g[None, :])
    total = tl.dot_scaled(x, s, LEFT, y, t, RIGHT)
    total = tl.dot_scaled(x, s, LEFT, y, None, RIGHT, acc=total)
    tl.store(c + m[:, None] * N + n[None, :], total)


FLOAT4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


def elements(form: str, rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Return random elements of a format as a kernel gets them, their numbers, and how packed."""
    if form == "e2m1":
        bits = torch.randint(0, 256, (rows, columns // 2), dtype=torch.uint8)
        both = torch.stack((bits & 15, bits >> 4), -1).view(rows, columns)
        return bits, FLOAT4[both.long()], 2
    kind = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}.get(form, torch.bfloat16)
    numbers = torch.randn(rows, columns).to(kind)
    return numbers, numbers.float(), 1


@pytest.mark.parametrize("right", ["e2m1", "e5m2", "bf16"])
@pytest.mark.parametrize("left", ["e2m1", "e4m3", "e5m2"])
def test_products_with_scales(left: str, right: str) -> None:
    m, n, k = 32, 16, 64
    a, x, pack_a = elements(left, m, k)
    b, y, pack_b = elements(right, n, k)
    s, t = (torch.randint(120, 134, (rows, k // 32), dtype=torch.uint8) for rows in (m, n))
    c = torch.empty(m, n)
    clean(
        scaled_product, a, s, b.t().contiguous(), t, c, M=m, N=n, K=k, LEFT=left, RIGHT=right,
        LEFT_PACK=pack_a, RIGHT_PACK=pack_b, capability=90,
    )  # fmt: skip
    factors = (torch.exp2(scale.float() - 127).repeat_interleave(32, 1) for scale in (s, t))
    one, two = factors
    torch.testing.assert_close(c, (x * one) @ ((y * two).t() + y.t()), rtol=1e-4, atol=1e-2)


@triton.jit
def product_packed_along_rows(a, s, b, c):
    m, n, k = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, 64)
    x = tl.load(a + tl.arange(0, 16)[:, None] * 64 + k[None, :])
    y = tl.load(b + k[:, None] * 32 + n[None, :])
    scale = tl.load(s + m[:, None] * 2 + tl.arange(0, 2)[None, :])
    total = tl.dot_scaled(x, scale, "e2m1", y, None, "fp16", lhs_k_pack=False)
    tl.store(c + m[:, None] * 32 + n[None, :], total)


def test_a_product_with_scales_packed_along_rows() -> None:
    a = torch.randint(0, 256, (16, 64), dtype=torch.uint8)
    s = torch.randint(125, 130, (32, 2), dtype=torch.uint8)
    s[5, 1] = 255
    b, c = torch.randn(64, 32, dtype=torch.float16), torch.empty(32, 32)
    clean(product_packed_along_rows, a, s, b, c)
    x = FLOAT4[torch.stack((a & 15, a >> 4), 1).view(32, 64).long()]
    expected = (x * torch.exp2(s.float() - 127).repeat_interleave(32, 1)) @ b.float()
    expected[5] = torch.nan
    torch.testing.assert_close(c, expected, rtol=1e-4, atol=1e-2, equal_nan=True)


@triton.jit
def library_of_floats(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + 0 * BLOCK + i, libdevice.cospi(v) + libdevice.sinpi(v))
    tl.store(out + 1 * BLOCK + i, libdevice.exp10(v))
    tl.store(out + 2 * BLOCK + i, libdevice.round(v) + libdevice.logb(v))
    tl.store(out + 3 * BLOCK + i, libdevice.norm3d(v, v, 1.0) * libdevice.rhypot(v, 2.0))
    tl.store(out + 4 * BLOCK + i, libdevice.normcdf(v) + libdevice.fdim(v, 1.0))
    tl.store(out + 5 * BLOCK + i, libdevice.float2int_rd(v) + libdevice.float2int_rn(v) * 100.0)
    tl.store(out + 6 * BLOCK + i, libdevice.saturatef(v) + libdevice.signbit(v))
    tl.store(out + 7 * BLOCK + i, libdevice.add_rn(v, v) + libdevice.scalbn(v, 3))


def test_library_functions_of_floats() -> None:
    x, out = torch.randn(64) * 2, torch.empty(8, 64)
    x[:4] = torch.tensor([0.5, -2.5, 1.5, 2.5])
    clean(library_of_floats, x, out, BLOCK=64)
    away = x.sign() * (x.abs() + 0.5).floor()
    wanted = [
        (x * torch.pi).cos() + (x * torch.pi).sin(), torch.pow(10, x),
        away + x.abs().log2().floor(), (2 * x * x + 1).sqrt() / (x * x + 4).sqrt(),
        torch.special.ndtr(x) + (x - 1).clamp(min=0), x.floor() + x.round() * 100,
        x.clamp(0, 1) + x.signbit(), 10 * x,
    ]  # fmt: skip
    torch.testing.assert_close(out, torch.stack(wanted), rtol=1e-4, atol=1e-5)


@triton.jit
def library_of_integers(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + 0 * BLOCK + i, libdevice.popc(v))
    tl.store(out + 1 * BLOCK + i, libdevice.clz(v))
    tl.store(out + 2 * BLOCK + i, libdevice.ffs(v))
    tl.store(out + 3 * BLOCK + i, libdevice.brev(v))
    tl.store(out + 4 * BLOCK + i, libdevice.mulhi(v, v))


def test_library_functions_of_integers() -> None:
    x = torch.randint(-(1 << 31), 1 << 31, (64,), dtype=torch.int32)
    x[:4] = torch.tensor([0, 1, -1, -(1 << 31)])
    out = torch.empty(5, 64, dtype=torch.int32)
    clean(library_of_integers, x, out, BLOCK=64)
    for number, found in zip(x.tolist(), out.t().tolist(), strict=True):
        bits = f"{number & 0xFFFFFFFF:032b}"
        reverse = int(bits[::-1], 2)
        assert found == [
            bits.count("1"), bits.find("1") if number else 32,
            32 - bits.rfind("1") if number else 0,
            reverse - (reverse >> 31 << 32), number * number >> 32,
        ]  # fmt: skip
