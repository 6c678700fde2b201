# tl.arange needs a power of two, and the number of partial sums is none.
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(
    input,  # pointer to cols float32
    partials,  # pointer to a float32 for each program
    cols,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(input + offsets, mask=offsets < cols, other=0.0)
    tl.store(partials + tl.program_id(0), tl.sum(x * x, axis=0))


@triton.jit
def scale_kernel(
    input,  # pointer to cols float32
    weight,  # pointer to cols float32
    partials,  # pointer to count float32
    output,  # pointer to cols float32
    cols,  # number of elements
    epsilon,  # added under the root
    count,  # number of partial sums
    BLOCK: tl.constexpr,  # elements per program
    COUNT: tl.constexpr,  # count, rounded up to a power of two
):
    parts = tl.arange(0, COUNT)
    total = tl.sum(tl.load(partials + parts, mask=parts < count, other=0.0), axis=0)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(input + offsets, mask=mask)
    w = tl.load(weight + offsets, mask=mask)
    y = x * w / tl.sqrt(total / cols + epsilon)
    tl.store(output + offsets, y, mask=mask)


def rms_norm_vector(input, weight, output, cols, epsilon):
    BLOCK = 2048
    count = triton.cdiv(cols, BLOCK)
    COUNT = count
    partials = torch.empty(count, dtype=torch.float32, device=input.device)
    sum_kernel[(count,)](input, partials, cols, BLOCK=BLOCK)
    scale_kernel[(count,)](
        input, weight, partials, output, cols, epsilon, count, BLOCK=BLOCK, COUNT=COUNT
    )
