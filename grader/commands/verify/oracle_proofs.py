"""The oracle's promises, proven on every case of an assignment in one language.

    same seed         the same inputs and expected values, to the bit
    other seed        other ones, in at least one case
    knows its values  a case's `values` make other inputs than it had without that word
    no constant       every output holds more than one value
    every input       another input array: other expected values, beyond the tolerance
    every scalar      the same for a scalar that is no array's extent (epsilon)
    inputs kept       neither `expected` nor `baseline` writes into what it is given
    baseline          agrees with `expected` within the tolerance

A case may be blind to an input (a row of zeros to the weights), and one may be
the same for every seed: what is asked is that some case tells. In the baseline,
in what is kept and in what is the same for a seed every case counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from grader.assignment.model import DEFAULT_VALUES, Assignment, Case
from grader.commands.verify.row import Row, differs_if
from grader.errors import GraderError
from grader.judge.compare import accepts, compare
from grader.judge.oracle import CaseData, Oracle
from grader.vocabulary import Device, Language

# Far from every seed that a run draws: added to a case's own.
_OTHER_SEED = 7_919
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A case with its data, and with that of another seed."""

    case: Case
    data: CaseData
    other: CaseData


def oracle_rows(
    assignment: Assignment, language: Language, device: Device, seed: int
) -> Iterator[Row]:
    """Yield a row for each promise; one that breaks in the oracle's code says where."""
    proofs = _Proofs(assignment, language, device, seed)
    for check, expected, prove in proofs.all():
        try:
            problem, note = prove()
        except GraderError as error:
            problem, note = error.message, ""
        yield Row(
            assignment=assignment.name,
            subject=f"oracle, {language.phrase}",
            check=check,
            state=differs_if(bool(problem)),
            expected=expected,
            actual=problem or "as expected",
            note=note,
        )


def prepare(
    oracle: Oracle, assignment: Assignment, language: Language, device: Device, seed: int
) -> list[Prepared]:
    """Return all cases of a run with their data. Raises GraderError."""
    cases = assignment.draw_cases(device, language, public_seed=seed, secret_seed=seed)
    return [
        Prepared(
            case=case,
            data=oracle.data(case, language),
            other=oracle.data(another(case), language),
        )
        for case in cases
    ]


def another(case: Case) -> Case:
    """Return the same case with other data."""
    return replace(case, seed=case.seed ^ _OTHER_SEED)


Proof = Callable[[], tuple[str, str]]  # → what is wrong ("" if nothing), a note


