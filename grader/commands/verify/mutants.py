"""Junk before the real comparison: whatever is not the answer has to be refused.

For every case and every output, the others being right:

    the right answer          accepted, or nothing else here means anything
    zeros, NaN, ∞, −∞         refused
    stale                     the answer to the same case with other data: refused
    one step past             one element at the first value beyond the tolerance, above
                              or below: refused, and that element alone
    just inside               at the last value within it: accepted
    wrong type, shape, none   from the oracle: an error of ours, never a student's

Zeros and the like may be the right answer to one case, as to a row of zeros:
that is told. What is accepted and is not right, and what every case accepts,
is a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from grader.assignment.model import Assignment, Case, Tolerance
from grader.commands.verify.oracle_proofs import Prepared, output_type, prepare
from grader.commands.verify.row import Row, differs_if
from grader.errors import GraderError
from grader.judge.compare import BITS, allowed, compare
from grader.judge.oracle import Oracle
from grader.vocabulary import Device, Language

_MOST_STEPS = 64  # from the rounded bound to the bound itself it is one or two

_Make = Callable[[torch.Tensor, torch.Tensor, torch.dtype], "torch.Tensor | None"]
_WHOLE: dict[str, _Make] = {
    "zeros": lambda right, _, kind: torch.zeros_like(right),
    "NaN": lambda right, _, kind: _filled(right, math.nan),
    "infinity": lambda right, _, kind: _filled(right, math.inf),
    "minus infinity": lambda right, _, kind: _filled(right, -math.inf),
    "stale": lambda _, stale, kind: stale.to(kind),
}


def junk_rows(
    assignment: Assignment, language: Language, device: Device, seed: int
) -> Iterator[Row]:
    """Yield a row for each kind of junk; none if the oracle gives no cases."""
    try:
        oracle = Oracle(assignment)
        prepared = prepare(oracle, assignment, language, device, seed)
    except GraderError:
        return  # told by the proofs of the oracle
    if not prepared:
        return
    trial = _Trial(assignment, language, prepared)
    for check, expected, (problem, note) in (
        ("the right answer", "accepted in every case", trial.right()),
        *((f"junk: {what}", "refused in every case", trial.whole(what)) for what in _WHOLE),
        ("one step past", "refused, and that element alone", trial.at_the_bound(past=True)),
        ("just inside", "accepted", trial.at_the_bound(past=False)),
        ("broken results", "an error of the oracle, not of a student", trial.broken(oracle)),
    ):
        yield Row(
            assignment=assignment.name,
            subject=f"comparison, {language.phrase}",
            check=check,
            state=differs_if(bool(problem)),
            expected=expected,
            actual=problem or "as expected",
            note=note,
        )


class _Trial:
    def __init__(
        self, assignment: Assignment, language: Language, prepared: list[Prepared]
    ) -> None:
        self._assignment = assignment
        self._language = language
        self._prepared = prepared

    def _outputs(self) -> Iterator[tuple[Prepared, str, torch.Tensor, torch.Tensor, Tolerance]]:
        """Yield each output of each case: name, what is expected, that rounded to its type."""
        for prepared in self._prepared:
            tolerance = self._assignment.tolerance(prepared.case, self._language)
            for name, expected in prepared.data.expected.items():
                right = expected.to(output_type(self._assignment, name, self._language))
                yield prepared, name, expected, right, tolerance

    def right(self) -> tuple[str, str]:
        """The expected values, rounded to the output's type, have to be accepted."""
        for prepared, name, expected, right, tolerance in self._outputs():
            compared = compare(name, right, expected, tolerance)
            if not compared.accepted:
                first = compared.mismatches()[0]
                return (
                    f"{prepared.case.name}: refused: `{name}` cannot hold {first.expected:.9g} "
                    f"any closer than {first.actual:.9g} (allowed: {first.allowed:.3g})",
                    "",
                )
        return "", ""

    def whole(self, what: str) -> tuple[str, str]:
        """An output full of junk has to be refused where it is not the answer."""
        legitimate, seen = [], 0
        for prepared, name, expected, right, tolerance in self._outputs():
            junk = _WHOLE[what](right, prepared.other.expected[name], right.dtype)
            if junk is None:
                continue
            seen += 1
            if not compare(name, junk, expected, tolerance).accepted:
                continue
            if not _equal(junk, right):
                largest = float((junk.double() - expected.double()).abs().max())
                return (
                    f"{prepared.case.name}: accepted for `{name}`, though it is off by up to "
                    f"{largest:.3g}: the tolerance is too wide for this case",
                    "",
                )
            legitimate.append(prepared.case.name)
        if seen and len(legitimate) == seen:
            return f"every case accepts it: it is the right answer to all {seen}", ""
        if not seen:
            return "", "not for whole numbers"
        return "", f"the right answer to {', '.join(dict.fromkeys(legitimate))}" * bool(legitimate)

    def at_the_bound(self, *, past: bool) -> tuple[str, str]:
        """One element on either side of the bound: refused beyond it, accepted within."""
        tried = 0
        for prepared, name, expected, right, tolerance in self._outputs():
            for position in _positions(expected):
                for up in (True, False):
                    value = _beside_bound(expected, right, tolerance, position, up=up, past=past)
                    if value is None:
                        continue
                    tried += 1
                    actual = right.clone()
                    actual.view(-1)[position] = value
                    wrong = compare(name, actual, expected, tolerance).wrong.view(-1)
                    if wrong.nonzero().flatten().tolist() != ([position] if past else []):
                        verb = "accepted" if past else "refused"
                        wanted = float(expected.view(-1)[position])
                        return (
                            f"{prepared.case.name}: {verb}: element {position} of `{name}` is "
                            f"{float(value):.9g}, expected {wanted:.9g}",
                            "",
                        )
        return ("" if tried else "there is no finite element to try it with"), f"{tried} trials"

    def broken(self, oracle: Oracle) -> tuple[str, str]:
        """What an oracle must not return has to be noticed in every case."""
        for prepared in self._prepared:
            right = dict(prepared.data.expected)
            name, values = next(iter(right.items()))
            other = torch.float32 if values.dtype.is_floating_point else torch.float16
            broken: dict[str, Any] = {
                "of another type": {**right, name: values.to(other)},
                "of another shape": {**right, name: torch.cat([values.view(-1), values.view(-1)])},
                "as a list": {**right, name: [0.0]},
                "not at all": {key: value for key, value in right.items() if key != name},
            }
            for what, results in broken.items():
                if _goes_through(oracle, prepared.case, self._language, results):
                    return f"{prepared.case.name}: `{name}` {what} is taken", ""
        return "", "type, shape, list, nothing"


