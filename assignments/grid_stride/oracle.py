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


def mistakes(inputs):
    """What kernels with known mistakes would write."""
    x, factor = inputs["x"], inputs["factor"]
    made = {
        "`factor` is added, where it multiplies": x + factor,
        "x is divided by `factor`": x / factor,
        "`factor` multiplies twice": factor * (factor * x),
        "`factor` is left out": x,
        "`factor` is cut to a whole number": int(factor) * x,
        "x is multiplied by itself as well": factor * x * x,
    }
    return {sentence: {"y": values.double()} for sentence, values in made.items()}
