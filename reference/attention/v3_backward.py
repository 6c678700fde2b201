# Attention V3, the backward pass: the gradients of q, k and v from that of out.
#
# Idea      no score was kept: lse, a number per query, is enough to make its weights again. dk and
#           dv sum over queries, dq sums over keys: so there are two kernels, which walk over the
#           other side each, and no two programs write the same row.
# Limit     tensor cores wait for the exponentials.
# Expect    seven products of matrices, where the forward pass has two.
# Grade it  grade local attention --kernel v3_backward --language triton
import torch
import triton
import triton.language as tl


@triton.jit
def delta_kernel(
    out,  # pointer to (heads * n, d) float16
    dout,  # pointer to (heads * n, d) float16
    delta,  # pointer to (heads * n) float32, to be written
    rows,  # heads * n
    d,  # columns
    BM: tl.constexpr,  # rows per program
    DIM: tl.constexpr,  # columns per program: a power of two, d or more
):
    """delta = the sum of dout * out, for each query."""
    # TODO(student): about 7 lines
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, DIM)
    mask = (row < rows)[:, None] & (columns < d)[None, :]
    place = row[:, None].to(tl.int64) * d + columns[None, :]
    out_tile = tl.load(out + place, mask=mask, other=0.0).to(tl.float32)
    dout_tile = tl.load(dout + place, mask=mask, other=0.0).to(tl.float32)
    tl.store(delta + row, tl.sum(out_tile * dout_tile, axis=1), mask=row < rows)
    # end


@triton.jit
def keys_kernel(
    q,  # pointer to (heads, n, d) float16
    k,  # pointer to (heads, n, d) float16
    v,  # pointer to (heads, n, d) float16
    lse,  # pointer to (heads, n) float32
    delta,  # pointer to (heads, n) float32
    dout,  # pointer to (heads, n, d) float16
    dk,  # pointer to (heads, n, d) float16, to be written
    dv,  # pointer to (heads, n, d) float16, to be written
    n,  # queries and keys of a head
    d,  # columns
    scale,  # factor of each score
    OWN: tl.constexpr,  # keys per program
    STEP: tl.constexpr,  # queries per step
    DIM: tl.constexpr,  # columns per program: a power of two, d or more
):
    """dk and dv of the program's keys: a walk over all queries. A product has a row per key."""
    # TODO(student): about 30 lines
    # 1. Where am I: the head, and this program's keys.
    head = tl.program_id(1).to(tl.int64) * n
    keys = tl.program_id(0) * OWN + tl.arange(0, OWN)
    columns = tl.arange(0, DIM)
    mask = (keys < n)[:, None] & (columns < d)[None, :]
    place = (head + keys)[:, None] * d + columns[None, :]
    k_tile = tl.load(k + place, mask=mask, other=0.0)
    v_tile = tl.load(v + place, mask=mask, other=0.0)

    dk_sums = tl.zeros([OWN, DIM], tl.float32)
    dv_sums = tl.zeros([OWN, DIM], tl.float32)
    for first in range(0, n, STEP):
        # 2. Load queries and gradients. A query past the end has weights of e^-infinity.
        queries = first + tl.arange(0, STEP)
        there = (queries < n)[:, None] & (columns < d)[None, :]
        other = (head + queries)[:, None] * d + columns[None, :]
        q_tile = tl.load(q + other, mask=there, other=0.0)
        dout_tile = tl.load(dout + other, mask=there, other=0.0)
        lses = tl.load(lse + head + queries, mask=queries < n, other=float("inf"))
        deltas = tl.load(delta + head + queries, mask=queries < n, other=0.0)
        # 3. The weights again, and the gradients of the scores.
        weights = tl.exp(scale * tl.dot(k_tile, tl.trans(q_tile)) - lses[None, :])
        changes = weights * (tl.dot(v_tile, tl.trans(dout_tile)) - deltas[None, :])
        # 4. What these queries add.
        dv_sums += tl.dot(weights.to(tl.float16), dout_tile)
        dk_sums += tl.dot(changes.to(tl.float16), q_tile)

    # 5. Store.
    tl.store(dk + place, (scale * dk_sums).to(tl.float16), mask=mask)
    tl.store(dv + place, dv_sums.to(tl.float16), mask=mask)
    # end


