"""Mutants of right results: the comparison must refuse every wrong result.

For every case and every output, with the other outputs right:

    the right answer          accepted
    zeros, NaN, ∞, −∞         refused
    all bits set              what an output holds that is never written: refused
    stale                     the answer to the same case with other data: refused
    one step past             one element at the first value beyond the tolerance, above
                              or below: refused, and only that element
    just inside               one element at the last value within the tolerance: accepted
    wrong type, shape, none   from the oracle: a grader error, never the student's fault

A mutant may be the right answer to a case: zeros for a row of zeros. The note names
such cases. A mutant that is accepted without being right, or that every case accepts,
is a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from grader.commands.verify.oracle_cases import OracleCases, Output, Proof
from grader.errors import GraderError
from grader.judge.compare import BITS, allowed, computable, parts

_MOST_STEPS = 64  # one or two are enough from the rounded bound to the bound itself

_WHOLE: dict[str, Callable[[Output], torch.Tensor | None]] = {
    "zeros": lambda output: torch.zeros_like(output.rounded),
    "NaN": lambda output: _filled(output.rounded, math.nan),
    "infinity": lambda output: _filled(output.rounded, math.inf),
    "minus infinity": lambda output: _filled(output.rounded, -math.inf),
    "all bits set": lambda output: torch.full_like(
        output.rounded.view(BITS[output.rounded.element_size()]), -1
    ).view(output.rounded.dtype),
    "stale": lambda output: output.case.other.expected[output.name].to(output.rounded.dtype),
}


def _right(cases: OracleCases) -> tuple[str, str]:
    """Return problem and note: rounded to the output's type, expected values are accepted."""
    for output in cases.all_outputs():
        compared = output.compared(output.rounded)
        if compared.refusal:
            return f"{output.case.case.name}: `accept` refuses it: {compared.refusal}", ""
        if not compared.accepted:
            first = compared.mismatches()[0]
            return (
                f"{output.case.case.name}: refused: the closest value to {first.expected:.9g} "
                f"that `{output.name}` can hold is {first.actual:.9g} "
                f"(allowed: {first.allowed:.3g})",
                "",
            )
    return "", ""


def _whole(what: str, cases: OracleCases) -> tuple[str, str]:
    """Return problem and note: a wrong output is refused unless it is right for the case."""
    right_in: list[str] = []
    tried = 0
    for output in cases.all_outputs():
        mutant = _WHOLE[what](output)
        if mutant is None:
            continue
        tried += 1
        if not output.compared(mutant).accepted:
            continue
        if not _equal(mutant, output.rounded):
            if output.case.data.refusal:
                return f"{output.case.case.name}: `accept` accepts it for `{output.name}`", ""
            apart = computable(mutant).double() - parts(output.expected).double()
            largest = float(apart.abs().max())
            return (
                f"{output.case.case.name}: accepted for `{output.name}` with errors of up "
                f"to {largest:.3g}: the tolerance is too wide for this case",
                "",
            )
        right_in.append(output.case.case.name)
    if not tried:
        return "", "not for integers"
    if len(right_in) == tried:
        return f"every case accepts it: it is the right answer to all {tried}", ""
    return "", f"the right answer to {', '.join(dict.fromkeys(right_in))}" if right_in else ""


def _at_the_bound(cases: OracleCases, *, past: bool) -> tuple[str, str]:
    """Return problem and note: an element is refused beyond the bound, accepted within it."""
    if cases.oracle.accepts:
        return "", "`accept` decides"
    tried = 0
    for output in cases.all_outputs():
        expected = parts(output.expected).reshape(-1)
        for position in _positions(expected):
            for up in (True, False):
                value = _next_to_bound(output, position, up=up, past=past)
                if value is None:
                    continue
                tried += 1
                actual = output.rounded.clone()
                parts(actual).view(-1)[position] = value
                refused = output.compared(actual).wrong.view(-1).nonzero().flatten().tolist()
                if refused != ([position] if past else []):
                    wanted = float(expected[position])
                    return (
                        f"{output.case.case.name}: {'accepted' if past else 'refused'}: "
                        f"element {position} of `{output.name}` is {float(value):.9g}, "
                        f"expected {wanted:.9g}",
                        "",
                    )
    return ("" if tried else "there is no finite element to try it with"), f"{tried} trials"


