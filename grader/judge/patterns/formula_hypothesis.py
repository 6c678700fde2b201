"""Explain wrong elements as another formula of the same inputs: "every element is tanh(x)".

Each hypothesis computes what a classic mistake would give for every element and is reported only
if all elements agree with it, and enough of them are wrong, so that chance is ruled out. It is a
hint, never part of a verdict.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import Comparison, accepts

_LEAST = 8  # wrong elements; fewer agree with a formula by chance
_MOST = 2**20  # elements: bounds the time
_SMALLEST = 1.2e-38  # of the normal numbers of float32
_SOME = 64  # elements decide about most formulas


def same_formula(
    comparison: Comparison, inputs: Mapping[str, torch.Tensor], tolerance: Tolerance
) -> str | None:
    """Return the formula of one input that gives every element that is finite."""
    actual, expected = comparison.actual, comparison.expected
    if not _comparable(comparison) or tolerance.exact:
        return None
    finite = torch.isfinite(actual.double())
    if 2 * int(finite.sum()) < finite.numel():
        return None
    loose = _loosened(tolerance)
    for name, value in inputs.items():
        if value.shape != expected.shape or not value.is_floating_point():
            continue
        x = value.double()
        few = slice(None, None, x.numel() // _SOME + 1)
        some, here, known = x.flatten()[few], actual.flatten()[few], finite.flatten()[few]
        guesses = torch.stack([guess for _, guess in _formulas(some)])
        fits = (accepts(here.expand(guesses.shape), guesses, loose) | ~known).all(1)
        for number in fits.nonzero().flatten().tolist():
            words, predicted = next(itertools.islice(_formulas(x), number, None))
            differs = finite & ~accepts(predicted.to(actual.dtype), expected, loose)
            differs &= actual.double().abs() > 1e3 * _SMALLEST  # zeros agree with any such formula
            agrees = accepts(actual, predicted, loose) | ~finite
            if int(differs.sum()) >= _LEAST and bool(agrees.all()):
                return f"every element is {words}, where x is `{name}`"
    return None


def _formulas(x: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield formulas in words, and their values."""
    yield "max(x, 0)", x.clamp_min(0)
    yield "max(x, 0.01 x)", torch.maximum(x, 0.01 * x)
    yield "|x|", x.abs()
    yield "-x", -x
    yield "x * x", x * x
    yield "tanh(x)", x.tanh()
    yield "x * tanh(x)", x * x.tanh()
    yield "log(1 + exp(x))", torch.nn.functional.softplus(x)
    yield "GELU of x", torch.nn.functional.gelu(x)
    yield "GELU of x", torch.nn.functional.gelu(x, approximate="tanh")
    powers = {
        "exp(-x)": (-x).exp(),
        "exp(x)": x.exp(),
        "exp(-|x|)": (-x.abs()).exp(),
        "exp(-x * x)": (-x * x).exp(),
        "2^-x": (-x).exp2(),
        "2^x": x.exp2(),
    }
    for power, value in powers.items():
        terms = {power: value, f"(1 + {power})": 1 + value, f"(1 - {power})": 1 - value}
        for term, one in terms.items():
            yield term, one
            yield f"1 / {term}", 1 / one
            yield f"x / {term}", x / one
            yield f"x * {term}", x * one
            yield f"x + 1 / {term}", x + 1 / one
            yield f"x - 1 / {term}", x - 1 / one
        yield f"x / 1 + {power}, without brackets around the sum", x + value


def scaled_exponent(
    comparison: Comparison, inputs: Mapping[str, torch.Tensor], tolerance: Tolerance
) -> str | None:
    """Recognise x / (1 + exp(-c x)) with c other than 1, as approximations of a GELU have."""
    actual, expected = comparison.actual.double(), comparison.expected
    if not _comparable(comparison) or tolerance.exact or not bool(torch.isfinite(actual).all()):
        return None
    for name, value in inputs.items():
        if value.shape != expected.shape or not value.is_floating_point():
            continue
        x = value.double()
        usable = (x.abs() > 0.5) & (x.abs() < 5) & (actual / x > 0) & (actual / x < 1)
        if int(usable.sum()) < _LEAST:
            continue
        factors = -(x / actual - 1)[usable].log() / x[usable]
        factor = float(factors.median())
        predicted = x / (1 + (-factor * x).exp())
        # Results near 0 agree with any large negative c.
        if (
            factor > 0
            and abs(factor - 1) > 1e-2
            and bool(accepts(comparison.actual, predicted, Tolerance(atol=1e-4, rtol=1e-3)).all())
        ):
            return f"every element is x / (1 + exp(-{factor:.4g} x)), where x is `{name}`"
    return None


