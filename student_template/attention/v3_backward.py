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
        # 2. Load queries and gradients. A query past the end has weights of e^-infinity.
        # 3. The weights again, and the gradients of the scores.
        # 4. What these queries add.
    # 5. Store.
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
        # 2. Load keys and values.
        # 3. The weights again, and the gradients of the scores. A key past the end weighs nothing.
        # 4. What these keys add.
    # 5. Store.
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
    # end
