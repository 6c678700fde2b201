# Adds to the last element of the input by an atomic operation.
import triton
import triton.language as tl


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask, other=0.0)
    tl.store(output + offsets, x * tl.sigmoid(x), mask=mask)
    tl.atomic_add(input + offsets, 1.0, mask=offsets == n - 1)


def silu(input, output, n):
    silu_kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
