"""y = factor * x, element by element."""

import torch


def inputs(case, dtype, generator):
    """A vector about a mean that is drawn, too."""
    mean = torch.randn(1, generator=generator)
    return {"x": (mean + torch.randn(case.sizes["n"], generator=generator)).to(dtype)}


def expected(inputs):
    """One product in float32, as a kernel computes it."""
    return {"y": (inputs["x"] * inputs["factor"]).double()}


def baseline(inputs, outputs):
    """What a torch user would write."""
    torch.mul(inputs["x"], inputs["factor"], out=outputs["y"])
