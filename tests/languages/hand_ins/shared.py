# Right, with a barrier between the store to shared memory and the loads of other threads.
import math

from numba import cuda, float32


@cuda.jit
def silu_kernel(input, output, n):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < n:
        tile[t] = input[i]
    cuda.syncthreads()
    other = t ^ 255
    first = i - t
    if first + other < n:
        x = tile[other]
        output[first + other] = x / (1 + math.exp(-x))


def silu(input, output, n):
    threads = 256
    silu_kernel[(n + threads - 1) // threads, threads](input, output, n)
