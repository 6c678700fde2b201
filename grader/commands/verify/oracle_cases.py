"""All cases of an assignment in one language with their data, for oracle_proofs and mutants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.assignment.tolerance import Tolerance
from grader.judge.compare import Comparison, compare
from grader.judge.oracle import CaseData, Oracle
from grader.vocabulary import Device, Language

_OTHER_SEED = 7_919  # combined with a case's seed


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleCase:
    """A case with its data, and the data of another seed."""

    case: Case
    data: CaseData
    other: CaseData


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a case: the expected values, exact and rounded to the output's type.

    `others` are all outputs of the case, rounded.
    """

    case: OracleCase
    name: str
    expected: torch.Tensor
    rounded: torch.Tensor
    tolerance: Tolerance
    others: Mapping[str, torch.Tensor]

    def compared(self, actual: torch.Tensor) -> Comparison:
        """Compare a result with the expected values, as in a grading; other outputs are right."""
        refusal = self.case.data.refusal
        said = refusal and refusal({**self.others, self.name: actual})
        return compare(self.name, actual, self.expected, self.tolerance, said)


class OracleCases:
    """An oracle with all cases of a run. Raises GraderError if the oracle fails."""

    def __init__(
        self, assignment: Assignment, language: Language, device: Device, seed: int
    ) -> None:
        self.assignment, self.language, self.seed = assignment, language, seed
        self.oracle = Oracle(assignment, for_staff=True)
        self._cases = [
            OracleCase(
                case=case,
                data=self.oracle.data(case, language),
                other=self.oracle.data(replace(case, seed=case.seed ^ _OTHER_SEED), language),
            )
            for case in assignment.draw_cases(device, language, public_seed=seed, secret_seed=seed)
        ]

    def __len__(self) -> int:
        return len(self._cases)

    def __iter__(self) -> Iterator[OracleCase]:
        return iter(self._cases)

    @property
    def reads_arrays(self) -> bool:
        """True if a kernel reads an array: without one, a case is the same for every seed."""
        return any(array.role.read for array in self.assignment.signature.arrays)

    def outputs(self, case: OracleCase) -> Iterator[Output]:
        """Yield each output of a case."""
        wanted = case.data.expected
        rounded = {name: values.to(self.output_type(case, name)) for name, values in wanted.items()}
        for name, expected in wanted.items():
            tolerance = self.assignment.tolerance(case.case, self.language, name)
            yield Output(case, name, expected, rounded[name], tolerance, rounded)

    def all_outputs(self) -> Iterator[Output]:
        """Yield each output of each case."""
        for case in self:
            yield from self.outputs(case)

    def output_type(self, case: OracleCase, name: str) -> torch.dtype:
        """Return torch's type of an output of a case in this language."""
        signature = self.assignment.signature_of(case.case)
        argument = next(a for a in signature.outputs if a.name == name)
        kind: torch.dtype = getattr(torch, signature.element_type(argument, self.language).word)
        return kind


Proof = Callable[[OracleCases], tuple[str, str]]  # → the problem ("" if there is none), a note
