"""Proves properties of the oracle on every case of an assignment in one language.

    same seed         the same inputs and expected values, bit by bit
    other seed        other inputs and expected values, in at least one case
    knows its values  a word in a case's `values` changes its inputs
    no constant       every output has more than one value
    every input       another input array changes the expected values beyond the tolerance
    every scalar      the same for a scalar that is no array's extent (epsilon)
    inputs kept       neither `expected` nor `baseline` writes into its inputs
    baseline          agrees with `expected` within the tolerance

For the dependence on seed, inputs and scalars one case is enough: a row of zeros does
not depend on the weights. The other properties must hold in every case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from grader.assignment.cases import DEFAULT_VALUES
from grader.assignment.model import Assignment
from grader.commands.verify.mutants import mutant_rows
from grader.commands.verify.oracle_cases import OracleCase, OracleCases
from grader.commands.verify.row import Row, proof
from grader.errors import GraderError
from grader.judge.oracle import Oracle
from grader.vocabulary import Device, Language

_SHOWN = 3

Proof = Callable[[], tuple[str, str]]  # → the problem ("" if there is none), a note


def oracle_rows(
    assignment: Assignment, language: Language, device: Device, seed: int
) -> Iterator[Row]:
    """Yield a row for each property, then the rows of the mutants; an error is a problem."""
    subject = f"oracle, {language.phrase}"
    expected = "inputs and results as in the spec"
    cases = None
    try:
        cases = OracleCases(assignment, language, device, seed)
        problem = "" if cases else "there is no case for this device"
        note = f"{len(cases)} cases"
    except GraderError as error:
        problem, note = error.message, ""
    yield proof(
        assignment.name, subject, "gives all cases", expected=expected, problem=problem, note=note
    )
    if not cases:
        return
    for check, expected, prove in _Proofs(cases, seed).all():
        try:
            problem, note = prove()
        except GraderError as error:
            problem, note = error.message, ""
        yield proof(assignment.name, subject, check, expected=expected, problem=problem, note=note)
    yield from mutant_rows(cases)


class _Proofs:
    def __init__(self, cases: OracleCases, seed: int) -> None:
        self._cases = cases
        self._oracle = cases.oracle
        self._language = cases.language
        self._signature = cases.assignment.signature
        self._seed = seed

    def all(self) -> Iterator[tuple[str, str, Proof]]:
        """Yield name, expectation and proof."""
        yield "same seed", "the same numbers, bit by bit", self._deterministic
        yield "other seed", "other inputs and results", self._follows_the_seed
        if any(case.case.values != DEFAULT_VALUES for case in self._cases):
            yield "knows its values", "each word in `values` changes the inputs", self._knows_values
        yield "no constant", "more than one value in every output", self._varies
        extents = {
            name
            for array in self._signature.arrays
            for extent in array.shape or ()
            for name in extent.names
        }
        inputs = [array.name for array in self._signature.arrays if array.role.read]
        scalars = [scalar.name for scalar in self._signature.scalars if scalar.name not in extents]
        results = "other results, beyond the tolerance"
        for name in inputs:
            prove = partial(self._depends, name, self._other_array)
            yield f"depends on {name}", f"other values: {results}", prove
        for name in scalars:
            prove = partial(self._depends, name, self._other_scalar)
            yield f"depends on {name}", f"another value: {results}", prove
        yield "inputs kept", "expected and baseline do not change them", self._keeps_inputs
        yield "baseline", "right within the tolerance in every case", self._baseline_agrees

    def _deterministic(self) -> tuple[str, str]:
        # Neither a new oracle nor the state of torch's global generator may matter.
        fresh = Oracle(self._cases.assignment)
        wrong: list[str] = []
        for case in self._cases:
            torch.manual_seed(self._seed + len(wrong) + 1)
            again = fresh.data(case.case, self._language)
            for name in _changed(case.data.inputs, again.inputs):
                wrong.append(f"{case.case.name}: `{name}` differs")
            for name in _changed(case.data.expected, again.expected):
                wrong.append(f"{case.case.name}: the expected `{name}` differs")
        return _some(wrong), ""

    def _follows_the_seed(self) -> tuple[str, str]:
        fixed = [c for c in self._cases if not _changed(c.data.inputs, c.other.inputs)]
        same = [c.case.name for c in self._cases if not _changed(c.data.expected, c.other.expected)]
        if len(fixed) == len(self._cases):
            return "every case has the same inputs for all seeds", ""
        if len(same) == len(self._cases):
            return "every case has the same results for all seeds", ""
        return "", f"the same for every seed: {_some(same)}" if same else ""

    def _knows_values(self) -> tuple[str, str]:
        words = {case.case.values for case in self._cases} - {DEFAULT_VALUES}
        unknown = words - {case.case.values for case in self._cases if self._uses_values(case)}
        wrong = [f'"{word}" gives the same inputs as no word' for word in sorted(unknown)]
        return _some(wrong), _some(sorted(words))

    def _uses_values(self, case: OracleCase) -> bool:
        plain = replace(case.case, values=DEFAULT_VALUES)
        generator = torch.Generator().manual_seed(plain.seed)
        try:
            inputs = self._oracle.inputs(plain, self._language, generator)
        except GraderError:  # the oracle requires a word
            return True
        return bool(_changed(case.data.inputs, inputs))

    def _varies(self) -> tuple[str, str]:
        wrong = []
        for argument in self._signature.outputs:
            values = torch.cat([c.data.expected[argument.name].reshape(-1) for c in self._cases])
            first = values[:1]
            if bool(((values == first) | (values.isnan() & first.isnan())).all()):
                wrong.append(f"every element of `{argument.name}` is {first.item():g} in all cases")
        return _some(wrong), ""

    def _depends(self, name: str, changed: Callable[[str, OracleCase], Any]) -> tuple[str, str]:
        """Change one argument in every case: the expected values must change."""
        any_bit, refused = False, 0
        for case in self._cases:
            arguments = self._oracle.arguments(case.case, case.data.inputs)
            arguments[name] = changed(name, case)
            results = self._oracle.expected(case.case, arguments)
            any_bit = any_bit or bool(_changed(case.data.expected, results))
            refused += not all(
                output.compared(results[output.name].to(output.rounded.dtype)).accepted
                for output in self._cases.outputs(case)
            )
        if not any_bit:
            return f"another `{name}` changes no result in any of {len(self._cases)} cases", ""
        if not refused:
            return (
                f"another `{name}` changes results by less than the tolerance in all cases: "
                "a submission that ignores it would be accepted",
                "",
            )
        return "", f"shown by {refused} of {len(self._cases)} cases"

    def _other_array(self, name: str, case: OracleCase) -> torch.Tensor:
        other = case.other.inputs[name]
        if not torch.equal(other, case.data.inputs[name]):
            return other.clone()
        # The same for every seed: reverse it, which changes all but constants.
        return case.data.inputs[name].flatten().flip(0).view(other.shape).clone()

    def _other_scalar(self, name: str, case: OracleCase) -> int | float:
        value: int | float = self._oracle.arguments(case.case, {})[name]
        # A wrong constant, such as 1e-6 for 1e-5, is off by a factor of ten at least.
        return value + 1 if isinstance(value, int) else (10 * value if value else 1.0)

    def _keeps_inputs(self) -> tuple[str, str]:
        wrong = []
        for case in self._cases:
            for function, arguments in self._after_use(case):
                for name in _changed(case.data.inputs, arguments):
                    wrong.append(f"{case.case.name}: {function} changes `{name}`")
        return _some(wrong), ""

    def _after_use(self, case: OracleCase) -> Iterator[tuple[str, Mapping[str, torch.Tensor]]]:
        arguments = self._oracle.arguments(case.case, case.data.inputs)
        self._oracle.expected(case.case, arguments)
        yield "expected", arguments
        arguments = self._oracle.arguments(case.case, case.data.inputs)
        self._oracle.baseline(case.case, arguments, self._outputs(case))
        yield "baseline", arguments

    def _baseline_agrees(self) -> tuple[str, str]:
        wrong = []
        for case in self._cases:
            results = self._outputs(case)
            arguments = self._oracle.arguments(case.case, case.data.inputs)
            self._oracle.baseline(case.case, arguments, results)
            for output in self._cases.outputs(case):
                compared = output.compared(results[output.name])
                if not compared.accepted:
                    first = compared.mismatches()[0]
                    wrong.append(
                        f"{case.case.name}: {compared.mismatched} of {output.expected.numel()} "
                        f"elements of `{output.name}` are not right, the first "
                        f"{first.actual:.9g} for {first.expected:.9g} "
                        f"(allowed: {first.allowed:.3g})"
                    )
        return _some(wrong), ""

    def _outputs(self, case: OracleCase) -> dict[str, torch.Tensor]:
        """Return the arrays to write: filled with an unlikely value, or with their inputs."""
        outputs = {}
        for argument in self._signature.outputs:
            kind = self._cases.output_type(argument.name)
            if argument.role.read:
                outputs[argument.name] = case.data.inputs[argument.name].clone()
            else:
                shape = case.data.expected[argument.name].shape
                unwritten = float("nan") if kind.is_floating_point else -1
                outputs[argument.name] = torch.full(shape, unwritten, dtype=kind)
        return outputs


def _changed(before: Mapping[str, torch.Tensor], after: Mapping[str, Any]) -> list[str]:
    """Return the names of the arrays that differ in any bit."""
    return [name for name, value in before.items() if not _same(value, after[name])]


def _same(array: torch.Tensor, other: torch.Tensor) -> bool:
    if array.shape != other.shape or array.dtype != other.dtype:
        return False
    return torch.equal(_bytes(array), _bytes(other))


def _bytes(array: torch.Tensor) -> torch.Tensor:
    return array.contiguous().view(-1).view(torch.uint8)


def _some(words: Sequence[str]) -> str:
    """Return the first few words and the number of the others; "" without words."""
    more = f"; and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return "; ".join(words[:_SHOWN]) + more