class _Proofs:
    def __init__(
        self, assignment: Assignment, language: Language, device: Device, seed: int
    ) -> None:
        self._assignment = assignment
        self._language = language
        self._device = device
        self._seed = seed
        self._oracle: Oracle | None = None
        self._prepared: list[Prepared] = []

    def all(self) -> Iterator[tuple[str, str, Proof]]:
        """Yield name, expectation and proof; the first one loads what the others need."""
        signature = self._assignment.signature
        yield "gives all cases", "inputs and results as the spec has them", self._loads
        if not self._prepared:
            return
        yield "same seed", "the same numbers to the bit", self._deterministic
        yield "other seed", "other inputs and results", self._follows_the_seed
        if any(prepared.case.values != DEFAULT_VALUES for prepared in self._prepared):
            yield "knows its values", "for every word in `values` other inputs", self._knows_values
        yield "no constant", "more than one value in every output", self._varies
        for argument in signature.arrays:
            if argument.role.read:
                yield (
                    f"depends on {argument.name}",
                    "other values: other results, beyond the tolerance",
                    partial(self._depends, argument.name, self._other_array),
                )
        extents = {
            name for a in signature.arrays for extent in a.shape or () for name in extent.names
        }
        for argument in signature.scalars:
            if argument.name not in extents:
                yield (
                    f"depends on {argument.name}",
                    "another value: other results, beyond the tolerance",
                    partial(self._depends, argument.name, self._other_scalar),
                )
        yield "inputs kept", "expected and baseline leave them as they are", self._keeps_inputs
        yield "baseline", "right within the tolerance in every case", self._baseline_agrees

    @property
    def _loaded(self) -> Oracle:
        assert self._oracle is not None
        return self._oracle

    def _loads(self) -> tuple[str, str]:
        self._oracle = Oracle(self._assignment)
        self._prepared = prepare(
            self._oracle, self._assignment, self._language, self._device, self._seed
        )
        count = len(self._prepared)
        return ("" if count else "there is no case for this device"), f"{count} cases"

    def _deterministic(self) -> tuple[str, str]:
        # Anew, and with torch's own generator elsewhere: neither may leave a trace.
        fresh = Oracle(self._assignment)
        wrong: list[str] = []
        for prepared in self._prepared:
            torch.manual_seed(self._seed + len(wrong) + 1)
            again = fresh.data(prepared.case, self._language)
            for name in _changed(prepared.data.inputs, again.inputs):
                wrong.append(f"{prepared.case.name}: `{name}` differs")
            for name in _changed(prepared.data.expected, again.expected):
                wrong.append(f"{prepared.case.name}: the expected `{name}` differs")
        return _told(wrong), ""

    def _follows_the_seed(self) -> tuple[str, str]:
        fixed = [p.case.name for p in self._prepared if not _changed(p.data.inputs, p.other.inputs)]
        same = [
            p.case.name for p in self._prepared if not _changed(p.data.expected, p.other.expected)
        ]
        if len(fixed) == len(self._prepared):
            return "every case has the same inputs whatever the seed", ""
        if len(same) == len(self._prepared):
            return "every case has the same results whatever the seed", ""
        return "", f"the same for every seed: {_some(same)}" if same else ""

    def _knows_values(self) -> tuple[str, str]:
        words = {prepared.case.values for prepared in self._prepared} - {DEFAULT_VALUES}
        unknown = words - {p.case.values for p in self._prepared if self._heeds_values(p)}
        told = [f'"{word}" makes the same inputs as no word' for word in sorted(unknown)]
        return _told(told), _some(sorted(words))

    def _heeds_values(self, prepared: Prepared) -> bool:
        plain = replace(prepared.case, values=DEFAULT_VALUES)
        generator = torch.Generator().manual_seed(plain.seed)
        try:
            made = self._loaded.inputs(plain, self._language, generator)
        except GraderError:  # it wants a word
            return True
        return bool(_changed(prepared.data.inputs, made))

    def _varies(self) -> tuple[str, str]:
        wrong = []
        for argument in self._assignment.signature.outputs:
            values = torch.cat([p.data.expected[argument.name].reshape(-1) for p in self._prepared])
            first = values[:1]
            if bool(((values == first) | (values.isnan() & first.isnan())).all()):
                wrong.append(f"every element of `{argument.name}` is {first.item():g} in all cases")
        return _told(wrong), ""

    def _depends(self, name: str, changed: Callable[[str, Prepared], Any]) -> tuple[str, str]:
        """Change one argument in every case: the expected values have to follow."""
        bits, told = [], []
        for prepared in self._prepared:
            arguments = self._loaded.arguments(prepared.case, prepared.data.inputs)
            arguments[name] = changed(name, prepared)
            results = self._loaded.expected(prepared.case, arguments)
            if _changed(prepared.data.expected, results):
                bits.append(prepared.case.name)
            if self._refused(prepared, results):
                told.append(prepared.case.name)
        if not bits:
            return f"another `{name}` changes no result in any of {len(self._prepared)} cases", ""
        if not told:
            return (
                f"another `{name}` changes results by less than the tolerance in all cases: "
                "no hand-in that ignores it would be found out",
                "",
            )
        return "", f"told by {len(told)} of {len(self._prepared)} cases"

    def _other_array(self, name: str, prepared: Prepared) -> torch.Tensor:
        other = prepared.other.inputs[name]
        if not torch.equal(other, prepared.data.inputs[name]):
            return other.clone()
        # The same for every seed: turned round instead, which changes what is no constant.
        return prepared.data.inputs[name].flatten().flip(0).view(other.shape).clone()

    def _other_scalar(self, name: str, prepared: Prepared) -> int | float:
        arguments = self._loaded.arguments(prepared.case, {})
        value: int | float = arguments[name]
        # Ten times as much is what a wrong constant is off by at least, such as 1e-6 for 1e-5.
        return value + 1 if isinstance(value, int) else (10 * value if value else 1.0)

    def _refused(self, prepared: Prepared, results: Mapping[str, torch.Tensor]) -> bool:
        tolerance = self._assignment.tolerance(prepared.case, self._language)
        for name, expected in prepared.data.expected.items():
            actual = results[name].to(self.output_type(name))
            if not bool(accepts(actual, expected, tolerance).all()):
                return True
        return False

    def output_type(self, name: str) -> torch.dtype:
        """Return the type of an output in this language."""
        return output_type(self._assignment, name, self._language)

    def _keeps_inputs(self) -> tuple[str, str]:
        wrong = []
        for prepared in self._prepared:
            for function, arguments in self._after_use(prepared):
                for name in _changed(prepared.data.inputs, arguments):
                    wrong.append(f"{prepared.case.name}: {function} changes `{name}`")
        return _told(wrong), ""

    def _after_use(self, prepared: Prepared) -> Iterator[tuple[str, Mapping[str, torch.Tensor]]]:
        case, inputs = prepared.case, prepared.data.inputs
        arguments = self._loaded.arguments(case, inputs)
        self._loaded.expected(case, arguments)
        yield "expected", arguments
        arguments = self._loaded.arguments(case, inputs)
        self._loaded.baseline(case, arguments, self._outputs(prepared))
        yield "baseline", arguments

    def _baseline_agrees(self) -> tuple[str, str]:
        wrong = []
        for prepared in self._prepared:
            case, outputs = prepared.case, self._outputs(prepared)
            self._loaded.baseline(case, self._loaded.arguments(case, prepared.data.inputs), outputs)
            tolerance = self._assignment.tolerance(case, self._language)
            for name, expected in prepared.data.expected.items():
                compared = compare(name, outputs[name], expected, tolerance)
                if not compared.accepted:
                    first = compared.mismatches()[0]
                    wrong.append(
                        f"{case.name}: {compared.mismatched} of {expected.numel()} elements of "
                        f"`{name}` are not right, the first {first.actual:.9g} for "
                        f"{first.expected:.9g} (allowed: {first.allowed:.3g})"
                    )
        return _told(wrong), ""

    def _outputs(self, prepared: Prepared) -> dict[str, torch.Tensor]:
        """Return the arrays to write: full of what no result is, or of what they held before."""
        outputs = {}
        for argument in self._assignment.signature.outputs:
            kind = self.output_type(argument.name)
            if argument.role.read:
                outputs[argument.name] = prepared.data.inputs[argument.name].clone()
            else:
                shape = prepared.data.expected[argument.name].shape
                unwritten = float("nan") if kind.is_floating_point else -1
                outputs[argument.name] = torch.full(shape, unwritten, dtype=kind)
        return outputs


def output_type(assignment: Assignment, name: str, language: Language) -> torch.dtype:
    """Return torch's type of an output in a language."""
    argument = next(a for a in assignment.signature.outputs if a.name == name)
    kind: torch.dtype = getattr(torch, assignment.signature.element_type(argument, language).word)
    return kind


def _changed(before: Mapping[str, torch.Tensor], after: Mapping[str, Any]) -> list[str]:
    """Return the names of the arrays that differ in any bit."""
    return [name for name, value in before.items() if not _same(value, after[name])]


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return torch.equal(
        one.contiguous().view(-1).view(torch.uint8), other.contiguous().view(-1).view(torch.uint8)
    )


def _told(wrong: Sequence[str]) -> str:
    return _some(wrong) if wrong else ""


def _some(words: Sequence[str]) -> str:
    more = f"; and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return "; ".join(words[:_SHOWN]) + more
