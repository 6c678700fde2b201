# Threads add up the positive elements by load and store; counts get lost.
import math

import numpy as np
from numba import cuda


@cuda.jit
def silu_kernel(input, output, positive, n):
    i = cuda.grid(1)
    if i < n:
        x = input[i]
        if x > 0:
            positive[0] = positive[0] + 1
        output[i] = x / (1 + math.exp(-x))


def silu(input, output, n):
    threads = 256
    positive = cuda.to_device(np.zeros(1, dtype=np.int32))
    silu_kernel[(n + threads - 1) // threads, threads](input, output, positive, n)
