"""A grid chosen by what the compiled kernel needs, and launched through it, tuned or not."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def doubles(x, y, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for tile in tl.range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.heuristics({"STAGES": lambda given: 2})
@triton.jit
def adds_one(x, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def entry(input, output, n):
    kernel = doubles.warmup(input, output, n, BLOCK=256, STAGES=2, num_warps=8, grid=(1,))
    kernel._init_handles()
    assert kernel.metadata.num_warps == 8
    programs = 65536 // (kernel.n_regs * 32 * 8) + kernel.metadata.shared % 2
    kernel[(programs, 1, 1)](input, output, n, 256, 2)
    launched = adds_one[lambda given: (triton.cdiv(n, given["BLOCK"]),)](output, n)
    assert launched.n_spills == 0 and launched.asm["ptx"] == ""


def expected(input):
    return 2 * input + 1
