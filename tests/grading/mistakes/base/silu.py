import triton
import triton.language as tl


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask)
    y = x / (1.0 + tl.exp(-x))
    tl.store(output + offsets, y, mask=mask)


def silu(input, output, n):
    BLOCK = 1024
    silu_kernel[(triton.cdiv(n, BLOCK),)](input, output, n, BLOCK=BLOCK)