@triton.jit
def queries_kernel(
    q,  # pointer to (heads, n, d) float16
    k,  # pointer to (heads, n, d) float16
    v,  # pointer to (heads, n, d) float16
    lse,  # pointer to (heads, n) float32
    delta,  # pointer to (heads, n) float32
    dout,  # pointer to (heads, n, d) float16
    dq,  # pointer to (heads, n, d) float16, to be written
    n,  # queries and keys of a head
    d,  # columns
    scale,  # factor of each score
    OWN: tl.constexpr,  # queries per program
    STEP: tl.constexpr,  # keys per step
    DIM: tl.constexpr,  # columns per program: a power of two, d or more
):
    """dq of the program's queries: a walk over all keys. A product has a row per query."""
    # TODO(student): about 26 lines
    # 1. Where am I: the head, and this program's queries.
    head = tl.program_id(1).to(tl.int64) * n
    queries = tl.program_id(0) * OWN + tl.arange(0, OWN)
    columns = tl.arange(0, DIM)
    mask = (queries < n)[:, None] & (columns < d)[None, :]
    place = (head + queries)[:, None] * d + columns[None, :]
    q_tile = tl.load(q + place, mask=mask, other=0.0)
    dout_tile = tl.load(dout + place, mask=mask, other=0.0)
    lses = tl.load(lse + head + queries, mask=queries < n, other=float("inf"))
    deltas = tl.load(delta + head + queries, mask=queries < n, other=0.0)

    sums = tl.zeros([OWN, DIM], tl.float32)
    for first in range(0, n, STEP):
        # 2. Load keys and values.
        keys = first + tl.arange(0, STEP)
        there = (keys < n)[:, None] & (columns < d)[None, :]
        other = (head + keys)[:, None] * d + columns[None, :]
        k_tile = tl.load(k + other, mask=there, other=0.0)
        v_tile = tl.load(v + other, mask=there, other=0.0)
        # 3. The weights again, and the gradients of the scores. A key past the end weighs nothing.
        scores = scale * tl.dot(q_tile, tl.trans(k_tile))
        scores = tl.where((keys < n)[None, :], scores, float("-inf"))
        weights = tl.exp(scores - lses[:, None])
        changes = weights * (tl.dot(dout_tile, tl.trans(v_tile)) - deltas[:, None])
        # 4. What these keys add.
        sums += tl.dot(changes.to(tl.float16), k_tile)

    # 5. Store.
    tl.store(dq + place, (scale * sums).to(tl.float16), mask=mask)
    # end


def attention_backward(
    q,  # (heads, n, d) float16 tensor, to be read
    k,  # (heads, n, d) float16 tensor, to be read
    v,  # (heads, n, d) float16 tensor, to be read
    out,  # (heads, n, d) float16 tensor, to be read
    lse,  # (heads, n) float32 tensor, to be read
    dout,  # (heads, n, d) float16 tensor, to be read
    dq,  # (heads, n, d) float16 tensor, to be written
    dk,  # (heads, n, d) float16 tensor, to be written
    dv,  # (heads, n, d) float16 tensor, to be written
    heads,  # heads
    n,  # queries and keys of a head
    d,  # columns
    scale,  # factor of each score
):
    """Launch the kernels; the results go into `dq`, `dk` and `dv`, nothing is returned."""
    # TODO(student): about 7 lines
    # Memory for delta, and the three kernels in order.
    OWN, STEP, DIM = 64, 32, max(16, triton.next_power_of_2(d))
    rows = heads * n
    delta = torch.empty((heads, n), dtype=torch.float32, device=q.device)
    delta_kernel[(triton.cdiv(rows, OWN),)](out, dout, delta, rows, d, BM=OWN, DIM=DIM)
    grid, tiles = (triton.cdiv(n, OWN), heads), {"OWN": OWN, "STEP": STEP, "DIM": DIM}
    keys_kernel[grid](q, k, v, lse, delta, dout, dk, dv, n, d, scale, **tiles)
    queries_kernel[grid](q, k, v, lse, delta, dout, dq, n, d, scale, **tiles)
    # end
