"""Compare an output with the expected values, element by element.

An element is accepted iff one of these holds:

    both are NaN
    both are the same infinity
    |actual - expected| <= atol + rtol * |expected|, and expected is finite

Of integers |actual - expected| <= atol, without the relative part: `atol = 1` lets a pixel be off
by one, and no tolerance that is meant for floats lets an index be wrong.

Every clause states what is accepted. A NaN, for which no comparison holds, therefore cannot pass,
as it does in `if difference > bound: reject`. An expected value that overflows the output's type is
expected as that type's infinity. With `exact`, the bits must be equal.

An output is right if no more elements than `max_wrong_fraction` allows are wrong. Where the oracle
has an `accept`, its word on all outputs together counts instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from grader.assignment.tolerance import Tolerance
from grader.report.evidence import Mismatch

SHOWN = 5
_SOME = 256  # elements that are compared before all others

# The integer type of each element size, to compare elements by their bits.
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One output, its expected values, and which elements are wrong, all in the output's shape.

    `wrong_allowed` of the elements may be wrong. `refusal` is what the oracle's `accept` says
    against the outputs, "" if it accepts them; None if the elements decide. With `accept` no
    element is marked as wrong.
    """

    output: str
    actual: torch.Tensor
    expected: torch.Tensor
    allowed: torch.Tensor
    wrong: torch.Tensor
    wrong_allowed: int = 0
    refusal: str | None = None

    @property
    def accepted(self) -> bool:
        """True if `accept`, or else the elements, make the output right."""
        return not self.refusal and self.mismatched <= self.wrong_allowed

    @property
    def within_fraction(self) -> bool:
        """True if the output is right although some of its elements are wrong."""
        return self.accepted and self.mismatched > 0

    @property
    def complaint(self) -> str:
        """What is wrong with an output that is not accepted, for staff."""
        if self.refusal:
            return self.refusal
        first = self.mismatches()[0]
        return (
            f"{self.mismatched} of {self.wrong.numel()} elements of `{self.output}` are not right, "
            f"the first {first.actual:.9g} for {first.expected:.9g} (allowed: {first.allowed:.3g})"
        )

    @property
    def mismatched(self) -> int:
        """The number of wrong elements."""
        return int(self.wrong.sum())

    @property
    def max_error(self) -> float | None:
        """The largest |actual - expected|; None if one of them is not finite."""
        difference = (self.actual.double() - self.expected.double()).abs()
        if not bool(torch.isfinite(difference).all()):
            return None
        return float(difference.max()) if difference.numel() else 0.0

    def mismatches(self) -> tuple[Mismatch, ...]:
        """Return the first few wrong elements."""
        return tuple(
            Mismatch(
                output=self.output,
                index=index,
                expected=float(self.expected[index]),
                actual=float(self.actual[index]),
                allowed=float(self.allowed[index]),
            )
            for index in map(tuple, self.wrong.nonzero()[:SHOWN].tolist())
        )


def accepts(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Return the mask of accepted elements.

    `actual` has the output's element type; `expected` is float64, or int64 for integers; both have
    the same shape.
    """
    rounded = expected.to(actual.dtype)
    if not actual.dtype.is_floating_point and not tolerance.exact and tolerance.atol >= 1:
        apart = (actual.to(torch.int64) - rounded.to(torch.int64)).abs()
        # A difference that overflows may look small.
        far = (actual.double() - rounded.double()).abs() > 2.0**62
        return (apart <= tolerance.atol) & ~far
    if tolerance.exact or not actual.dtype.is_floating_point:
        bits = BITS[actual.element_size()]
        return actual.contiguous().view(bits) == rounded.contiguous().view(bits)
    actual_double = actual.double()
    infinite = torch.isinf(rounded)
    close = ((actual_double - expected).abs() <= allowed(expected, tolerance)) & ~infinite
    if bool(close.all()):  # as in nearly every right case
        return close
    same_nan = torch.isnan(actual_double) & torch.isnan(expected)
    same_infinity = infinite & (actual == rounded)
    return same_nan | same_infinity | close


def accepts_all(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> bool:
    """True if `accepts` holds for every element; some decide about most guesses that are wrong."""
    some = slice(None, None, actual.numel() // _SOME + 1)
    few = actual.reshape(-1)[some], expected.reshape(-1)[some]
    if not bool(accepts(*few, tolerance).all()):
        return False
    return bool(accepts(actual, expected, tolerance).all())


def allowed(expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Return the largest accepted difference, element by element, in float64."""
    if tolerance.exact:
        return torch.zeros(expected.shape, dtype=torch.float64)
    if not expected.dtype.is_floating_point:
        whole = tolerance.atol if tolerance.atol >= 1 else 0.0
        return torch.full(expected.shape, whole, dtype=torch.float64)
    return tolerance.atol + tolerance.rtol * expected.abs()


def compare(
    output: str,
    actual: torch.Tensor,
    expected: torch.Tensor,
    tolerance: Tolerance,
    refusal: str | None = None,
) -> Comparison:
    """Compare one output's private snapshot with the oracle's values; see `Comparison.refusal`."""
    elements_decide = refusal is None
    wrong = (
        ~accepts(actual, expected, tolerance)
        if elements_decide
        else torch.zeros_like(expected, dtype=torch.bool)
    )
    return Comparison(
        output=output,
        actual=actual,
        expected=expected,
        allowed=allowed(expected, tolerance),
        wrong=wrong,
        wrong_allowed=tolerance.wrong_allowed(expected.numel()),
        refusal=refusal,
    )


def poison_bytes(
    expected: torch.Tensor, dtype: torch.dtype, tolerance: Tolerance
) -> tuple[int, int]:
    """Return two bytes to fill an output with, neither of which is accepted in any element.

    0xFF is a NaN in every float type and -1 in the integers; the others are finite, small ones
    first: a number that is added to a huge one is lost. Raises ValueError if fewer than two bytes
    qualify: an unwritten output could then look right.
    """
    usable = []
    for byte in (0xFF, 0x33, 0xA5, 0x7B, 0xDB, 0x5A):
        cell = torch.full((dtype.itemsize,), byte, dtype=torch.uint8).view(dtype)
        if not bool(accepts(cell.expand(expected.shape), expected, tolerance).any()):
            usable.append(byte)
        if len(usable) == 2:
            return usable[0], usable[1]
    raise ValueError("no byte pattern differs from the expected values everywhere")
