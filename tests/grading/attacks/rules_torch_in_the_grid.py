# attack: group=rules verdict=forbidden
# Has torch compute where the launch asks for its grid; the kernel copies the output onto itself.
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(output, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(output + offsets, tl.load(output + offsets, mask=mask), mask=mask)


def silu(input, output, n):
    def grid(meta):
        torch.ops.aten.silu.out(input, out=output)
        return (triton.cdiv(n, meta["BLOCK"]),)

    silu_kernel[grid](output, n, BLOCK=256)
