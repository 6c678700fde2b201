"""out = softmax(scale * q k^T) v, for each head, and its gradients."""

import math

import torch


def inputs(case, dtype, generator, largest=200):
    """q, k, v ~ N(0, 1) of (heads, n, d).

    large   the first row of scores rises from about `largest` / 2 to `largest`, so that each step
            over the keys finds a larger one; the last row falls to -largest: q and k have a common
            direction
    """
    heads, n, d = (case.sizes[name] for name in ("heads", "n", "d"))
    q, k, v = (torch.randn(heads, n, d, generator=generator) for _ in range(3))
    if case.values == "large":
        height = (largest / (case.sizes["scale"] * d)) ** 0.5
        k += height * torch.linspace(0.5, 1, n)[:, None]
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


def mistakes(inputs):
    """What kernels with known mistakes would write."""
    q, k, v = (inputs[name].double() for name in ("q", "k", "v"))
    scale = torch.tensor(inputs["scale"], dtype=torch.float32).double()
    n = q.shape[1]
    products = q @ k.mT
    scores = scale * products
    weights = torch.softmax(scores, dim=2)
    power = (scores - scores.amax(dim=2, keepdim=True)).exp()
    above = torch.ones(n, n, dtype=torch.bool).triu(1)
    made = {
        "the scores of query and key are exchanged: q and k, or the two indices where a score is "
        "stored or read": torch.softmax(scores.mT, dim=2) @ v,
        "the scores are not multiplied by `scale`": torch.softmax(products, dim=2) @ v,
        "`scale` multiplies the weights, not the scores": scale
        * torch.softmax(products, dim=2)
        @ v,
        "the scores are divided by the root of d as well, which `scale` does already": (
            torch.softmax(scores / q.shape[2] ** 0.5, dim=2) @ v
        ),
        "the scores are divided by `scale`": torch.softmax(products / scale, dim=2) @ v,
        "the power is that of 2: exp2 in the place of exp needs the scores times log2(e)": (
            torch.softmax(scores * math.log(2.0), dim=2) @ v
        ),
        "the weights are not divided by their sum": power @ v,
        "the largest score is subtracted in the sum of the powers, but not in the power": (
            (scores.exp() / power.sum(dim=2, keepdim=True)) @ v
        ),
        "the largest score is subtracted in the power, but not in the sum of the powers": (
            (power / scores.exp().sum(dim=2, keepdim=True)) @ v
        ),
        "the softmax is that of each column of the scores, not of each row": (
            torch.softmax(scores, dim=1) @ v
        ),
        "the weights multiply k, not v": weights @ k,
        "the weights multiply q, not v": weights @ q,
        "the scores multiply v, without a softmax": scores @ v,
        "k is the first head's in every head": torch.softmax(scale * q @ k[:1].mT, dim=2) @ v,
        "v is the first head's in every head": weights @ v[:1],
        "k and v are the first head's in every head": (
            torch.softmax(scale * q @ k[:1].mT, dim=2) @ v[:1]
        ),
        "q is the first head's in every head": torch.softmax(scale * q[:1] @ k.mT, dim=2) @ v,
        "keys after the query are left out, as in a causal mask": (
            torch.softmax(scores.masked_fill(above, float("-inf")), dim=2) @ v
        ),
    }
    alike = (scale * (q * k).sum(dim=2))[:, None].expand(-1, n, -1)
    made |= {
        "each score is that of a key and the query of the same number: the row of q is that of the "
        "query": torch.softmax(alike, dim=2) @ v,
        "every key has the same weight: is the row of k that of the key?": (
            v.mean(dim=1, keepdim=True).expand_as(v)
        ),
        "the last key is left out of the weighted sum": weights[:, :, :-1] @ v[:, :-1],
        "the first key is left out of the weighted sum": weights[:, :, 1:] @ v[:, 1:],
    }
    one_more = torch.cat([scores, torch.zeros_like(scores[:, :, :1])], dim=2)
    made[
        "one more key is counted, with the score 0: the largest score begins with minus infinity, "
        "the sum of the powers with 0"
    ] = torch.softmax(one_more, dim=2)[:, :, :n] @ v
    for tile in (16, 32, 64):
        padding = torch.zeros(q.shape[0], n, -n % tile, dtype=torch.float64)
        padded = torch.softmax(torch.cat([scores, padding], dim=2), dim=2)[:, :, :n]
        made[
            f"keys past the end, up to a multiple of {tile}, have the score 0, not minus infinity"
        ] = padded @ v
        last = (n - 1) // tile * tile
        made[f"only the keys of the last step are added up (in steps of {tile} keys)"] = (
            weights[:, :, last:] @ v[:, last:]
        )
        made[
            f"what is known of the keys before the last step is lost (in steps of {tile} keys)"
        ] = torch.softmax(scores[:, :, last:], dim=2) @ v[:, last:]
        for words, out in online(scores, v, tile).items():
            made[f"{words} (in steps of {tile} keys)"] = out
    return {sentence: {"out": out} for sentence, out in made.items()}


