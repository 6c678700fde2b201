# expect: kind=race line=20,21 cpu=error gpu=blind why="racecheck sees shared memory only"
# Programs add up the positive elements by load and store; counts get lost.
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    output,  # pointer to n float32
    positive,  # pointer to one int32, the number of positive elements
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask, other=0.0)
    count = tl.sum((x > 0.0).to(tl.int32), axis=0)
    before = tl.load(positive)
    tl.store(positive, before + count)
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


def silu(input, output, n):
    BLOCK = 256
    positive = torch.zeros(1, dtype=torch.int32, device=input.device)
    silu_kernel[(triton.cdiv(n, BLOCK),)](input, output, positive, n, BLOCK=BLOCK)
