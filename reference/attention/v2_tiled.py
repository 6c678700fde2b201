# Attention V2, tiles on tensor cores: no score ever leaves the chip.
#
# Idea      a program has 64 queries and walks over the keys, 64 at a time. The softmax is online:
#           what has been summed is corrected when a larger score comes.
# Limit     tensor cores wait for the exponentials.
# Expect    k and v move once for each 64 queries; the time of V1's memory traffic is gone.
# Grade it  grade local attention --kernel v2_tiled --language triton
import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.44269504)


@triton.jit
def attention_kernel(
    q,  # pointer to (heads, n, d) float16
    k,  # pointer to (heads, n, d) float16
    v,  # pointer to (heads, n, d) float16
    out,  # pointer to (heads, n, d) float16, to be written
    n,  # queries and keys of a head
    d,  # columns
    scale,  # factor of each score
    BM: tl.constexpr,  # queries per program
    BN: tl.constexpr,  # keys per step
    DIM: tl.constexpr,  # columns per program: a power of two, d or more
):
    """The queries of one program."""
    # TODO(student): about 28 lines
    # 1. Where am I: the head, and this program's queries.
    head = tl.program_id(1).to(tl.int64) * n
    queries = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, DIM)
    mask = (queries < n)[:, None] & (columns < d)[None, :]
    place = (head + queries)[:, None] * d + columns[None, :]
    q_tile = tl.load(q + place, mask=mask, other=0.0)

    # 2. What is known of each query so far. The largest score begins with a finite number.
    largest = tl.full([BM], -3.0e38, tl.float32)
    total = tl.zeros([BM], tl.float32)
    sums = tl.zeros([BM, DIM], tl.float32)
    k += head * d  # where the head begins: the rest of an index fits 32 bits
    v += head * d
    factor = LOG2_E * scale
    for first in range(0, n, BN):
        # 3. Load the keys and values of this step.
        keys = first + tl.arange(0, BN)
        there = (keys < n)[:, None] & (columns < d)[None, :]
        other = keys[:, None] * d + columns[None, :]
        k_tile = tl.load(k + other, mask=there, other=0.0)
        v_tile = tl.load(v + other, mask=there, other=0.0)
        # 4. The scores and their softmax, online. A key past the end weighs nothing.
        scores = tl.dot(q_tile, tl.trans(k_tile))
        scores = tl.where((keys < n)[None, :], scores, float("-inf"))
        above = tl.maximum(largest, factor * tl.max(scores, axis=1))
        weights = tl.exp2(factor * scores - above[:, None])
        correction = tl.exp2(largest - above)
        total = total * correction + tl.sum(weights, axis=1)
        # 5. The weighted sums of the values, which are added to those before.
        sums = tl.dot(weights.to(tl.float16), v_tile, sums * correction[:, None])
        largest = above

    # 6. Store the quotients.
    tl.store(out + place, (sums / total[:, None]).to(tl.float16), mask=mask)
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
    """Launch the kernel; the result goes into `out`, nothing is returned."""
    # TODO(student): about 4 lines
    # Programs of BM queries, for each head.
    BM, BN, DIM = 64, 64, max(16, triton.next_power_of_2(d))
    grid = (triton.cdiv(n, BM), heads)
    attention_kernel[grid](q, k, v, out, n, d, scale, BM=BM, BN=BN, DIM=DIM)
    # end