def _broken(cases: OracleCases) -> tuple[str, str]:
    """Return problem and note: an invalid result of the oracle is a grader error in every case."""
    for case in cases:
        right = dict(case.data.expected)
        name, values = next(iter(right.items()))
        whole = not (values.dtype.is_floating_point or values.dtype.is_complex)
        other = torch.float16 if whole else torch.float32
        broken: dict[str, dict[str, Any]] = {
            "of another type": {**right, name: values.to(other)},
            "of another shape": {**right, name: torch.cat([values.view(-1), values.view(-1)])},
            "as a list": {**right, name: [0.0]},
            "not at all": {key: value for key, value in right.items() if key != name},
        }
        for what, results in broken.items():
            try:
                cases.oracle.with_expected(partial(_constant, results)).data(
                    case.case, cases.language
                )
            except GraderError:
                continue
            return f"{case.case.name}: `{name}` {what} is accepted", ""
    return "", "type, shape, list, nothing"


def _constant(results: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
    return results


def _filled(rounded: torch.Tensor, value: float) -> torch.Tensor | None:
    return torch.full_like(rounded, value) if parts(rounded).dtype.is_floating_point else None


def _equal(array: torch.Tensor, other: torch.Tensor) -> bool:
    """True if both hold the same numbers; -0 equals 0, and NaN equals NaN."""
    return bool(((array == other) | (array.isnan() & other.isnan())).all())


def _positions(expected: torch.Tensor) -> list[int]:
    """Return the positions to try: both ends, middle and largest, if they are finite."""
    flat = expected.reshape(-1).double()
    finite = torch.isfinite(flat)
    largest = int(torch.where(finite, flat.abs(), -1.0).argmax())
    wanted = (0, len(flat) // 2, len(flat) - 1, largest)
    return [position for position in dict.fromkeys(wanted) if bool(finite[position])]


def _next_to_bound(output: Output, position: int, *, up: bool, past: bool) -> torch.Tensor | None:
    """Return the first value beyond the tolerance, or the last one within it; None if none."""
    wanted = parts(output.expected).reshape(-1)[position]
    rounded = parts(output.rounded).reshape(-1)[position]
    bound = float(allowed(output.expected, output.tolerance).reshape(-1)[position])
    if output.tolerance.exact or not (rounded.dtype.is_floating_point or bound):
        return _neighbour(rounded, up=up) if past else rounded
    if not rounded.dtype.is_floating_point:
        steps = math.floor(bound) + past
        whole = int(rounded.numpy()) + (steps if up else -steps)
        return _whole_number(whole, rounded.dtype)
    value = (wanted + (bound if up else -bound)).to(rounded.dtype)

    def within(candidate: torch.Tensor) -> bool:
        return bool((candidate.double() - wanted).abs() <= bound)

    for _ in range(_MOST_STEPS):
        if not bool(torch.isfinite(value.double())):
            return None  # the bound is outside the type's range
        if within(value) != past:
            outward = _neighbour(value, up=up)
            if past or outward is None or not within(outward):
                return value
            value = outward
        else:
            inward = _neighbour(value, up=up if past else not up)
            assert inward is not None  # of a float
            value = inward
    return None


def _neighbour(value: torch.Tensor, *, up: bool) -> torch.Tensor | None:
    """Return the next value of the same type, above or below; None at the end of an integer."""
    if value.dtype.is_floating_point and value.element_size() > 1:
        return torch.nextafter(value, value.new_tensor(math.inf if up else -math.inf))
    if not value.dtype.is_floating_point:
        return _whole_number(int(value.numpy()) + (1 if up else -1), value.dtype)
    bits = int(value.view(torch.uint8))  # of float8: sign and magnitude
    magnitude, negative = bits & 0x7F, bits >= 0x80
    if magnitude == 0:
        return torch.tensor(0x01 if up else 0x81, dtype=torch.uint8).view(value.dtype)
    grown = magnitude + (1 if up != negative else -1)
    return torch.tensor(grown | 0x80 * negative, dtype=torch.uint8).view(value.dtype)


def _whole_number(value: int, kind: torch.dtype) -> torch.Tensor | None:
    """Return an integer as a tensor; None if the type does not hold it."""
    ends = torch.iinfo(kind)
    if not ends.min <= value <= ends.max:
        return None
    # Through int64, as torch makes no uint64 of a number beyond it.
    return torch.tensor(value if value < 2**63 else value - 2**64).to(kind)


def mutants(cases: OracleCases) -> Iterator[tuple[str, str, Proof]]:
    """Yield check, expectation and proof of each kind of mutant."""
    yield "the right answer", "accepted in every case", _right
    for what in _WHOLE:
        # Without arrays to read, the answer for another seed is the same.
        if what != "stale" or cases.reads_arrays:
            yield f"mutant: {what}", "refused in every case", partial(_whole, what)
    yield "one step past", "refused, and only that element", partial(_at_the_bound, past=True)
    yield "just inside", "accepted", partial(_at_the_bound, past=False)
    yield "broken results", "a grader error", _broken
