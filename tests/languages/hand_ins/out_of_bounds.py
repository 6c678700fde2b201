# The test lets n itself through: <= where < is meant.
import math

from numba import cuda


@cuda.jit
def silu_kernel(input, output, n):
    i = cuda.grid(1)
    if i <= n:
        x = input[min(i, n - 1)]
        output[i] = x / (1 + math.exp(-x))


def silu(input, output, n):
    threads = 256
    blocks = (n + threads - 1) // threads + 1
    silu_kernel[blocks, threads](input, output, n)
