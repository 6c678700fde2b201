# The sign in the exponential is wrong.
import math

from numba import cuda


@cuda.jit
def silu_kernel(input, output, n):
    i = cuda.grid(1)
    if i < n:
        output[i] = input[i] / (1 + math.exp(input[i]))


def silu(input, output, n):
    threads = 256
    blocks = (n + threads - 1) // threads
    silu_kernel[blocks, threads](input, output, n)
