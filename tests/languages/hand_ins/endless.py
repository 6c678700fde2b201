# A grid-stride loop without its step never ends.
import math

from numba import cuda


@cuda.jit
def silu_kernel(input, output, n):
    i = cuda.grid(1)
    while i < n:
        output[i] = input[i] / (1 + math.exp(-input[i]))


def silu(input, output, n):
    threads = 256
    silu_kernel[(n + threads - 1) // threads, threads](input, output, n)
