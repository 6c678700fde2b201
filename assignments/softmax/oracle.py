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


def mistakes(inputs):
    """What kernels with known mistakes would write, in float32 where a power may overflow."""
    x = inputs["x"]
    largest = x.amax(dim=1, keepdim=True)
    plain, power = x.exp(), (x - largest).exp()
    total = power.sum(dim=1, keepdim=True)
    from_0 = (x - largest.clamp_min(0)).exp()
    made = {
        "the largest element is subtracted in the quotient, but not in the sum": (
            power / plain.sum(dim=1, keepdim=True)
        ),
        "the largest element is subtracted in the sum, but not in the quotient": plain / total,
        "the largest element is sought among zeros as well, so that a row of negative ones has 0: "
        "begin with minus infinity, also past the end of the row": from_0
        / from_0.sum(dim=1, keepdim=True),
        "the division by the sum is missing": power,
        "the power is multiplied by the sum, not divided": power * total,
        "the division is by the largest element, not by the sum of the powers": power / largest,
        "the sum is of the elements, not of their powers": (
            power / (x - largest).sum(dim=1, keepdim=True)
        ),
        "the sum and the largest element are those of the columns, not of the rows": torch.softmax(
            x, dim=0
        ),
        "the sum is that of all rows": power / total.sum(),
        "the largest element and the sum are those of all rows, not of each": torch.softmax(
            x.flatten(), dim=0
        ).view_as(x),
        "the power is that of 2: exp2 in the place of exp": (
            (x - largest).exp2() / (x - largest).exp2().sum(dim=1, keepdim=True)
        ),
        "the sign is wrong in the power: it is exp(x - largest)": (
            (largest - x).exp() / (largest - x).exp().sum(dim=1, keepdim=True)
        ),
        "the result is the logarithm of the quotient": torch.log_softmax(x, dim=1),
    }
    for tile in (32, 128, 256, 512, 1024):
        for words, sum_of_row in online(x.double(), largest.double(), tile).items():
            made.setdefault(f"{words} (in steps of {tile})", power / sum_of_row)
    return {sentence: {"y": values.double()} for sentence, values in made.items()}


def online(x, largest, tile):
    """Return sums of each row, of one pass in steps of `tile` columns, with known mistakes."""
    so_far = torch.full_like(largest, -3e38)
    uncorrected, late = torch.zeros_like(largest), torch.zeros_like(largest)
    for part in x.split(tile, dim=1):
        above = torch.maximum(so_far, part.amax(dim=1, keepdim=True))
        here = (part - above).exp().sum(dim=1, keepdim=True)
        uncorrected = uncorrected + here
        late = (late + here) * (so_far - above).exp()
        so_far = above
    return {
        "the sum so far is not corrected when a larger element comes": uncorrected,
        "the sum of this step is corrected, too, not only the sum before it": late,
    }
