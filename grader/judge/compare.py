"""Is an output right? Acceptance, element by element, and nothing else is accepted.

An element is accepted iff one of these holds:

    both are NaN                              at that very place
    both are the same infinity
    |actual - expected| <= atol + rtol * |expected|, expected being finite

Every clause is a positive statement, so that a not-a-number, for which no
comparison holds, cannot slip through as it does in `if difference > bound`.
Expected values that overflow the output's type are expected as its infinity.
With `exact`, the bits decide.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from grader.assignment.model import Tolerance
from grader.report.evidence import Mismatch

SHOWN = 5

# Integers of an element's size, to compare or step by its bits.
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One output against what was expected.

    `wrong` marks the elements that are not accepted, in the output's shape.
    """

    output: str
    actual: torch.Tensor
    expected: torch.Tensor
    allowed: torch.Tensor
    wrong: torch.Tensor

    @property
    def accepted(self) -> bool:
        """True if every element is."""
        return not bool(self.wrong.any())

    @property
    def mismatched(self) -> int:
        """How many elements are not accepted."""
        return int(self.wrong.sum())

    @property
    def max_error(self) -> float | None:
        """The largest |actual - expected|; None where one of them is not finite."""
        difference = (self.actual.double() - self.expected.double()).abs()
        if not bool(torch.isfinite(difference).all()):
            return None
        return float(difference.max()) if difference.numel() else 0.0

    def mismatches(self) -> tuple[Mismatch, ...]:
        """Return the first few elements that are not accepted."""
        found = []
        for index in self.wrong.nonzero()[:SHOWN].tolist():
            at = tuple(index)
            found.append(
                Mismatch(
                    output=self.output,
                    index=at,
                    expected=float(self.expected[at]),
                    actual=float(self.actual[at]),
                    allowed=float(self.allowed[at]),
                )
            )
        return tuple(found)


def accepts(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Return the mask of accepted elements.

    `actual` has the output's own type; `expected` is float64, or int64 for
    integers; both have the same shape.
    """
    wanted = expected.to(actual.dtype)
    if tolerance.exact or not actual.dtype.is_floating_point:
        bits = BITS[actual.element_size()]
        return actual.contiguous().view(bits) == wanted.contiguous().view(bits)
    got = actual.double()
    same_nan = torch.isnan(got) & torch.isnan(expected)
    unbounded = torch.isinf(wanted)
    same_infinity = unbounded & (actual == wanted)
    close = (got - expected).abs() <= allowed(expected, tolerance)
    return same_nan | same_infinity | (close & ~unbounded)


def allowed(expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Return the largest accepted difference, element by element, in float64."""
    if tolerance.exact or not expected.dtype.is_floating_point:
        return torch.zeros(expected.shape, dtype=torch.float64)
    return tolerance.atol + tolerance.rtol * expected.abs()


def compare(
    output: str, actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance
) -> Comparison:
    """Compare one output's private snapshot with the oracle's values."""
    return Comparison(
        output=output,
        actual=actual,
        expected=expected,
        allowed=allowed(expected, tolerance),
        wrong=~accepts(actual, expected, tolerance),
    )


def poison_bytes(
    expected: torch.Tensor, dtype: torch.dtype, tolerance: Tolerance
) -> tuple[int, int]:
    """Return two bytes to fill an output with, neither acceptable in any element.

    All bits set is a NaN in every float type and -1 in the integers; the
    others are finite. An output where too many of them would be right cannot
    be told from an unwritten one: the case is unfit (ValueError).
    """
    fit = []
    for byte in (0xFF, 0x7B, 0xDB, 0x33, 0xA5, 0x5A):
        size = torch.empty(0, dtype=dtype).element_size()
        cell = torch.full((size,), byte, dtype=torch.uint8).view(dtype)
        if not bool(accepts(cell.expand(expected.shape), expected, tolerance).any()):
            fit.append(byte)
        if len(fit) == 2:
            return fit[0], fit[1]
    raise ValueError("no byte pattern differs from the expected values everywhere")
