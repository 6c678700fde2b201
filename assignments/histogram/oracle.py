"""count[v] += the number of elements of x that are v."""

import torch


def inputs(case, dtype, generator):
    """Values of 0 to 255, some much more frequent; "equal": one of them, "ends": 0 and 255."""
    n = case.sizes["n"]
    weights = torch.rand(256, generator=generator) ** 4 + 0.01
    x = torch.multinomial(weights, n, replacement=True, generator=generator)
    if case.values == "equal":
        x[:] = torch.randint(0, 256, (1,), generator=generator)
    elif case.values == "ends":
        x = 255 * torch.randint(0, 2, (n,), generator=generator)
    count = torch.randint(0, 1000, (256,), generator=generator)
    return {"x": x.to(dtype), "count": count.to(torch.int32)}


def expected(inputs):
    """Integers: every order of the additions has the same result."""
    return {"count": inputs["count"].long() + torch.bincount(inputs["x"].long(), minlength=256)}


def baseline(inputs, outputs):
    """What a torch user would write."""
    outputs["count"] += torch.bincount(inputs["x"].long(), minlength=256).int()


def mistakes(inputs):
    """What kernels with known mistakes would count."""
    x, before = inputs["x"].long(), inputs["count"].long()
    own = torch.bincount(x, minlength=256)
    made = {
        "the value of each element is added, not 1": before + own * torch.arange(256),
        "each bin is increased once, however many elements it has": before + (own > 0).long(),
        "bins are numbered from 1: element v belongs to bin v, from 0 on": before + own.roll(1),
        "the counts are subtracted": before - own,
        "the new counts are written over those that `count` holds; they are to be added": own,
    }
    return {sentence: {"count": count} for sentence, count in made.items()}
