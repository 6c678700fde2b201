"""count[r][c]: how many steps z = z * z + p stays within |z| < 2, for the pixel's point p."""

import torch


def inputs(case, dtype, generator):
    """None: the window is given by scalars."""
    return {}


def expected(inputs):
    """In float64, from the scalars as they are passed."""
    return {"count": counts(inputs, torch.float64)}


def baseline(inputs, outputs):
    """What a torch user would write: all pixels, step by step."""
    outputs["count"].copy_(counts(inputs, torch.float32))


def counts(inputs, dtype):
    """Count all pixels at once; what has left the circle stays where its count cannot change."""
    left, top, step = (
        torch.tensor(inputs[name], dtype=torch.float32).to(dtype)
        for name in ("left", "top", "step")
    )
    x = left + step * torch.arange(inputs["cols"], dtype=dtype)
    y = top - step * torch.arange(inputs["rows"], dtype=dtype)[:, None]
    re, im = torch.zeros_like(x + y), torch.zeros_like(x + y)
    count = torch.zeros_like(re, dtype=torch.int64)
    for _ in range(inputs["iterations"]):
        re, im = re * re - im * im + x, 2 * re * im + y
        inside = re * re + im * im < 4
        re, im = re.where(inside, 3.0), im.where(inside, 0.0)
        x, y = x.where(inside, 0.0), y.where(inside, 0.0)
        count += inside
    return count
