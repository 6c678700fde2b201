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
    """Count all pixels at once: what has left the circle never comes back, so its count stays."""
    left, top, step = (
        torch.tensor(inputs[name], dtype=torch.float32).to(dtype)
        for name in ("left", "top", "step")
    )
    x = left + step * torch.arange(inputs["cols"], dtype=dtype)
    y = top - step * torch.arange(inputs["rows"], dtype=dtype)[:, None]
    re, im = torch.zeros_like(x + y), torch.zeros_like(x + y)
    re_re, im_im = re, im
    steps = torch.zeros_like(re, dtype=torch.int64)
    for _ in range(inputs["iterations"]):
        re, im = re_re - im_im + x, 2 * re * im + y
        re_re, im_im = re * re, im * im
        steps += re_re + im_im < 4  # not so once they are infinite or no numbers
    return steps


def mistakes(inputs):
    """What kernels with known mistakes would count."""
    rows, cols, iterations = inputs["rows"], inputs["cols"], inputs["iterations"]
    right = counts(inputs, torch.float32)
    exchanged = counts(inputs | {"rows": cols, "cols": rows}, torch.float32).t()
    upward = counts(inputs | {"top": -inputs["top"]}, torch.float32)
    new_re = steps(
        inputs, lambda re, im, x, y: (next_re(re, im, x), 2 * next_re(re, im, x) * im + y)
    )
    no_two = steps(inputs, lambda re, im, x, y: (next_re(re, im, x), re * im + y))
    plus = steps(inputs, lambda re, im, x, y: (re * re + im * im + x, 2 * re * im + y))
    minus = steps(inputs, lambda re, im, x, y: (next_re(re, im, x), y - 2 * re * im))
    longer = counts(inputs | {"iterations": iterations + 1}, torch.float32)
    made = {
        "z begins with the point itself, a step ahead: it begins with 0": (longer - 1).clamp_min(0),
        "the row is used in x and the column in y: x = left + step * column": exchanged,
        "y grows with the row: it is top - step * row": upward,
        "the new `im` is computed from the new `re`, not from that of the step before": new_re,
        "the new `im` lacks a factor of 2: it is 2 * re * im + y": no_two,
        "the new `re` adds im * im: it is re * re - im * im + x": plus,
        "the new `im` has the wrong sign: it is 2 * re * im + y": minus,
        "re * re + im * im is compared with 2, not with 2 * 2": steps(inputs, limit=2.0),
        "re * re + im * im is compared with 16, its root with 4: it is 4, and 2": steps(
            inputs, limit=16.0
        ),
        "the step that leaves the circle is counted as well": (right + 1).clamp_max(iterations),
        "the count is overwritten in each step, not added to": (right == iterations).long(),
        "every count is one too large": right + 1,
        "every count is one too small": right - 1,
        "the steps that are left are counted, not those within the circle": iterations - right,
    }
    return {sentence: {"count": count} for sentence, count in made.items()}


def next_re(re, im, x):
    """Return the real part of z * z + p."""
    return re * re - im * im + x


def steps(inputs, step=None, limit=4.0):
    """Count in float32, with another step or another limit for re * re + im * im."""
    left, top, width = (torch.tensor(inputs[name]) for name in ("left", "top", "step"))
    x = left + width * torch.arange(inputs["cols"])
    y = top - width * torch.arange(inputs["rows"])[:, None]
    x, y = torch.broadcast_tensors(x, y)
    step = step or (lambda re, im, x, y: (next_re(re, im, x), 2 * re * im + y))
    re, im = torch.zeros_like(x), torch.zeros_like(x)
    inside = torch.ones_like(x, dtype=torch.bool)
    steps = torch.zeros_like(x, dtype=torch.int64)
    for _ in range(inputs["iterations"]):
        re, im = step(re, im, x, y)
        inside = inside & (re * re + im * im < limit)
        steps += inside
        re, im = re.where(inside, 0.0), im.where(inside, 0.0)
    return steps
