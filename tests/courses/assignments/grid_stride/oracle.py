"""y = x + by."""

import torch


def inputs(case, dtype, generator):
    return {"x": torch.randn(case.sizes["n"], dtype=dtype, generator=generator)}


def expected(inputs):
    return {"y": inputs["x"].double() + inputs["by"]}


def baseline(inputs, outputs):
    torch.add(inputs["x"], inputs["by"], out=outputs["y"])
