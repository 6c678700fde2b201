"""The second kernel adds up more partial sums than the first one wrote."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl


@triton.jit
def partial_sums(x, partial, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(
        partial + tl.program_id(0),
        tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0),
    )


@triton.jit
def add_up(partial, out, BLOCK: tl.constexpr):
    sums = tl.load(partial + tl.arange(0, BLOCK))  # ! uninitialized error load partial 4
    tl.store(out, tl.sum(sums, axis=0))


def entry(input, output, n):
    partial = torch.empty(8, device=input.device)
    partial_sums[(4,)](input, partial, n, BLOCK=256)
    add_up[(1,)](partial, output, BLOCK=8)
