# A thread goes on writing when the call is over.
import threading
import time

import triton
import triton.language as tl


def scribble(output, started):
    started.set()
    while True:
        output.add_(1.0)


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask)
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def silu(input, output, n):
    silu_kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
    started = threading.Event()
    threading.Thread(target=scribble, args=(output, started), daemon=True).start()
    started.wait()  # on a busy machine it may not run for a while
    time.sleep(0.001)
