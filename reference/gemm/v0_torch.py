# GEMM in PyTorch: what the kernels of the other rungs are measured against.
#
# Idea      say what, not how: torch calls the vendor's library (cuBLAS on a GPU).
# Limit     the library's kernels, which are as fast as the hardware for most shapes.
# Expect    1.0: it is the baseline.
# Grade it  grade local gemm --kernel v0_torch
import torch


def gemm(
    a,  # (m, k) float16 tensor, to be read
    b,  # (k, n) float16 tensor, to be read
    c,  # (m, n) float16 tensor, to be written
    m,  # rows of a and c
    n,  # columns of b and c
    k,  # columns of a, rows of b
):
    """Write the product into `c`; nothing is returned."""
    # TODO(student): about 2 lines
    # One call of torch. `c` belongs to the grader: the result has to land in it.
    # cuBLAS may divide k and add up the parts in float16, unless it is told not to.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.mm(a, b, out=c)
    # end
