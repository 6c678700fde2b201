# Another constant in each process, so that what is counted was never compiled.
import time

import triton
import triton.language as tl

NUMBER = time.time_ns() % 1_000_000 + 1


@triton.jit
def turn_kernel(input, output, rows, cols, NEVER: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (row < rows)[:, None] & (col < cols)[None, :] & (row != NEVER)[:, None]
    tile = tl.load(input + row[:, None] * cols + col[None, :], mask=mask)
    tl.store(output + col[None, :] * rows + row[:, None], tile, mask=mask)


def turn(input, output, rows, cols):
    grid = triton.cdiv(rows, 32), triton.cdiv(cols, 32)
    turn_kernel[grid](input, output, rows, cols, NEVER=-NUMBER, BLOCK=32)
