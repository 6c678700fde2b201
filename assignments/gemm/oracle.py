"""GEMM: C = A · B, row-major; float32 in CUDA C++, float16 in Triton and torch."""

import torch

# Whole numbers that are sure to show what a sum was kept in: products of the first
# half add up far beyond 2048, where float16 leaves the odd numbers out, and the second
# half takes them away again. In float32 they are longer than the 11 bits of TF32. No
# partial sum, in whatever order, leaves the whole numbers that float32 has: 2**24.
LARGEST_A = {torch.float16: 31, torch.float32: 4095}
LARGEST_B = 7


def inputs(case, dtype, generator):
    """Return A (m, k) and B (k, n); "random" is scaled so that the sum of |a b| is about 1."""
    m, n, k = (case.sizes[name] for name in "mnk")
    if case.values == "random":
        offsets = (torch.rand(2, generator=generator) - 0.5).tolist()
        scales = (torch.rand(2, generator=generator) + 0.5).tolist()
        a = offsets[0] + scales[0] * torch.randn(m, k, generator=generator)
        b = offsets[1] + scales[1] * torch.randn(k, n, generator=generator)
        a, b = a / k**0.5, b / k**0.5
    else:
        a, b = MAKERS[case.values](m, n, k, dtype, generator)
    return {"a": a.to(dtype), "b": b.to(dtype)}


def binary(m, n, k, dtype, generator):
    """Zeros and ones: every element of C counts, so a missing or a doubled term shows."""
    return (torch.randint(2, shape, generator=generator) for shape in ((m, k), (k, n)))


def cancelling(m, n, k, dtype, generator):
    """Large partial sums, small results: the second half is the first, negated and nudged."""
    half, odd = k // 2, k % 2
    largest = LARGEST_A[dtype]
    a = torch.randint(largest // 2, largest - 1, (m, half), generator=generator) | 1
    b = torch.randint(1, LARGEST_B + 1, (half, n), generator=generator)
    nudge = torch.randint(-1, 2, (m, half), generator=generator)
    a = torch.cat([a, a + nudge, torch.ones(m, odd, dtype=a.dtype)], dim=1)
    return a, torch.cat([b, -b, torch.ones(odd, n, dtype=b.dtype)])


def permutation(m, n, k, dtype, generator):
    """A picks rows of B, in another order: swapped indices put them elsewhere."""
    picked = torch.randperm(k, generator=generator).repeat(-(-m // k))[:m]
    b = torch.randint(1, 2048, (k, n), generator=generator)
    return torch.eye(k)[picked], b * (2 * torch.randint(2, (k, n), generator=generator) - 1)


def identity(m, n, k, dtype, generator):
    """B is an identity, cut or filled up with zeros: C is A."""
    return torch.randint(1, 2048, (m, k), generator=generator), torch.eye(k, n)


MAKERS = {maker.__name__: maker for maker in (binary, cancelling, permutation, identity)}


def refresh(inputs, generator):
    """New values in the place of the old ones, for timed calls.

    Uniform ones are drawn in less time than normal ones. Around zero sums stay small, and so do
    their rounding errors: what is allowed need not grow with k.
    """
    edge = (3 / inputs["k"]) ** 0.5
    for values in (inputs["a"], inputs["b"]):
        values.uniform_(-edge, edge, generator=generator)


# What an element may err by, as in assignment.toml: absolutely, and relative to its value. One
# float32 after the other, the worst order, errs by 1.8e-8 (root mean square) in timed calls, at
# any k; TF32 by 2.2e-6 at k = 16384 and more below.
ALLOWED = {torch.float32: (1e-6, 2e-6), torch.float16: (4e-6, 1e-3)}
ROWS = 64
SIGMAS = 8.0


def verify(inputs, outputs, generator):
    """Is C right? For timed calls, in a small part of the product's own time.

    Some rows, chosen in secret, are computed in float64 and compared element by element. All
    others are compared in a sum with secret random signs s: C s = A (B s). If every element of
    a row errs by no more than it may, errors e, then |e s| > SIGMAS * |e| has a probability of
    2 exp(-SIGMAS**2 / 2) = 3e-14 (Hoeffding), and a wrong element shows in nearly every one.
    """
    a, b, c = inputs["a"].double(), inputs["b"].double(), outputs["c"].double()
    atol, rtol = ALLOWED[outputs["c"].dtype]
    rows = torch.randperm(len(a), generator=generator)[:ROWS]
    exact = a[rows] @ b
    rows_right = (c[rows] - exact).abs() <= atol + rtol * exact.abs()
    signs = 2.0 * torch.randint(2, (c.shape[1],), generator=generator).double() - 1.0
    error = (c @ signs - a @ (b @ signs)).abs()
    allowed = allowed_in_rows(c, atol, rtol)
    sums_right = error <= SIGMAS * allowed
    # What is infinite may err by as much; no product of these inputs is.
    return bool(rows_right.all() & sums_right.all() & torch.isfinite(allowed).all())


def allowed_in_rows(c, atol, rtol):
    """For each row the root of the sum of (atol + rtol |c|)**2, without a matrix of that."""
    once, twice = (torch.linalg.vector_norm(c, order, dim=1) for order in (1, 2))
    return (c.shape[1] * atol**2 + 2 * atol * rtol * once + (rtol * twice) ** 2).sqrt()


def expected(inputs):
    """The product in float64: exact for the whole numbers above."""
    return {"c": inputs["a"].double() @ inputs["b"].double()}


def baseline(inputs, outputs):
    """What a torch user would write; torch leaves TF32 off unless told otherwise."""
    torch.mm(inputs["a"], inputs["b"], out=outputs["c"])


def mistakes(inputs):
    """What kernels with known mistakes would write."""
    a, b = inputs["a"].double(), inputs["b"].double()
    made = {
        "a[i][p] + b[p][j] is added up, not a[i][p] * b[p][j]": (
            a.sum(dim=1, keepdim=True) + b.sum(dim=0, keepdim=True)
        ),
        "a[i][p] - b[p][j] is added up, not a[i][p] * b[p][j]": (
            a.sum(dim=1, keepdim=True) - b.sum(dim=0, keepdim=True)
        ),
        "the products have the wrong sign": -(a @ b),
        "b[p][j] is added up, without a[i][p]": b.sum(dim=0, keepdim=True).expand(len(a), -1),
        "a[i][p] is added up, without b[p][j]": a.sum(dim=1, keepdim=True).expand(-1, b.shape[1]),
    }
    return {sentence: {"c": values} for sentence, values in made.items()}
