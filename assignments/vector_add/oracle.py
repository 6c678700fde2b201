"""c = a + b, element by element."""

import torch

# Pairs whose sums show a mistake: signed zeros, cancellation, overflow to infinity.
EDGES = [(0.0, -0.0), (-0.0, -0.0), (1.0, -1.0), (1e8, 1.0), (3e38, 3e38), (-3e38, -3e38)]


def inputs(case, dtype, generator):
    """Two vectors about different means; "edges" strews the pairs above over them."""
    n = case.sizes["n"]
    means = torch.randn(2, generator=generator).tolist()
    a, b = (mean + torch.randn(n, generator=generator) for mean in means)
    if case.values == "edges":
        pairs = torch.tensor(EDGES)
        where = torch.randperm(n, generator=generator)[: n // 2]
        drawn = pairs[torch.arange(len(where)) % len(pairs)]
        a[where], b[where] = drawn[:, 0], drawn[:, 1]
    return {"a": a.to(dtype), "b": b.to(dtype)}


def expected(inputs):
    """One addition in float32, as a kernel does it."""
    return {"c": (inputs["a"] + inputs["b"]).double()}


def baseline(inputs, outputs):
    """What a torch user would write."""
    torch.add(inputs["a"], inputs["b"], out=outputs["c"])


def mistakes(inputs):
    """What kernels with known mistakes would write."""
    a, b = inputs["a"], inputs["b"]
    made = {
        "`a` is added to itself, not to `b`": a + a,
        "`b` is added to itself, not to `a`": b + b,
        "`b` is subtracted from `a`": a - b,
        "`a` is subtracted from `b`": b - a,
        "`a` and `b` are multiplied": a * b,
        "the sum is divided by 2": (a + b) / 2,
    }
    return {sentence: {"c": values.double()} for sentence, values in made.items()}
