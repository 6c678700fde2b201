# A product of its own, copied.
import torch


def gemm(a, b, c, m, n, k):
    c.copy_(torch.matmul(a.float(), b.float()))
