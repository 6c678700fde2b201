"""RMSNorm of one vector: y = x * weight / sqrt(mean(x^2) + epsilon)."""

import torch


def inputs(case, dtype, generator):
    """x and weight, each ~ offset + scale * N(0, 1) with both drawn; `values` says which x.

    random  scale 0.3 to 3
    tiny    a thousand times smaller: x^2 is about as small as epsilon
    large   about 10,000 each: half precision cannot hold x^2
    spike   the last element is larger than all others together
    zeros   nothing but zeros: epsilon decides
    """
    n = case.sizes["cols"]
    offset, scale = torch.rand(2, generator=generator).tolist()
    x = 10 ** (scale - 0.5) * (2 * offset - 1 + torch.randn(n, generator=generator))
    if case.values == "tiny":
        x *= 1e-3
    elif case.values == "large":
        x = 1e4 + 1e3 * x
    elif case.values == "spike":
        x[-1] = 30 * n**0.5
    elif case.values == "zeros":
        x.zero_()
    else:
        assert case.values == "random", case.values
    offset, scale = torch.rand(2, generator=generator).tolist()
    weight = 0.5 + offset + (0.1 + scale) * torch.randn(n, generator=generator)
    return {"input": x.to(dtype), "weight": weight.to(dtype)}


def refresh(inputs, generator):
    """New values in the place of the old ones, for timed calls."""
    for values, offset in ((inputs["input"], 0.0), (inputs["weight"], 1.0)):
        shift, scale = torch.rand(2, generator=generator).tolist()
        values.normal_(offset + shift - 0.5, 0.3 + scale, generator=generator)


def expected(inputs):
    """The exact result, rounded once: float64 throughout."""
    x, weight = inputs["input"].double(), inputs["weight"].double()
    epsilon = torch.tensor(inputs["epsilon"], dtype=torch.float32).double()  # as it is passed
    return {"output": x * weight / torch.sqrt(x.square().mean() + epsilon)}


def baseline(inputs, outputs):
    """What a torch user would write: six passes over memory, each with an output to write into.

    torch.nn.functional.rms_norm gives a row to one block, which takes some hundred times as
    long for a single huge row; x.pow(2).mean() writes the squares to memory and reads them.
    """
    x, output = inputs["input"], outputs["output"]
    mean = torch.linalg.vector_norm(x).square() / inputs["cols"]
    torch.mul(x, torch.rsqrt(mean + inputs["epsilon"]), out=output)
    output.mul_(inputs["weight"])
