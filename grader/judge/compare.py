"""Compare an output with the expected values, element by element.

An element is accepted iff one of these holds:

    both are NaN
    both are the same infinity
    |actual - expected| <= atol + rtol * |expected|, and expected is finite

Of integers |actual - expected| <= atol, without the relative part: `atol = 1` lets a pixel be off
by one, and no tolerance that is meant for floats lets an index be wrong.

Complex numbers are pairs of real ones here, in one more extent of two: each part is accepted within
atol + rtol * |expected|, the modulus of both.

Every clause states what is accepted. A NaN, for which no comparison holds, therefore cannot pass,
as it does in `if difference > bound: reject`. An expected value that overflows the output's type is
expected as that type's infinity. With `exact`, the bits must be equal.

An output is right if no more elements than `max_wrong_fraction` allows are wrong. Where the oracle
has an `accept`, its word on all outputs together counts instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from grader.assignment.tolerance import Tolerance
from grader.report.evidence import Mismatch

SHOWN = 5
_SOME = 256  # elements that are compared before all others
_BLOCK = 2**15  # elements that are compared at once: what is computed of them stays in the cache

# The integer type of each element size, to compare elements by their bits.
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One output, its expected values, and which elements are wrong, all in the shape of `parts`.

    `actual` and `expected` are in types with arithmetic, `given` is the oracle's expected values.
    `element_bytes` is the size of an element of the output, for complex numbers of a part.
    `wrong_allowed` of the elements may be wrong.
    `refusal` is what the oracle's `accept` says against the outputs, "" if it accepts them; None if
    the elements decide. With `accept` no element is marked as wrong.
    """

    output: str
    actual: torch.Tensor
    expected: torch.Tensor
    given: torch.Tensor
    tolerance: Tolerance
    wrong: torch.Tensor
    element_bytes: int
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
        return int(np.count_nonzero(self.wrong.numpy()))  # torch would widen them

    @property
    def max_error(self) -> float | None:
        """The largest |actual - expected|; None if one of them is not finite."""
        largest = 0.0
        for actual, expected in _blocks(self.actual, self.expected):
            differences = (actual.double() - expected.double()).abs_()
            if not bool(torch.isfinite(differences).all()):
                return None
            largest = max(largest, float(differences.max()))
        return largest

    @property
    def allowed(self) -> torch.Tensor:
        """The largest accepted difference, element by element; see the function."""
        return allowed(self.given, self.tolerance)

    def mismatches(self) -> tuple[Mismatch, ...]:
        """Return the first few wrong elements."""
        return tuple(
            Mismatch(
                output=self.output,
                index=index,
                expected=float(self.expected[index]),
                actual=float(self.actual[index]),
                allowed=float(allowed(self.given[index[: self.given.dim()]], self.tolerance).max()),
            )
            for index in self._first_wrong()
        )

    def _first_wrong(self) -> Iterator[tuple[int, ...]]:
        """Yield the indices of the first few wrong elements."""
        wrong = self.wrong.numpy().reshape(-1)
        start = 0
        for _ in range(min(SHOWN, self.mismatched)):
            start += int(wrong[start:].argmax())  # the first one; `nonzero` would list them all
            yield tuple(int(part) for part in np.unravel_index(start, self.wrong.shape))
            start += 1


def parts(values: torch.Tensor) -> torch.Tensor:
    """Return a view of complex numbers as pairs of real ones, of bools as bytes; or the values."""
    if values.dtype is torch.bool:  # torch would make 1 of any byte that is not 0
        return values.view(torch.uint8)
    return torch.view_as_real(values) if values.is_complex() else values


def raw_bytes(values: torch.Tensor) -> torch.Tensor:
    """Return the bytes of all elements, in one dimension."""
    return values.contiguous().view(-1).view(torch.uint8)


def computable(values: torch.Tensor) -> torch.Tensor:
    """Return `parts` in a type that torch computes in: float8 and unsigned integers it only holds.

    The numbers are the same, but for those of 64 bits beyond int64, which wrap around.
    """
    values = parts(values)
    if values.dtype.is_floating_point:
        return values.float() if values.element_size() == 1 else values
    return values if torch.iinfo(values.dtype).min < 0 else values.to(torch.int64)


