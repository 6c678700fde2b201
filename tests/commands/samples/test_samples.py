"""The sample submissions: well-formed, and a few of them graded.

`grade verify` grades all of them (`make verify`); these tests grade one or two of each
verdict, with few small cases.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections import Counter
from pathlib import Path

import pytest
from paths import REPOSITORY
from slow import slow_unless

from grader.assignment.cases import CaseTemplate
from grader.assignment.catalogue import find_assignments
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.commands.verify.lints import LEAST_SAMPLES
from grader.commands.verify.plan import plan
from grader.commands.verify.row import State
from grader.commands.verify.samples import (
    KINDS,
    Sample,
    find_samples,
    in_language,
)
from grader.grading.plan import Options
from grader.pool.state import WorkerState
from grader.vocabulary import Visibility

ASSIGNMENTS = find_assignments(REPOSITORY / "assignments")
BY_NAME = {folder.name: read_assignment(folder) for folder in ASSIGNMENTS}
SAMPLES = tuple(
    in_language(sample, BY_NAME[sample.assignment])
    for sample in find_samples(REPOSITORY / "reference")
)


# ---- well-formed ----


@pytest.mark.parametrize("folder", ASSIGNMENTS, ids=lambda folder: folder.name)
def test_spec_files_and_samples_are_well_formed(folder: Path) -> None:
    """The rows of `grade verify` that need no task."""
    rows, _ = plan(read_assignment(folder), REPOSITORY, Options())
    assert len(rows) > 5
    assert [row for row in rows if row.state.wrong] == []


@pytest.mark.parametrize("folder", ASSIGNMENTS, ids=lambda folder: folder.name)
def test_there_are_enough_samples_in_every_language(folder: Path) -> None:
    assignment = read_assignment(folder)
    count = Counter(sample.language for sample in SAMPLES if sample.assignment == assignment.name)
    for kernel in assignment.kernels:
        for language in kernel.files:
            assert count[language] >= LEAST_SAMPLES


def test_there_are_planted_faults_of_every_kind() -> None:
    expected = [s.expectation() for s in SAMPLES if s.assignment == "silu"]
    assert {e.planted.kind for e in expected if e is not None and e.planted} == KINDS
    count = Counter(s.language for s in SAMPLES if s.verdict == "memory_error")
    assert count["cuda"] >= 16 and count["triton"] >= 9


def test_triton_samples_parse() -> None:
    for sample in SAMPLES:
        if sample.language == "triton" and sample.verdict != "compile_error":
            ast.parse(sample.text, filename=sample.title)


# ---- graded ----

QUICK = (
    "accepted/tile-with-barrier/silu.cu",
    "compile_error/missing-semicolon/silu.cu",
    "compile_error/misnamed-function/silu.py",
    "memory_error/missing-mask/silu.py",
    "memory_error/missing-barrier/silu.cu",
)
CHOSEN = (
    *QUICK,
    "accepted/autotuned/silu.py",
    "memory_error/shared-row-too-long/silu.cu",  # only a warning
    "runtime_error/too-many-threads/silu.cu",
    "time_limit/endless-loop/silu.py",
    "wrong_answer/forgot-the-tail/silu.cu",
    "wrong_answer/half-precision/silu.py",
)


@pytest.fixture(scope="module")
def silu() -> Assignment:
    """Return SiLU with few small cases and short time limits, enough for the samples to fail."""
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    return dataclasses.replace(
        assignment,
        cases=(
            *(CaseTemplate(sizes={"n": n}, memory=True) for n in (1, 33, 1025)),
            CaseTemplate(sizes={"n": 4099}, values="edges"),
        ),
        limits=dataclasses.replace(assignment.limits, call_s=1.0),
    )


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize("title", slow_unless(QUICK.__contains__, CHOSEN))
def test_a_sample_gets_its_folders_verdict(
    title: str, silu: Assignment, state: WorkerState
) -> None:
    _, (task,) = plan(silu, REPOSITORY, Options(), samples=(title,))
    (row,) = task.do(state)
    assert row.state is State.AGREES, row


def cross_section() -> list[Sample]:
    """Return one sample of each verdict that other assignments have, languages in turn."""
    chosen: dict[tuple[str, str], Sample] = {}
    for sample in SAMPLES:
        expected = sample.expectation()
        elsewhere = expected is not None and (
            expected.device == "cuda" or expected.check == "rules"
        )
        # One assignment's is enough: all wait for the same limits.
        waits = sample.verdict == "time_limit" and sample.assignment != "gemm"
        # nvcc has the last word on what compiles.
        elsewhere |= sample.verdict == "compile_error" and sample.language == "cuda"
        key = sample.assignment, sample.verdict
        wanted = "triton" if len(chosen) % 2 else "cuda"
        if sample.assignment == "silu" or elsewhere or waits or key in chosen:
            continue
        if sample.language == wanted or sample.assignment == "copy_first_column":
            chosen[key] = sample
    return list(chosen.values())


CROSS_SECTION = cross_section()
# One of each assignment in each language, of its first kernel, on small cases. What is right in
# Triton would be compiled for a GPU, too.
KINDS_OF_FIRST = {("cuda", "accepted"), ("triton", "wrong_answer")}
FIRST = tuple({
    (s.assignment, s.language): s
    for s in sorted(SAMPLES, key=lambda s: s.file)[::-1]
    if (s.language, s.verdict) in KINDS_OF_FIRST
    and s.assignment != "silu"
    and s.file != "v0_torch.py"
}.values())  # fmt: skip
SMALL = 2**12  # sizes multiplied


def is_small(case: CaseTemplate) -> bool:
    whole = [size for size in case.sizes.values() if isinstance(size, int)]
    return case.visibility is Visibility.VISIBLE and math.prod(whole) <= SMALL


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize(
    "sample",
    [*FIRST, *(pytest.param(s, marks=pytest.mark.slow) for s in CROSS_SECTION if s not in FIRST)],
    ids=lambda s: f"{s.assignment}/{s.title}",
)
def test_a_sample_of_each_verdict_is_graded_by_the_real_spec(
    sample: Sample, state: WorkerState
) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / sample.assignment)
    if sample in FIRST:
        assignment = dataclasses.replace(
            assignment, cases=tuple(filter(is_small, assignment.cases))
        )
    _, (task,) = plan(assignment, REPOSITORY, Options(), samples=(sample.title,))
    (row,) = task.do(state)
    assert row.state is State.AGREES, row


def test_a_sample_is_one_file_of_its_language() -> None:
    by_title = {(s.assignment, s.title): s for s in SAMPLES}
    assert len(by_title) == len(SAMPLES)
    zeros = [s for s in SAMPLES if s.assignment == "silu" and s.name == "zeros"]
    assert [s.file for s in zeros] == ["silu.cu", "silu.py"]
    assert all(isinstance(s, Sample) and s.path.is_file() for s in zeros)
