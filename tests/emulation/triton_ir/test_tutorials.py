"""Kernels in the style of Triton's tutorials compute what torch computes, without a finding."""

# Kernels have no types of Python's.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from ir_kernels import Calls, launched
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor


def clean(kernel: Any, grid: Sequence[int], *args: Any, **kwargs: Any) -> Calls:
    calls = launched(kernel, grid, *args, **kwargs)
    assert [finding.message for finding in calls.findings] == []
    return calls


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


def test_vector_addition() -> None:
    n = 98_432 + 7
    x, y, out = torch.rand(n), torch.rand(n), torch.empty(n)
    clean(add_kernel, (triton.cdiv(n, 1024),), x, y, out, n, BLOCK_SIZE=1024)
    assert torch.equal(out, x + y)


@triton.jit
def softmax_kernel(
    output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols,
    BLOCK_SIZE: tl.constexpr, num_stages: tl.constexpr,
):  # fmt: skip
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        row_start_ptr = input_ptr + row_idx * input_row_stride
        col_offsets = tl.arange(0, BLOCK_SIZE)
        mask = col_offsets < n_cols
        row = tl.load(row_start_ptr + col_offsets, mask=mask, other=-float("inf"))
        row_minus_max = row - tl.max(row, axis=0)
        numerator = tl.exp(row_minus_max)
        softmax_output = numerator / tl.sum(numerator, axis=0)
        output_row_start_ptr = output_ptr + row_idx * output_row_stride
        tl.store(output_row_start_ptr + col_offsets, softmax_output, mask=mask)


def test_fused_softmax() -> None:
    x = torch.randn(183, 781)
    out = torch.empty_like(x)
    clean(
        softmax_kernel, (8,), out, x, x.stride(0), out.stride(0), 183, 781,
        BLOCK_SIZE=1024, num_stages=2,
    )  # fmt: skip
    torch.testing.assert_close(out, x.softmax(1))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    tl.assume(pid_m >= 0)
    tl.assume(pid_n >= 0)
    tl.assume(stride_am > 0)
    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    c = accumulator.to(c_ptr.dtype.element_ty)
    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, c, mask=c_mask)


@pytest.mark.parametrize(
    "kind", [torch.float16, torch.bfloat16, torch.float32, torch.float8_e5m2], ids=str
)
def test_matrix_multiplication(kind: torch.dtype) -> None:
    m, n, k = 130, 75, 70
    a, b = torch.randn(m, k).to(kind), torch.randn(n, k).to(kind).t()
    c = torch.empty(m, n, dtype=torch.float32 if kind is torch.float32 else torch.float16)
    clean(
        matmul_kernel, (triton.cdiv(m, 32) * triton.cdiv(n, 32),), a, b, c, m, n, k,
        *a.stride(), *b.stride(), *c.stride(), BLOCK_SIZE_M=32, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32,
        GROUP_SIZE_M=3, ACTIVATION="leaky_relu",
    )  # fmt: skip
    wanted = torch.nn.functional.leaky_relu(a.float() @ b.float())
    torch.testing.assert_close(c.float(), wanted, rtol=1e-2, atol=2e-2)