def has_arithmetic(values: torch.Tensor) -> bool:
    """True if torch computes in the type of an input, so that hypotheses can change it."""
    return values.dtype is torch.uint8 or computable(values).dtype == values.dtype


def widened(values: torch.Tensor) -> torch.Tensor:
    """Return an output's values in the type of expected ones."""
    if values.is_complex():
        return values.to(torch.complex128)
    return values.double() if values.is_floating_point() else parts(values).to(torch.int64)


def accepts(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Return the mask of accepted elements, in the shape of `parts`.

    `actual` has the output's element type; `expected` is float64, complex128, or int64 for
    integers; both have the same shape.
    """
    if expected.is_cuda or expected.numel() <= _BLOCK:
        return _accepts(actual, expected, tolerance)
    accepted = [_accepts(*block, tolerance) for block in _blocks(actual, expected)]
    return torch.cat(accepted).view(parts(expected).shape)


def _blocks(
    actual: torch.Tensor, expected: torch.Tensor
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield the elements of both, if there are any, in blocks of one dimension."""
    if actual.numel():
        blocks = (torch.split(values.reshape(-1), _BLOCK) for values in (actual, expected))
        yield from zip(*blocks, strict=True)


def _accepts(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    rounded = parts(expected.to(actual.dtype))
    actual = parts(actual)
    if not actual.dtype.is_floating_point and not tolerance.exact and tolerance.atol >= 1:
        apart = (actual.to(torch.int64) - rounded.to(torch.int64)).abs()
        # A difference that overflows may look small.
        far = (actual.double() - rounded.double()).abs() > 2.0**62
        return (apart <= tolerance.atol) & ~far
    if tolerance.exact or not actual.dtype.is_floating_point:
        bits = BITS[actual.element_size()]
        return actual.contiguous().view(bits) == rounded.contiguous().view(bits)
    bound, expected = allowed(expected, tolerance), parts(expected)
    close = (actual.double() - expected).abs_() <= bound
    if _all_within(expected, torch.finfo(actual.dtype).max):  # as nearly always
        return close
    infinite = torch.isinf(rounded.double())
    same_nan = torch.isnan(actual.double()) & torch.isnan(expected)
    same_infinity = infinite & (actual == rounded)
    return same_nan | same_infinity | (close & ~infinite)


def _all_within(values: torch.Tensor, largest: float) -> bool:
    """True if no value is a NaN or larger in magnitude."""
    if values.numel() == 0:
        return True
    low, high = torch.aminmax(values)
    return bool(-largest <= low) and bool(high <= largest)


def accepts_all(actual: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> bool:
    """True if `accepts` holds for every element; some decide about most guesses that are wrong."""
    side = _SOME ** (1 / max(1, actual.dim()))
    some = tuple(slice(None, None, int(extent / side) + 1) for extent in actual.shape)
    few = actual[some], expected[some]
    if not bool(accepts(*few, tolerance).all()):
        return False
    return bool(accepts(actual, expected, tolerance).all())


def allowed(expected: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Return the largest accepted difference, element by element of `parts`, in float64."""
    shape = parts(expected).shape
    if tolerance.exact:
        return torch.zeros(shape, dtype=torch.float64)
    if expected.is_complex():
        return (tolerance.atol + tolerance.rtol * expected.abs()).unsqueeze(-1).expand(shape)
    if not expected.dtype.is_floating_point:
        whole = tolerance.atol if tolerance.atol >= 1 else 0.0
        return torch.full(shape, whole, dtype=torch.float64)
    return expected.abs().mul_(tolerance.rtol).add_(tolerance.atol)


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
        else torch.zeros_like(parts(expected), dtype=torch.bool)
    )
    native, shown = parts(actual), computable(actual)
    # Whole numbers as the output's type holds them: -1 of an unsigned type is its largest.
    wraps = not expected.is_complex() and not expected.is_floating_point()
    return Comparison(
        output=output,
        actual=shown,
        expected=computable(expected.to(actual.dtype)).to(torch.int64)
        if wraps
        else parts(expected),
        given=expected,
        tolerance=tolerance,
        wrong=wrong,
        element_bytes=native.element_size(),
        wrong_allowed=tolerance.wrong_allowed(wrong.numel()),
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
