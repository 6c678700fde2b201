"""Transpose: output[col, row] = input[row, col], bit for bit."""

import torch

FINITE = 0x7F800000  # float32 patterns below are zero or positive and finite: 255 * 2**23 of them
SIGN = 0x80000000
# A step that shares no factor with 2 * FINITE = 3 * 5 * 17 * 2**24 visits every pattern once.
FACTORS = (2, 3, 5, 17)


def inputs(case, dtype, generator):
    """A matrix whose elements are all different: the index, stepped through float32's patterns.

    float32 can count to 2**24 only, but it has 255 * 2**24 finite values. Start
    and step are random; a matrix may have up to that many elements.
    """
    shape = (case.sizes["rows"], case.sizes["cols"])
    start, step = torch.randint(FINITE, (2,), generator=generator).tolist()
    while any(step % factor == 0 for factor in FACTORS):
        step += 1
    number = torch.arange(shape[0] * shape[1], dtype=torch.int64)
    # Below 2**31 * 2**32, which fits int64, for as many elements as a 16 GiB array has.
    # `fmod` and `where` take a third of the time of `%` and a mask.
    pattern = torch.fmod(start + step * number, 2 * FINITE)
    pattern = torch.where(pattern < FINITE, pattern, pattern + (SIGN - FINITE))
    # int64 -> int32 keeps the low 32 bits, which are then read as float32.
    return {"input": pattern.to(torch.int32).view(torch.float32).view(shape).to(dtype)}


def refresh(inputs, generator):
    """New values in the place of the old ones, for timed calls.

    Uniform ones are drawn fastest. Nothing cheaper: what a formula makes of the old matrix it
    makes of the old result as well.
    """
    inputs["input"].uniform_(-1, 1, generator=generator)


def expected(inputs):
    """The transpose; float64 holds every float32 exactly, the subnormal ones too."""
    return {"output": inputs["input"].double().t()}


def baseline(inputs, outputs):
    """What a torch user would write: `x.t().contiguous()`, into the output that is there."""
    outputs["output"].copy_(inputs["input"].t())
