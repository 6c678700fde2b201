"""sum[0] = x[0] + x[1] + … + x[n - 1]."""

import torch


def inputs(case, dtype, generator):
    """Numbers of 0 to a bound of 0.5 to 1.5, so that long sums differ.

    "one": all are 0 but one. "few": all but one of each thousand.
    """
    n = case.sizes["n"]
    bound = 0.5 + torch.rand(1, generator=generator)
    x = bound * torch.rand(n, generator=generator)
    if case.values == "one":
        place = int(torch.randint(0, n, (1,), generator=generator))
        kept = 1.0 + float(x[place])
        x.zero_()
        x[place] = kept
    if case.values == "few":
        x *= torch.arange(n) % 1009 == 0
    return {"x": x.to(dtype)}


def refresh(inputs, generator):
    """New values in the place of the old ones, for timed calls: all 0 but one."""
    x = inputs["x"]
    x.zero_()
    place = int(torch.randint(0, x.numel(), (1,), generator=generator))
    x[place] = 1.0 + torch.rand(1, generator=generator).item()


def expected(inputs):
    """The sum in float64."""
    return {"sum": inputs["x"].double().sum().reshape(1)}


def baseline(inputs, outputs):
    """What a torch user would write."""
    torch.sum(inputs["x"], dim=0, keepdim=True, out=outputs["sum"])
