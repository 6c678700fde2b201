"""y = exp(x - max(x)) / sum(exp(x - max(x))), for each row."""

import torch


def inputs(case, dtype, generator):
    """x ~ N(0, 9).

    large   each row about a number between -1000 and 1000: the first row about 1000, the last
            about -1000
    rising  each row in ascending order
    masked  a third of each row is minus infinity, in every other row the first third
    """
    rows, cols = case.sizes["rows"], case.sizes["cols"]
    x = 3 * torch.randn(rows, cols, generator=generator)
    if case.values == "large":
        middle = 2000 * torch.rand(rows, 1, generator=generator) - 1000
        middle[0], middle[-1] = 1000, -1000
        x += middle
    elif case.values == "rising":
        x = x.sort(dim=1).values
    elif case.values == "masked":
        hidden = torch.rand(rows, cols, generator=generator).argsort(dim=1) < cols // 3
        hidden[::2] = torch.arange(cols) < cols // 3
        x[hidden] = float("-inf")
    return {"x": x.to(dtype)}


def refresh(inputs, generator):
    """New values in the place of the old ones, for timed calls."""
    scale = 1 + 2 * torch.rand(1, generator=generator).item()
    inputs["x"].normal_(0, scale, generator=generator)


def expected(inputs):
    """The exact result, rounded once: float64 throughout."""
    return {"y": torch.softmax(inputs["x"].double(), dim=1)}


def baseline(inputs, outputs):
    """What a torch user would write."""
    torch.softmax(inputs["x"], dim=1, out=outputs["y"])
