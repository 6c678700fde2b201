"""Proves properties of the oracle on every case of an assignment in one language.

    prints            nothing (a warning)
    same seed         the same inputs and expected values, bit by bit
    other seed        other inputs and expected values, in at least one case, if arrays are read
    knows its values  a word in a case's `values` changes its inputs
    no constant       every output has more than one value
    every input       another input array changes the expected values beyond the tolerance
    every scalar      the same for a scalar that is no array's extent (epsilon)
    inputs kept       neither `expected` nor `baseline` writes into its inputs
    baseline          agrees with `expected` within the tolerance
    mistakes          each that the oracle knows is wrong in at least one case

For the dependence on seed, inputs and scalars, and for a mistake, one case is enough: a row of
zeros does not depend on the weights. The other properties must hold in every case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from grader.assignment.cases import DEFAULT_VALUES
from grader.assignment.model import Assignment
from grader.commands.verify.mutants import mutants
from grader.commands.verify.oracle_cases import OracleCase, OracleCases, Proof
from grader.commands.verify.row import Row, State, proof
from grader.errors import GraderError
from grader.judge.compare import raw_bytes
from grader.judge.oracle import Oracle
from grader.vocabulary import Device, Language

_SHOWN = 3


def oracle_rows(
    assignment: Assignment, language: Language, device: Device, seed: int
) -> Iterator[Row]:
    """Yield a row for each property, then the rows of the mutants; an error is a problem."""
    of = f" of {assignment.signature.entry}" if assignment.oracle_suffix else ""
    subject = f"oracle{of}, {language.phrase}"
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
    if cases.oracle.printed:
        yield Row(
            assignment=assignment.name,
            subject=subject,
            check="prints",
            state=State.WARNING,
            expected="nothing, as students may read the output of a grading",
            actual="oracle.py prints, which is shown here only",
            note="; ".join(cases.oracle.printed),
        )
    proofs = [
        *((subject, *one) for one in _proofs(cases)),
        *((f"comparison{of}, {language.phrase}", *one, "") for one in mutants(cases)),
    ]
    for subject, check, expected, prove, function in proofs:
        try:
            problem, note = prove(cases)
            if problem and function:
                note = note or cases.oracle.place(function)
        except GraderError as error:
            problem, note = error.message, ""
        yield proof(assignment.name, subject, check, expected=expected, problem=problem, note=note)


def _proofs(cases: OracleCases) -> Iterator[tuple[str, str, Proof, str]]:
    """Yield name, expectation, proof, and the oracle's function to look at if it fails."""
    yield "same seed", "the same numbers, bit by bit", _deterministic, "inputs"
    if cases.reads_arrays:
        yield "other seed", "other inputs and results", _follows_the_seed, "inputs"
    if any(case.case.values != DEFAULT_VALUES for case in cases):
        words = "each word in `values` changes the inputs"
        yield "knows its values", words, _knows_values, "inputs"
    yield "no constant", "more than one value in every output", _varies, "expected"
    signature = cases.assignment.signature
    scalars = [scalar.name for scalar in signature.scalars if scalar.name not in signature.extents]
    for names, what in (
        ([array.name for array in signature.arrays if array.role.read], "other values"),
        (scalars, "another value"),
    ):
        for name in names:
            expected = f"{what}: other results, beyond the tolerance"
            yield f"depends on {name}", expected, partial(_depends, name), "expected"
    yield "inputs kept", "expected and baseline do not change them", _keeps_inputs, ""
    yield "baseline", "right within the tolerance in every case", _baseline_agrees, "baseline"
    if cases.oracle.knows_mistakes:
        yield "mistakes", "each is wrong in some case", _mistakes_are_wrong, "mistakes"


def _deterministic(cases: OracleCases) -> tuple[str, str]:
    # Neither a new oracle nor the state of torch's global generator may matter.
    fresh = Oracle(cases.assignment, for_staff=True)
    wrong: list[str] = []
    function = "expected"
    for case in cases:
        torch.manual_seed(cases.seed + len(wrong) + 1)
        again = fresh.data(case.case, cases.language)
        for name in _changed(case.data.inputs, again.inputs):
            wrong.append(f"{case.case.name}: `{name}` differs: use `generator` for all numbers")
            function = "inputs"
        for name in _changed(case.data.expected, again.expected):
            wrong.append(f"{case.case.name}: the expected `{name}` differs")
    return _some(wrong), cases.oracle.place(function) if wrong else ""


def _follows_the_seed(cases: OracleCases) -> tuple[str, str]:
    fixed = [c for c in cases if not _changed(c.data.inputs, c.other.inputs)]
    same = [c.case.name for c in cases if not _changed(c.data.expected, c.other.expected)]
    if len(fixed) == len(cases):
        return "every case has the same inputs for all seeds", ""
    if len(same) == len(cases):
        return "every case has the same results for all seeds", ""
    return "", f"the same for every seed: {_some(same)}" if same else ""


def _knows_values(cases: OracleCases) -> tuple[str, str]:
    words = {case.case.values for case in cases} - {DEFAULT_VALUES}
    unknown = words - {case.case.values for case in cases if _uses_values(cases, case)}
    wrong = [f'"{word}" gives the same inputs as no word' for word in sorted(unknown)]
    return _some(wrong), _some(sorted(words))


def _uses_values(cases: OracleCases, case: OracleCase) -> bool:
    plain = replace(case.case, values=DEFAULT_VALUES)
    generator = torch.Generator().manual_seed(plain.seed)
    try:
        inputs = cases.oracle.inputs(plain, cases.language, generator)
    except GraderError:  # the oracle requires a word
        return True
    return bool(_changed(case.data.inputs, inputs))


