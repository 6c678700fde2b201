# Attention V1, all scores in memory: three kernels, each of which is easy.
#
# Idea      scores = scale q k^T, a softmax of each row of them, and the weighted sum of v.
# Limit     memory: n * n scores are written once, read three times and changed once.
# Expect    scores of 64 heads and 2048 keys take 1 GiB, their inputs 24 MiB.
# Grade it  grade local attention --kernel v1_materialised --language triton
import torch
import triton
import triton.language as tl


@triton.jit
def scores_kernel(
    q,  # pointer to (heads, n, d) float16
    k,  # pointer to (heads, n, d) float16
    scores,  # pointer to (heads, n, n) float32, to be written
    n,  # queries and keys of a head
    d,  # columns
    scale,  # factor of each score
    BLOCK: tl.constexpr,  # queries and keys per program
    DIM: tl.constexpr,  # columns per program: a power of two, d or more
):
    """scores = scale q k^T, a tile for each program."""
    # TODO(student): about 9 lines
    head = tl.program_id(2).to(tl.int64) * n
    queries = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keys = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, DIM)
    q_mask = (queries < n)[:, None] & (columns < d)[None, :]
    k_mask = (keys < n)[:, None] & (columns < d)[None, :]
    q_tile = tl.load(q + (head + queries)[:, None] * d + columns[None, :], mask=q_mask, other=0.0)
    k_tile = tl.load(k + (head + keys)[:, None] * d + columns[None, :], mask=k_mask, other=0.0)
    tile = scale * tl.dot(q_tile, tl.trans(k_tile))
    mask = (queries < n)[:, None] & (keys < n)[None, :]
    tl.store(scores + (head + queries)[:, None] * n + keys[None, :], tile, mask=mask)
    # end


@triton.jit
def softmax_kernel(
    scores,  # pointer to (heads * n, n) float32, to be changed
    n,  # keys
    BLOCK: tl.constexpr,  # a power of two, n or more
):
    """Softmax of a row, in place."""
    # TODO(student): about 6 lines
    keys = tl.arange(0, BLOCK)
    place = scores + tl.program_id(0).to(tl.int64) * n + keys
    row = tl.load(place, mask=keys < n, other=float("-inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(place, powers / tl.sum(powers, axis=0), mask=keys < n)
    # end


@triton.jit
def values_kernel(
    weights,  # pointer to (heads, n, n) float32
    v,  # pointer to (heads, n, d) float16
    out,  # pointer to (heads, n, d) float16, to be written
    n,  # queries and keys of a head
    d,  # columns
    BLOCK: tl.constexpr,  # queries per program, and keys per step
    DIM: tl.constexpr,  # columns per program: a power of two, d or more
):
    """out = weights v, a block of queries for each program."""
    # TODO(student): about 17 lines
    head = tl.program_id(1).to(tl.int64) * n
    queries = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, DIM)
    sums = tl.zeros([BLOCK, DIM], tl.float32)
    for first in range(0, n, BLOCK):
        keys = first + tl.arange(0, BLOCK)
        w_mask = (queries < n)[:, None] & (keys < n)[None, :]
        v_mask = (keys < n)[:, None] & (columns < d)[None, :]
        w_place = (head + queries)[:, None] * n + keys[None, :]
        v_place = (head + keys)[:, None] * d + columns[None, :]
        w_tile = tl.load(weights + w_place, mask=w_mask, other=0.0)
        v_tile = tl.load(v + v_place, mask=v_mask, other=0.0)
        sums += tl.dot(w_tile.to(tl.float16), v_tile)
    mask = (queries < n)[:, None] & (columns < d)[None, :]
    place = (head + queries)[:, None] * d + columns[None, :]
    tl.store(out + place, sums.to(tl.float16), mask=mask)
    # end


def attention(
    q,  # (heads, n, d) float16 tensor, to be read
    k,  # (heads, n, d) float16 tensor, to be read
    v,  # (heads, n, d) float16 tensor, to be read
    out,  # (heads, n, d) float16 tensor, to be written
    heads,  # heads
    n,  # queries and keys of a head
    d,  # columns
    scale,  # factor of each score
):
    """Launch the kernels; the result goes into `out`, nothing is returned."""
    # TODO(student): about 6 lines
    # Memory for the scores, and the three kernels in order.
    BLOCK, DIM = 32, max(16, triton.next_power_of_2(d))
    tiles = triton.cdiv(n, BLOCK)
    scores = torch.empty((heads, n, n), dtype=torch.float32, device=q.device)
    scores_kernel[(tiles, tiles, heads)](q, k, scores, n, d, scale, BLOCK=BLOCK, DIM=DIM)
    softmax_kernel[(heads * n,)](scores, n, BLOCK=triton.next_power_of_2(n))
    values_kernel[(tiles, heads)](scores, v, out, n, d, BLOCK=BLOCK, DIM=DIM)
    # end