def added(
    comparison: Comparison, inputs: Mapping[str, torch.Tensor], tolerance: Tolerance
) -> str | None:
    """Return what is added to every element: an input, or one number; or a sum for a product."""
    if not _comparable(comparison) or tolerance.exact:
        return None
    actual, expected = comparison.actual.double(), comparison.expected.double()
    if not bool(torch.isfinite(actual).all()):
        return None
    loose = _loosened(tolerance)
    for name, value in inputs.items():
        row = value.dim() == 1 and expected.dim() == 2 and value.numel() == expected.shape[1]
        if (value.shape != expected.shape and not row) or not value.is_floating_point():
            continue
        for words, sign in (("added to", 1.0), ("subtracted from", -1.0)):
            predicted = expected + sign * value.double()
            if bool(accepts(comparison.actual, predicted, loose).all()):
                return f"`{name}` is {words} every element of the result"
        factor = value.double()
        if bool((factor == 0).any()) or not bool((expected != 0).any()):
            continue
        without = expected / factor
        for words, predicted in (
            (f"`{name}` is added in every element, where it is a factor", without + factor),
            (f"every element is divided by `{name}`, where it is a factor", without / factor),
        ):
            if bool(accepts(comparison.actual, predicted, loose).all()):
                return words
    apart = actual - expected
    number = float(apart.median())
    spread = float((apart - number).abs().max())
    large = abs(number) > 20 * (tolerance.atol + tolerance.rtol * float(expected.abs().max()))
    if large and spread <= 1e-2 * abs(number) and float(expected.max()) > float(expected.min()):
        return f"every element is {abs(number):.4g} too {'large' if number > 0 else 'small'}"
    return None


def wrong_range(comparison: Comparison, inputs: Mapping[str, torch.Tensor]) -> str | None:
    """Return the range of an input where all wrong elements are, and no right one."""
    if not _comparable(comparison):
        return None
    wrong = comparison.wrong.flatten()
    bad = comparison.actual.double().flatten()[wrong]
    infinite = not bool(torch.isfinite(bad).any())
    # A result near 0 is right whatever number the kernel computes, and says nothing.
    size = comparison.expected.double().abs().flatten()
    right = ~wrong & (infinite | (size > 100 * comparison.allowed.flatten()))
    if int(right.sum()) < _LEAST:
        return None
    # A range explains something only if it is not one of places as well.
    marked = wrong.nonzero().flatten()
    if int(marked[-1]) - int(marked[0]) + 1 == marked.numel():
        return None
    if comparison.wrong.dim() > 1 and _of_rows(comparison.wrong):
        return None
    for name, value in inputs.items():
        if value.shape != comparison.expected.shape or not value.is_floating_point():
            continue
        x = value.double().flatten()
        if not bool(torch.isfinite(x).all()):
            continue
        found = _range(f"`{name}`", x[wrong], x[right])
        if found:
            what = "not finite" if infinite else "wrong"
            return f"{what} exactly where {found}"
    return None


def _of_rows(wrong: torch.Tensor) -> bool:
    """True if most rows are wrong as a whole or not at all: their elements have much in common."""
    share = wrong.double().view(-1, wrong.shape[-1]).mean(dim=1)
    return wrong.shape[-1] > 1 and bool(((share < 0.1) | (share > 0.9)).double().mean() > 0.7)


def _range(name: str, wrong: torch.Tensor, right: torch.Tensor) -> str | None:
    if float(wrong.min()) > float(right.max()):
        low, high = float(right.max()), float(wrong.min())
        return f"{name} is positive" if low <= 0 <= high else f"{name} is {high:.4g} or more"
    if float(wrong.max()) < float(right.min()):
        low, high = float(wrong.max()), float(right.min())
        return f"{name} is negative" if low <= 0 <= high else f"{name} is {low:.4g} or less"
    if float(wrong.abs().min()) > float(right.abs().max()):
        return f"|{name}| is {float(wrong.abs().min()):.4g} or more"
    if float(wrong.abs().max()) < float(right.abs().min()):
        return f"|{name}| is {float(wrong.abs().max()):.4g} or less"
    return None


