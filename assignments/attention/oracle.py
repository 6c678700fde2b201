"""out = softmax(scale * q k^T) v, for each head."""

import torch


def inputs(case, dtype, generator):
    """q, k, v ~ N(0, 1) of (heads, n, d).

    large   the first row of scores is about 200, the last one about -200, those between them
            about something between: q and k have a common direction
    """
    heads, n, d = (case.sizes[name] for name in ("heads", "n", "d"))
    q, k, v = (torch.randn(heads, n, d, generator=generator) for _ in range(3))
    if case.values == "large":
        height = (200 / (case.sizes["scale"] * d)) ** 0.5
        k += height
        q += height * torch.linspace(1, -1, n)[:, None]
    return {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype)}


def refresh(inputs, generator):
    """New values in the place of the old ones, for timed calls."""
    for values in (inputs["q"], inputs["k"], inputs["v"]):
        values.normal_(generator=generator)


def expected(inputs):
    """The exact result, rounded once: float64 throughout, a head at a time to save memory."""
    scale = torch.tensor(inputs["scale"], dtype=torch.float32).double()  # as it is passed
    heads = zip(inputs["q"], inputs["k"], inputs["v"], strict=True)
    return {
        "out": torch.stack(
            [
                torch.softmax(scale * (q.double() @ k.double().T), dim=1) @ v.double()
                for q, k, v in heads
            ]
        )
    }


def baseline(inputs, outputs):
    """What a torch user would write."""
    q, k, v = (inputs[name][None] for name in ("q", "k", "v"))
    attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=inputs["scale"])
    outputs["out"].copy_(attended[0])
