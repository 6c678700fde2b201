"""Mistakes that an assignment's oracle knows."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.reader import read_assignment
from grader.errors import GraderError
from grader.judge.compare import accepts_all, compare
from grader.judge.oracle import CaseData, Oracle
from grader.judge.patterns import known_mistake
from grader.vocabulary import Device, Language

KNOWING = sorted(
    path.parent.name
    for path in (REPOSITORY / "assignments").glob("*/oracle.py")
    if "def mistakes(" in path.read_text("utf-8")
)


def oracle_of(name: str) -> tuple[Oracle, list[Case]]:
    """Return an assignment's oracle, and small visible cases."""
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    cases = assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=1, secret_seed=2)
    few = [case for case in cases if math.prod(map(float, case.sizes.values())) < 2**12]
    return Oracle(assignment), few


def said(oracle: Oracle, case: Case, data: CaseData, values: torch.Tensor) -> str | None:
    """Return what is said of the output `values`."""
    (output,) = data.expected
    tolerance = oracle._assignment.tolerance(case, Language.CUDA, output)
    comparison = compare(output, values, data.expected[output], tolerance)
    return known_mistake.explain(oracle, case, data, comparison, tolerance)


@pytest.mark.parametrize("name", KNOWING)
def test_a_known_mistake_is_wrong_and_named(name: str) -> None:
    """Each differs from what is expected, and is told from all before it, in some case."""
    oracle, cases = oracle_of(name)
    signature = oracle._assignment.signature
    kind = getattr(torch, signature.element_type(signature.outputs[0], Language.CUDA).word)
    known: set[str] = set()
    named: set[str] = set()
    for case in cases:
        data = oracle.data(case, Language.CUDA)
        (output,) = data.expected
        for sentence, outputs in oracle.mistakes(case, data.inputs).items():
            short = sentence.partition(" (in steps of")[0]
            if short in named:
                continue
            known.add(short)
            values = outputs[output].to(kind)
            if str(said(oracle, case, data, values)).startswith(f"{known_mistake.KNOWN}{short}"):
                named.add(short)
    assert known - named == set()


def test_a_right_result_and_any_other_wrong_one_have_no_such_sentence() -> None:
    oracle, cases = oracle_of("softmax")
    case = next(case for case in cases if case.sizes["cols"] == 257)
    data = oracle.data(case, Language.CUDA)
    right = data.expected["y"].float()
    assert said(oracle, case, data, right) is None
    assert said(oracle, case, data, right * 1.01) is None
    assert said(oracle, case, data, torch.full_like(right, torch.nan)) is None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("[1]", "returned list, not a dict"),
        ("{'it is 0': {}}", "returned no `c`"),
        ("{'it is 0': {'c': torch.zeros(3)}}", "with shape"),
    ],
)
def test_the_contract_of_mistakes(tmp_path: Path, body: str, problem: str) -> None:
    folder = tmp_path / "vector_add"
    folder.mkdir()
    for path in (REPOSITORY / "assignments/vector_add").iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    with (folder / "oracle.py").open("a") as file:
        file.write(f"\n\ndef mistakes(inputs):\n    return {body}\n")
    assignment = read_assignment(folder)
    oracle = Oracle(assignment)
    case = assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=1, secret_seed=2)[3]
    data = oracle.data(case, Language.CUDA)
    assert accepts_all(data.expected["c"], data.expected["c"], assignment.tolerances[Language.CUDA])
    with pytest.raises(GraderError, match=problem):
        oracle.mistakes(case, data.inputs)
