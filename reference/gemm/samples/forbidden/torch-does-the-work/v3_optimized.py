# expect: check=rules
# Lets torch do the work where an own kernel is asked for.
import torch


def gemm(a, b, c, m, n, k):
    # Right on every GPU, as in V0.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.mm(a, b, out=c)
