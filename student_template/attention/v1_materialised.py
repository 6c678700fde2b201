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
    # end


@triton.jit
def softmax_kernel(
    scores,  # pointer to (heads * n, n) float32, to be changed
    n,  # keys
    BLOCK: tl.constexpr,  # a power of two, n or more
):
    """Softmax of a row, in place."""
    # TODO(student): about 6 lines
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
    # end