def online(scores, v, tile):
    """Return the outputs of one pass over the keys, in steps of `tile`, with known mistakes."""
    so_far = torch.full_like(scores[..., :1], -3e38)
    total, sums, same_total, same_sums, late = (0.0 for _ in range(5))
    for first in range(0, v.shape[1], tile):
        part, values = scores[..., first : first + tile], v[:, first : first + tile]
        highest = torch.maximum(so_far, part.amax(dim=2, keepdim=True))
        weights, old = (part - highest).exp(), (so_far - highest).exp()
        here, mixed = weights.sum(dim=2, keepdim=True), weights @ values
        total, sums = total * old + here, sums * old + mixed
        same_total, same_sums = same_total + here, same_sums + mixed
        late = (late + mixed) * old
        so_far = highest
    return {
        "the sums of the values so far are not corrected when a larger score comes": (
            same_sums / total
        ),
        "the sum of the weights so far is not corrected when a larger score comes": (
            sums / same_total
        ),
        "neither the sum of the weights so far nor those of the values are corrected when a larger "
        "score comes": same_sums / same_total,
        "the sums of this step are corrected, too, not only those before it": late / total,
    }


def inputs_attention_backward(case, dtype, generator):
    """q, k, v as in the forward pass, which made out and lse; dout ~ N(0, 1).

    large   as there, but the largest score is about 100: gradients grow with q and k, and so do
            the errors of right kernels
    """
    made = inputs(case, dtype, generator, largest=100)
    scale = torch.tensor(case.sizes["scale"], dtype=torch.float32).double()
    dout = torch.randn(made["q"].shape, generator=generator).to(dtype)
    q, k, v = (made[name].double() for name in ("q", "k", "v"))
    scores = scale * q @ k.mT
    out = (torch.softmax(scores, dim=2) @ v).to(dtype)
    return made | {"out": out, "lse": scores.logsumexp(dim=2).float(), "dout": dout}


def expected_attention_backward(inputs):
    """The gradients in float64, of the arrays as they are: `out` and `lse` are rounded."""
    scale = torch.tensor(inputs["scale"], dtype=torch.float32).double()
    q, k, v, out, dout = (inputs[name].double() for name in ("q", "k", "v", "out", "dout"))
    weights = (scale * q @ k.mT - inputs["lse"].double()[..., None]).exp()
    changes = weights * (dout @ v.mT - (dout * out).sum(dim=2, keepdim=True))
    return {
        "dq": scale * changes @ k,
        "dk": scale * changes.mT @ q,
        "dv": weights.mT @ dout,
    }


def baseline_attention_backward(inputs, outputs):
    """What a torch user would write: torch repeats the forward pass."""
    q, k, v = (inputs[name][None].detach().requires_grad_() for name in ("q", "k", "v"))
    with torch.enable_grad():
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=inputs["scale"])
        made = torch.autograd.grad(attended, (q, k, v), inputs["dout"][None])
    for name, gradient in zip(("dq", "dk", "dv"), made, strict=True):
        outputs[name].copy_(gradient[0])
