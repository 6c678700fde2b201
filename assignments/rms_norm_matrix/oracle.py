"""RMSNorm of each row of a matrix: y = x * weight / sqrt(mean(x^2) + epsilon)."""

import torch

KINDS = ("random", "tiny", "large", "spike", "zeros")


def inputs(case, dtype, generator):
    """x (rows, cols), weight (cols), each ~ offset + scale * N(0, 1), drawn anew for each row.

    `values` is what every row is, or "mixed": the rows are of these kinds in turn.

    random  scale 0.3 to 3
    tiny    a thousand times smaller: x^2 is about as small as epsilon
    large   about 10,000 each: half precision cannot hold x^2
    spike   one element is larger than all others together: the last in row 0, then the one before
    zeros   nothing but zeros: epsilon decides
    """
    rows, cols = case.sizes["rows"], case.sizes["cols"]
    offset, scale = torch.rand(2, rows, 1, generator=generator)
    x = 10 ** (scale - 0.5) * (2 * offset - 1 + torch.randn(rows, cols, generator=generator))
    assert case.values in (*KINDS, "mixed"), case.values
    for row in range(rows):
        kind = KINDS[row % len(KINDS)] if case.values == "mixed" else case.values
        if kind == "tiny":
            x[row] *= 1e-3
        elif kind == "large":
            x[row] = 1e4 + 1e3 * x[row]
        elif kind == "spike":
            x[row, (cols - 1 - row) % cols] = 30 * cols**0.5
        elif kind == "zeros":
            x[row] = 0
    offset, scale = torch.rand(2, generator=generator).tolist()
    weight = 0.5 + offset + (0.1 + scale) * torch.randn(cols, generator=generator)
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
    mean = x.square().mean(dim=1, keepdim=True)
    return {"output": x * weight / torch.sqrt(mean + epsilon)}


def baseline(inputs, outputs):
    """What a torch user would write: one fused kernel.

    torch has no variant of it that writes into a given tensor, and a copy would nearly double
    its time: the result takes the output's place instead.
    """
    x, weight = inputs["input"], inputs["weight"]
    outputs["output"] = torch.nn.functional.rms_norm(
        x, (inputs["cols"],), weight, inputs["epsilon"]
    )