def _goes_through(oracle: Oracle, case: Case, language: Language, results: dict[str, Any]) -> bool:
    try:
        oracle.with_expected(lambda _: results).data(case, language)
    except GraderError:
        return False
    return True


def _filled(right: torch.Tensor, value: float) -> torch.Tensor | None:
    return torch.full_like(right, value) if right.dtype.is_floating_point else None


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """True if both hold the same numbers; -0 is 0, and NaN is NaN."""
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


def _positions(expected: torch.Tensor) -> list[int]:
    """Return where to try: the ends, the middle, the largest; of finite elements only."""
    flat = expected.reshape(-1).double()
    finite = torch.isfinite(flat)
    largest = int(torch.where(finite, flat.abs(), -1.0).argmax())
    wanted = (0, len(flat) // 2, len(flat) - 1, largest)
    return [position for position in dict.fromkeys(wanted) if bool(finite[position])]


def _beside_bound(
    expected: torch.Tensor,
    right: torch.Tensor,
    tolerance: Tolerance,
    position: int,
    *,
    up: bool,
    past: bool,
) -> torch.Tensor | None:
    """Return the first value beyond the tolerance, or the last within it; None if there is none."""
    wanted = expected.view(-1)[position]
    exact = tolerance.exact or not right.dtype.is_floating_point
    if exact:
        rounded = right.view(-1)[position]
        return _neighbour(rounded, up=up) if past else rounded
    bound = float(allowed(expected.view(-1)[position : position + 1], tolerance))
    value = (wanted + (bound if up else -bound)).to(right.dtype)

    def within(candidate: torch.Tensor) -> bool:
        return bool((candidate.double() - wanted).abs() <= bound)

    for _ in range(_MOST_STEPS):
        if not bool(torch.isfinite(value)):
            return None  # the bound lies beyond what the type can hold
        if within(value) != past:
            outward = _neighbour(value, up=up)
            if past or not within(outward):
                return value
            value = outward
        else:
            value = _neighbour(value, up=up if past else not up)
    return None


def _neighbour(value: torch.Tensor, *, up: bool) -> torch.Tensor:
    """Return the next value of the same type, above or below."""
    if not value.dtype.is_floating_point:
        return value + (1 if up else -1)
    bits = value.clone().view(BITS[value.element_size()])
    if float(value) == 0.0:
        smallest = torch.ones_like(bits).view(value.dtype)
        return smallest if up else -smallest
    return (bits + (1 if (float(value) > 0) == up else -1)).view(value.dtype)