def _varies(cases: OracleCases) -> tuple[str, str]:
    wrong = []
    for argument in cases.assignment.signature.outputs:
        values = torch.cat([c.data.expected[argument.name].reshape(-1) for c in cases])
        first = values[:1]
        if bool(((values == first) | (values.isnan() & first.isnan())).all()):
            shown = first.item() if first.is_complex() else f"{first.item():g}"
            wrong.append(f"every element of `{argument.name}` is {shown} in all cases")
        elif not bool(values.isfinite().any()):
            wrong.append(f"no element of `{argument.name}` is a finite number in any case")
    return _some(wrong), ""


def _mistakes_are_wrong(cases: OracleCases) -> tuple[str, str]:
    right: dict[str, bool] = {}
    for case in cases:
        known = cases.oracle.mistakes(case.case, case.data.inputs)
        for sentence, results in known.items():
            agrees = all(
                output.compared(results[output.name].to(output.rounded.dtype)).accepted
                for output in cases.outputs(case)
            )
            right[sentence] = right.get(sentence, True) and agrees
    wrong = [f"{sentence}: right in every case" for sentence, always in right.items() if always]
    return _some(wrong), f"{len(right)} mistakes"


def _depends(name: str, cases: OracleCases) -> tuple[str, str]:
    """Change one argument in every case: the expected values must change."""
    any_bit, refused = False, 0
    for case in cases:
        arguments = cases.oracle.arguments(case.case, case.data.inputs)
        arguments[name] = _another(name, arguments, case)
        results = cases.oracle.expected(case.case, arguments)
        any_bit = any_bit or bool(_changed(case.data.expected, results))
        refused += not all(
            output.compared(results[output.name].to(output.rounded.dtype)).accepted
            for output in cases.outputs(case)
        )
    if not any_bit:
        return f"another `{name}` changes no result in any of {len(cases)} cases", ""
    if not refused:
        return (
            f"another `{name}` changes results by less than the tolerance in all cases: "
            "a submission that ignores it would be accepted",
            "",
        )
    return "", f"shown by {refused} of {len(cases)} cases"


def _another(name: str, arguments: Mapping[str, Any], case: OracleCase) -> Any:
    """Return another value for an argument of a case."""
    value = arguments[name]
    if not isinstance(value, torch.Tensor):
        # A wrong constant, such as 1e-6 for 1e-5, is off by a factor of ten at least.
        return value + 1 if isinstance(value, int) else (10 * value if value else 1.0)
    other = case.other.inputs[name]
    # The same for every seed: reverse it, which changes all but constants.
    if not _same(other, value):
        return other.clone()
    backwards = torch.arange(value.numel() - 1, -1, -1)
    return value.flatten()[backwards].view(other.shape)


def _keeps_inputs(cases: OracleCases) -> tuple[str, str]:
    wrong, place = [], ""
    for case in cases:
        for function, arguments in _after_use(cases, case):
            for name in _changed(case.data.inputs, arguments):
                wrong.append(f"{case.case.name}: {function} changes `{name}`")
                place = place or cases.oracle.place(function)
    return _some(wrong), place


def _after_use(
    cases: OracleCases, case: OracleCase
) -> Iterator[tuple[str, Mapping[str, torch.Tensor]]]:
    arguments = cases.oracle.arguments(case.case, case.data.inputs)
    cases.oracle.expected(case.case, arguments)
    yield "expected", arguments
    arguments = cases.oracle.arguments(case.case, case.data.inputs)
    cases.oracle.baseline(case.case, arguments, _outputs(cases, case))
    yield "baseline", arguments


def _baseline_agrees(cases: OracleCases) -> tuple[str, str]:
    wrong = []
    for case in cases:
        results = _outputs(cases, case)
        arguments = cases.oracle.arguments(case.case, case.data.inputs)
        cases.oracle.baseline(case.case, arguments, results)
        for output in cases.outputs(case):
            compared = output.compared(results[output.name])
            if not compared.accepted:
                wrong.append(f"{case.case.name}: {compared.complaint}")
    return _some(wrong), ""


def _outputs(cases: OracleCases, case: OracleCase) -> dict[str, torch.Tensor]:
    """Return the arrays to write: filled with an unlikely value, or with their inputs."""
    outputs = {}
    for argument in cases.assignment.signature.outputs:
        kind = cases.output_type(case, argument.name)
        if argument.role.read:
            outputs[argument.name] = case.data.inputs[argument.name].clone()
        else:
            shape = case.data.expected[argument.name].shape
            ones = torch.full((*shape[:-1], shape[-1] * kind.itemsize), 0xFF, dtype=torch.uint8)
            outputs[argument.name] = ones.view(kind)
    return outputs


def _changed(before: Mapping[str, torch.Tensor], after: Mapping[str, Any]) -> list[str]:
    """Return the names of the arrays that differ in any bit."""
    return [name for name, value in before.items() if not _same(value, after[name])]


def _same(array: torch.Tensor, other: torch.Tensor) -> bool:
    if array.shape != other.shape or array.dtype != other.dtype:
        return False
    return torch.equal(raw_bytes(array), raw_bytes(other))


def _some(words: Sequence[str]) -> str:
    """Return the first few words and the number of the others; "" without words."""
    more = f"; and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return "; ".join(words[:_SHOWN]) + more
