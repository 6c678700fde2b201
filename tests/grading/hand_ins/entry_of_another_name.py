# The function that launches the kernel has the name that another site asks for.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask)
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def solve(input, output, n):
    silu_kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