@triton.jit
def seeded_dropout(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    random = tl.rand(seed, offsets)
    output = tl.where(random > p, x / (1 - p), 0.0)
    tl.store(output_ptr + offsets, output, mask=mask)


@triton.jit
def philox(out, seed, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.randint(seed, offsets).to(tl.int32, bitcast=True))


def test_dropout() -> None:
    n = 10_000
    x, out, again = torch.ones(n), torch.empty(n), torch.empty(n)
    for target in (out, again):
        clean(seeded_dropout, (10,), x, target, n, 0.5, 123, BLOCK_SIZE=1024)
    assert torch.equal(out, again)
    assert set(out.tolist()) == {0.0, 2.0}
    assert 0.45 < (out == 0).float().mean() < 0.55


def test_philox_is_the_published_one() -> None:
    """The first word of Philox4x32-10 for the key 0 and the counter 0."""
    out = torch.empty(16, dtype=torch.int32)
    clean(philox, (1,), out, 0, BLOCK=16)
    assert int(out[0]) & 0xFFFFFFFF == 0x6627E8D5


@triton.jit
def layer_norm_forward(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    _mean = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        _mean += tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(_mean, axis=0) / N
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + cols, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_backward_dx(
    DX, DY, DW, DB, X, W, Mean, Rstd, Lock, stride, N,
    GROUP_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE_N)
    mask = cols < N
    X += row * stride
    DY += row * stride
    DX += row * stride
    lock_id = row % GROUP_SIZE_M
    Lock += lock_id
    Count = Lock + GROUP_SIZE_M
    DW = DW + lock_id * N + cols
    DB = DB + lock_id * N + cols
    x = tl.load(X + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + cols, mask=mask).to(tl.float32)
    mean = tl.load(Mean + row)
    rstd = tl.load(Rstd + row)
    xhat = (x - mean) * rstd
    wdy = w * dy
    xhat = tl.where(mask, xhat, 0.0)
    wdy = tl.where(mask, wdy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    dx = (wdy - (xhat * c1 + c2)) * rstd
    tl.store(DX + cols, dx, mask=mask)
    partial_dw = (dy * xhat).to(w.dtype)
    partial_db = (dy).to(w.dtype)
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    count = tl.load(Count)
    if count == 0:
        tl.atomic_xchg(Count, 1)
    else:
        partial_dw += tl.load(DW, mask=mask)
        partial_db += tl.load(DB, mask=mask)
    tl.store(DW, partial_dw, mask=mask)
    tl.store(DB, partial_db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


@triton.jit
def layer_norm_backward_dwdb(
    DW, DB, FINAL_DW, FINAL_DB, M, N, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr
):
    pid = tl.program_id(0)
    cols = pid * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    dw = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for i in range(0, M, BLOCK_SIZE_M):
        rows = i + tl.arange(0, BLOCK_SIZE_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offs = rows[:, None] * N + cols[None, :]
        dw += tl.load(DW + offs, mask=mask, other=0.0)
        db += tl.load(DB + offs, mask=mask, other=0.0)
    tl.store(FINAL_DW + cols, tl.sum(dw, axis=0), mask=cols < N)
    tl.store(FINAL_DB + cols, tl.sum(db, axis=0), mask=cols < N)


def test_layer_norm() -> None:
    rows, cols, group = 23, 37, 4
    x = torch.randn(rows, cols, requires_grad=True)
    weight, bias = (torch.randn(cols, requires_grad=True) for _ in range(2))
    y, dy = torch.empty(rows, cols), torch.randn(rows, cols)
    mean, rstd = torch.empty(rows), torch.empty(rows)
    wanted = torch.nn.functional.layer_norm(x, (cols,), weight, bias)
    wanted.backward(dy)
    given, w, b = x.detach(), weight.detach(), bias.detach()
    clean(layer_norm_forward, (rows,), given, y, w, b, mean, rstd, cols, cols, 1e-5, BLOCK_SIZE=16)
    torch.testing.assert_close(y, wanted.detach())
    locks = torch.zeros(2 * group, dtype=torch.int32)
    dw, db = torch.zeros(group, cols), torch.zeros(group, cols)
    dx, final_dw, final_db = torch.empty(rows, cols), torch.empty(cols), torch.empty(cols)
    clean(
        layer_norm_backward_dx, (rows,), dx, dy, dw, db, given, w, mean, rstd, locks, cols, cols,
        GROUP_SIZE_M=group, BLOCK_SIZE_N=64,
    )  # fmt: skip
    clean(
        layer_norm_backward_dwdb, (2,), dw, db, final_dw, final_db, group, cols,
        BLOCK_SIZE_M=32, BLOCK_SIZE_N=32,
    )  # fmt: skip
    for found, parameter in ((dx, x), (final_dw, weight), (final_db, bias)):
        assert parameter.grad is not None
        torch.testing.assert_close(found, parameter.grad, rtol=1e-4, atol=1e-4)


@triton.jit
def attention_inner(
    acc, l_i, m_i, q, K, V, start_m, qk_scale, N_CTX, offs_m,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGE: tl.constexpr,
):  # fmt: skip
    if STAGE == 1:
        lo, hi = 0, start_m * BM
    else:
        lo, hi = start_m * BM, (start_m + 1) * BM
        lo = tl.multiple_of(lo, BM)
    offs_n, offs_d = tl.arange(0, BN), tl.arange(0, HEAD)
    for start_n in tl.range(lo, hi, BN):
        start_n = tl.multiple_of(start_n, BN)
        n = start_n + offs_n
        k = tl.load(K + n[None, :] * HEAD + offs_d[:, None], mask=n[None, :] < N_CTX, other=0.0)
        qk = tl.dot(q, k)
        keep = n[None, :] < N_CTX
        if STAGE == 2:
            keep &= offs_m[:, None] >= n[None, :]
        qk = qk * qk_scale + tl.where(keep, 0, -1.0e6)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + n[:, None] * HEAD + offs_d[None, :], mask=n[:, None] < N_CTX, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def attention(
    Q, K, V, Out, sm_scale, N_CTX, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    start_m = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * N_CTX * HEAD
    offs_m, offs_d = start_m * BM + tl.arange(0, BM), tl.arange(0, HEAD)
    inside = offs_m[:, None] < N_CTX
    where = head + offs_m[:, None] * HEAD + offs_d[None, :]
    q = tl.load(Q + where, mask=inside, other=0.0)
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, HEAD], dtype=tl.float32)
    scale = sm_scale * 1.44269504
    acc, l_i, m_i = attention_inner(
        acc, l_i, m_i, q, K + head, V + head, start_m, scale, N_CTX, offs_m, HEAD, BM, BN, 1
    )
    acc, l_i, m_i = attention_inner(
        acc, l_i, m_i, q, K + head, V + head, start_m, scale, N_CTX, offs_m, HEAD, BM, BN, 2
    )
    tl.store(Out + where, (acc / l_i[:, None]).to(Out.dtype.element_ty), mask=inside)


def test_fused_attention() -> None:
    heads, context, width = 3, 100, 16
    q, k, v = (torch.randn(heads, context, width, dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    clean(attention, (4, heads), q, k, v, out, 0.25, context, HEAD=width, BM=32, BN=16)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), is_causal=True, scale=0.25
    )
    torch.testing.assert_close(out.float(), wanted, rtol=1e-2, atol=1e-2)


@triton.jit
def asin_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, libdevice.asin(x), mask=mask)


def test_libdevice() -> None:
    x, y = torch.rand(1000), torch.empty(1000)
    clean(asin_kernel, (4,), x, y, 1000, BLOCK_SIZE=256)
    torch.testing.assert_close(y, x.asin())


@triton.jit
def grouped_matmul_kernel(
    group_a_ptrs, group_b_ptrs, group_c_ptrs, group_gemm_sizes, g_lds, group_size,
    NUM_SM: tl.constexpr, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
):  # fmt: skip
    tile_idx = tl.program_id(0)
    last_problem_end = 0
    for g in range(group_size):
        gm = tl.load(group_gemm_sizes + g * 3)
        gn = tl.load(group_gemm_sizes + g * 3 + 1)
        gk = tl.load(group_gemm_sizes + g * 3 + 2)
        num_m_tiles = tl.cdiv(gm, BLOCK_SIZE_M)
        num_n_tiles = tl.cdiv(gn, BLOCK_SIZE_N)
        num_tiles = num_m_tiles * num_n_tiles
        while tile_idx >= last_problem_end and tile_idx < last_problem_end + num_tiles:
            k = gk
            lda = tl.load(g_lds + g * 3)
            ldb = tl.load(g_lds + g * 3 + 1)
            ldc = tl.load(g_lds + g * 3 + 2)
            a_ptr = tl.load(group_a_ptrs + g).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(group_b_ptrs + g).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(group_c_ptrs + g).to(tl.pointer_type(tl.float16))
            tile_idx_in_gemm = tile_idx - last_problem_end
            tile_m_idx = tile_idx_in_gemm // num_n_tiles
            tile_n_idx = tile_idx_in_gemm % num_n_tiles
            offs_am = tile_m_idx * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
            offs_bn = tile_n_idx * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
            offs_k = tl.arange(0, BLOCK_SIZE_K)
            a_ptrs = a_ptr + offs_am[:, None] * lda + offs_k[None, :]
            b_ptrs = b_ptr + offs_k[:, None] * ldb + offs_bn[None, :]
            accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
            for _kk in range(tl.cdiv(k, BLOCK_SIZE_K)):
                tl.multiple_of(a_ptrs, [16, 16])
                tl.multiple_of(b_ptrs, [16, 16])
                a = tl.load(a_ptrs)
                b = tl.load(b_ptrs)
                accumulator += tl.dot(a, b)
                a_ptrs += BLOCK_SIZE_K
                b_ptrs += BLOCK_SIZE_K * ldb
            c = accumulator.to(tl.float16)
            offs_cm = tile_m_idx * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
            offs_cn = tile_n_idx * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
            c_ptrs = c_ptr + ldc * offs_cm[:, None] + offs_cn[None, :]
            tl.store(c_ptrs, c)
            tile_idx += NUM_SM
        last_problem_end = last_problem_end + num_tiles


def test_grouped_gemm() -> None:
    sizes = [(64, 32, 48), (32, 96, 16), (96, 32, 32)]
    a = [torch.randn(m, k, dtype=torch.float16) for m, n, k in sizes]
    b = [torch.randn(k, n, dtype=torch.float16) for m, n, k in sizes]
    c = [torch.empty(m, n, dtype=torch.float16) for m, n, k in sizes]
    calls = Calls()
    for i, tensor in enumerate((*a, *b, *c)):
        calls.give(f"matrix {i}", tensor)
    pointers = [torch.tensor([t.data_ptr() for t in group]) for group in (a, b, c)]
    flat = torch.tensor(sizes, dtype=torch.int32)
    lds = torch.tensor([[k, n, n] for _, n, k in sizes], dtype=torch.int32)
    with calls.patched():
        grouped_matmul_kernel[(4,)](
            *pointers, flat, lds, 3, NUM_SM=4, BLOCK_SIZE_M=32, BLOCK_SIZE_N=32, BLOCK_SIZE_K=16
        )
    assert calls.findings == []
    for left, right, found in zip(a, b, c, strict=True):
        torch.testing.assert_close(found, left @ right, rtol=1e-2, atol=2e-2)


@triton.jit
def tile_of(tile_id, num_pid_in_group, num_pid_m, GROUP_SIZE_M: tl.constexpr):
    group_id = tile_id // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + (tile_id % group_size_m)
    pid_n = (tile_id % num_pid_in_group) // group_size_m
    return pid_m, pid_n


@triton.jit
def persistent_matmul(
    a_desc, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr, NUM_SMS: tl.constexpr,
):  # fmt: skip
    b_desc = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c_desc = tl.make_tensor_descriptor(
        c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN // 2]
    )
    start_pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BM)
    num_pid_n = tl.cdiv(N, BN)
    num_tiles = num_pid_m * num_pid_n
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    for tile_id in tl.range(start_pid, num_tiles, NUM_SMS, flatten=True):
        pid_m, pid_n = tile_of(tile_id, num_pid_in_group, num_pid_m, GROUP_SIZE_M)
        offs_am = pid_m * BM
        offs_bn = pid_n * BN
        accumulator = tl.zeros((BM, BN), dtype=tl.float32)
        for ki in range(tl.cdiv(K, BK)):
            offs_k = ki * BK
            a = a_desc.load([offs_am, offs_k])
            b = b_desc.load([offs_bn, offs_k])
            accumulator = tl.dot(a, b.T, accumulator)
        acc = tl.reshape(accumulator, (BM, 2, BN // 2))
        acc = tl.permute(acc, (0, 2, 1))
        acc0, acc1 = tl.split(acc)
        c_desc.store([offs_am, offs_bn], acc0.to(tl.float16))
        c_desc.store([offs_am, offs_bn + BN // 2], acc1.to(tl.float16))


def test_persistent_matmul_with_descriptors() -> None:
    m, n, k = 100, 88, 72
    a, b = torch.randn(m, k, dtype=torch.float16), torch.randn(n, k, dtype=torch.float16)
    c = torch.empty(m, n, dtype=torch.float16)
    a_desc = TensorDescriptor(a, [m, k], [k, 1], [32, 32])
    clean(
        persistent_matmul, (5,), a_desc, b, c, m, n, k, BM=32, BN=32, BK=32, GROUP_SIZE_M=2,
        NUM_SMS=5,
    )  # fmt: skip
    torch.testing.assert_close(c, a @ b.t(), rtol=1e-2, atol=2e-2)


@triton.jit
def block_scaled_matmul(
    a_desc, a_scale_desc, b_desc, b_scale_desc, c_desc, M, N, K, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr, VEC: tl.constexpr, REP_M: tl.constexpr,
    REP_N: tl.constexpr, REP_K: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BM)
    pid_m, pid_n = pid % num_pid_m, pid // num_pid_m
    accumulator = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK)):
        a = a_desc.load([pid_m * BM, k * (BK // 2)])
        b = b_desc.load([pid_n * BN, k * (BK // 2)])
        scale_a = a_scale_desc.load([0, pid_m * REP_M, k * REP_K, 0, 0])
        scale_b = b_scale_desc.load([0, pid_n * REP_N, k * REP_K, 0, 0])
        scale_a = scale_a.reshape(REP_M, REP_K, 32, 4, 4)
        scale_a = scale_a.trans(0, 3, 2, 1, 4).reshape(BM, BK // VEC)
        scale_b = scale_b.reshape(REP_N, REP_K, 32, 4, 4)
        scale_b = scale_b.trans(0, 3, 2, 1, 4).reshape(BN, BK // VEC)
        accumulator = tl.dot_scaled(a, scale_a, "e2m1", b.T, scale_b, "e2m1", accumulator)
    c_desc.store([pid_m * BM, pid_n * BN], accumulator.to(tl.float16))


@pytest.mark.parametrize("vec", [16, 32], ids=["nvfp4", "mxfp4"])
def test_block_scaled_matmul(vec: int) -> None:
    """Of tutorial 10, for a newer GPU than the grader's target: scales in the hardware's order."""
    m, n, k, bm, bk = 256, 128, 512, 128, 256
    numbers = torch.tensor([s * v for s in (1, -1) for v in (0, 0.5, 1, 1.5, 2, 3, 4, 6)])
    made = []
    for rows in (m, n):
        bits = torch.randint(0, 256, (rows, k // 2), dtype=torch.uint8)
        values = numbers[torch.stack((bits & 15, bits >> 4), -1).view(rows, k).long()]
        shape = (1, rows // 128, k // vec // 4, 2, 256)
        if vec == 16:
            scale = torch.rand(shape).to(torch.float8_e4m3fn)
            factor = scale.float()
        else:
            scale = torch.randint(124, 130, shape, dtype=torch.uint8)
            factor = torch.exp2(scale.float() - 127)
        plain = factor.view(rows // 128, k // vec // 4, 32, 4, 4).permute(0, 3, 2, 1, 4)
        factor = plain.reshape(rows, k // vec).repeat_interleave(vec, 1)
        rep_k = bk // vec // 4
        made.append((values * factor, TensorDescriptor.from_tensor(bits, [bm, bk // 2]),
                     TensorDescriptor.from_tensor(scale, [1, 1, rep_k, 2, 256])))  # fmt: skip
    (x, a, a_scale), (y, b, b_scale) = made
    c = torch.empty(m, n, dtype=torch.float16)
    target = TensorDescriptor.from_tensor(c, [bm, bm])
    calls = launched(
        block_scaled_matmul, (2,), a, a_scale, b, b_scale, target, m, n, k, BM=bm, BN=bm,
        BK=bk, VEC=vec, REP_M=1, REP_N=1, REP_K=rep_k, capability=90,
    )  # fmt: skip
    assert calls.findings == []
    torch.testing.assert_close(c.float(), x @ y.t(), rtol=1e-3, atol=1e-1)
