"""SiLU: y = x * sigmoid(x), element by element."""

import torch

# Where implementations go wrong: signed zeros, saturation on both sides (exp
# overflows float32 beyond 88.7), the smallest normal, a subnormal, the largest.
EDGES = [0.0, -0.0, 20.0, -20.0, 88.0, -88.0, 89.0, -89.0, 1e-30, -1e-30,
         1.17549435e-38, 1e-40, 1e30, -1e30, 3.4e38, -3.4e38]  # fmt: skip


def inputs(case, dtype, generator):
    """x ~ offset + scale * N(0, 1); "edges" strews the values above over it."""
    n = case.sizes["n"]
    offset, scale = torch.randn(2, generator=generator).tolist()
    x = offset + (1.0 + 3.0 * abs(scale)) * torch.randn(n, generator=generator)
    if case.values == "edges":
        edges = torch.tensor(EDGES)
        where = torch.randperm(n, generator=generator)[: n // 2]
        x[where] = edges[torch.arange(len(where)) % len(edges)]
    return {"input": x.to(dtype)}


def refresh(inputs, generator):
    """New values in the place of the old ones, for timed calls."""
    offset, scale = torch.randn(2, generator=generator).tolist()
    inputs["input"].normal_(offset, 1.0 + 3.0 * abs(scale), generator=generator)


def expected(inputs):
    """The exact result, rounded once: float64 throughout."""
    x = inputs["input"].double()
    return {"output": x * torch.sigmoid(x)}


def baseline(inputs, outputs):
    """What a torch user would write."""
    torch.ops.aten.silu.out(inputs["input"], out=outputs["output"])
