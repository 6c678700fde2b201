"""How many times z = z * z + c stays within |z| < 2, for c in a window of 3 by 2."""

import torch


def inputs(case, dtype, generator):
    return {}


def expected(inputs):
    return {"count": _counts(inputs)}


def baseline(inputs, outputs):
    outputs["count"].copy_(_counts(inputs))


def _counts(inputs):
    rows, cols = inputs["rows"], inputs["cols"]
    x = torch.tensor(inputs["left"]) + 3.0 * torch.arange(cols) / cols
    y = -1.0 + 2.0 * torch.arange(rows) / rows
    c = torch.complex(x.expand(rows, cols), y[:, None].expand(rows, cols))
    z, count = torch.zeros_like(c), torch.zeros(rows, cols, dtype=torch.int64)
    for _ in range(inputs["iterations"]):
        z = z * z + c
        inside = z.real * z.real + z.imag * z.imag < 4.0
        z = torch.where(inside, z, torch.full_like(z, 3.0))
        count += inside
    return count