def reinterpreted(comparison: Comparison) -> str | None:
    """Recognise the bytes of another type: an array of double that is copied as one of float."""
    actual, expected = comparison.actual.flatten(), comparison.expected.flatten()
    if not _comparable(comparison) or actual.dtype is not torch.float32:
        return None
    kinds = {"double": torch.float64, "int": torch.int32, "__half": torch.float16}
    for word, kind in kinds.items():
        values = expected.to(kind)
        if kind is torch.int32 and not bool((expected.abs() < 2**31).all()):
            continue
        raw = values.contiguous().view(torch.uint8)
        given = actual.contiguous().view(torch.uint8)
        count = min(raw.numel(), given.numel()) // 4 * 4
        if not torch.equal(raw[:count], given[:count]):
            continue
        # Zeros have the same bytes in every type.
        if int((given[:count].view(torch.int32) != 0).sum()) >= _LEAST:
            return f"the bytes are those of an array of `{word}`, read as float"
    return None


def row_offset(
    comparison: Comparison, inputs: Mapping[str, torch.Tensor], *, close: float = 1e-3
) -> str | None:
    """Recognise a number of each row that is added to the input: (x - mean) * scale * weight."""
    expected = comparison.expected.double()
    if not _comparable(comparison) or expected.dim() not in (1, 2) or expected.shape[-1] < _LEAST:
        return None
    shape = expected.shape
    y = comparison.actual.double().view(-1, shape[-1])
    if not bool(torch.isfinite(y).all()):
        return None
    for name, value in inputs.items():
        if value.shape != shape or not value.is_floating_point():
            continue
        x = value.double().view(-1, shape[-1])
        weights = [
            other.double().expand(x.shape)
            for key, other in inputs.items()
            if key != name and other.is_floating_point() and other.shape == shape[-1:]
        ]
        for weight in [*weights, torch.ones_like(x)]:
            offset = _offset(x, y / weight, close)
            if offset is None:
                continue
            mean, square = x.mean(dim=1), x.square().mean(dim=1)
            for words, wanted in (("mean", mean), ("mean square", square), ("sum", x.sum(dim=1))):
                margin = 10 * close * (wanted.abs() + mean.abs() + square.sqrt())
                if bool(((offset - wanted).abs() <= margin).all()):
                    return f"the {words} of the row is subtracted from each element of `{name}`"
            low, high = float(offset.min()), float(offset.max())
            numbers = f"{low:.4g}" if math.isclose(low, high, rel_tol=1e-2) else "a number"
            each = "" if numbers != "a number" or x.shape[0] == 1 else " of each row's own"
            return f"{numbers}{each} is subtracted from each element of `{name}`"
    return None


def _offset(x: torch.Tensor, y: torch.Tensor, close: float) -> torch.Tensor | None:
    """Return c of y = s * (x - c), a number for each row; None if y is not of this form."""
    spread = x - x.mean(dim=1, keepdim=True)
    scale = (spread * y).sum(dim=1, keepdim=True) / spread.square().sum(dim=1, keepdim=True)
    if not bool(torch.isfinite(scale).all()) or not bool((scale != 0).all()):
        return None
    offset = x - y / scale
    middle = offset.median(dim=1, keepdim=True).values
    extent = spread.abs().amax(dim=1, keepdim=True)
    fits = (offset - middle).abs() <= close * (extent + middle.abs())
    # A number far larger than the row says only that nothing depends on the row.
    tells = (middle.abs() > 0.05 * extent) & (middle.abs() < 100 * extent)
    return middle.flatten() if bool(fits.all()) and bool(tells.any()) else None


def _comparable(comparison: Comparison) -> bool:
    floats = comparison.actual.dtype.is_floating_point
    return floats and comparison.mismatched >= _LEAST and comparison.wrong.numel() <= _MOST


def _loosened(tolerance: Tolerance) -> Tolerance:
    # Another formula has other rounding errors.
    return Tolerance(atol=4 * tolerance.atol, rtol=4 * tolerance.rtol)
