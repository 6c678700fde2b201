"""The data of a case is computed once in a process, and is that of the oracle."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.grading.identity import spec_hash
from grader.judge import case_store
from grader.judge.case_store import stored_data
from grader.judge.oracle import Oracle
from grader.vocabulary import Device, Language


@pytest.fixture(autouse=True)
def empty() -> None:
    case_store._stored.clear()
    case_store._bytes = 0


def small(assignment: Assignment) -> list[Case]:
    cases = assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=0, secret_seed=0)
    return sorted(cases, key=lambda case: sum(case.sizes.values()))[:4]


@pytest.fixture
def silu() -> Assignment:
    return read_assignment(REPOSITORY / "assignments" / "silu")


def test_a_case_is_computed_once_for_both_languages(silu: Assignment) -> None:
    oracle, (case, *_) = Oracle(silu), small(silu)
    first = stored_data(oracle, "hash", case, Language.CUDA)
    assert stored_data(Oracle(silu), "hash", case, Language.TRITON) is first
    own = oracle.data(case, Language.CUDA)
    assert torch.equal(first.inputs["input"], own.inputs["input"])
    assert torch.equal(first.expected["output"], own.expected["output"])


def test_languages_with_other_types_have_data_of_their_own() -> None:
    gemm = read_assignment(REPOSITORY / "assignments" / "gemm")
    oracle, (case, *_) = Oracle(gemm), small(gemm)
    languages = (Language.CUDA, Language.TRITON, Language.INLINE_CUDA)
    found = [stored_data(oracle, "hash", case, language) for language in languages]
    types = [oracle.types(case, language) for language in languages]
    assert (found[0] is found[1]) == (types[0] == types[1])


def test_another_seed_or_oracle_is_another_case(silu: Assignment, tmp_path: Path) -> None:
    oracle, (case, *_) = Oracle(silu), small(silu)
    first = stored_data(oracle, spec_hash(silu), case, Language.CUDA)
    again = stored_data(oracle, spec_hash(silu), replace(case, seed=case.seed + 1), Language.CUDA)
    assert not torch.equal(first.inputs["input"], again.inputs["input"])

    folder = tmp_path / "silu"
    shutil.copytree(silu.folder, folder)
    text = (folder / "oracle.py").read_text()
    (folder / "oracle.py").write_text(
        text + "\n_expected = expected\n\n\ndef expected(arguments):\n"
        "    return {k: v + 1 for k, v in _expected(arguments).items()}\n"
    )
    changed = read_assignment(folder)
    other = stored_data(Oracle(changed), spec_hash(changed), case, Language.CUDA)
    assert torch.equal(other.expected["output"], first.expected["output"] + 1)


def test_what_was_not_used_for_longest_is_forgotten(
    silu: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle, (one, two, three, _) = Oracle(silu), small(silu)
    first = stored_data(oracle, "hash", one, Language.CUDA)
    second = stored_data(oracle, "hash", two, Language.CUDA)
    assert stored_data(oracle, "hash", one, Language.CUDA) is first  # used again
    sizes = [case_store._size(data) for data in (first, second)]
    monkeypatch.setattr(case_store, "_MOST_BYTES", sum(sizes) + 1)
    stored_data(oracle, "hash", three, Language.CUDA)
    assert stored_data(oracle, "hash", two, Language.CUDA) is not second
