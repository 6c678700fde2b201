"""Which thread wrote which element: the records of the checked host build, which are untrusted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from paths import REPOSITORY

from grader.assignment.cases import Case, CaseTemplate
from grader.assignment.reader import read_assignment
from grader.checks.common.case_run import RunSetup
from grader.checks.memory.writers import small_writers
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.evidence import MemoryEvidence, Writers
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Language

CASES: dict[str, dict[str, Any]] = {
    "small": {"rows": 2, "cols": 3},
    "more": {"rows": 3, "cols": 3},
    "large": {"rows": 100, "cols": 100},
}


def read(*records: dict[str, Any]) -> tuple[Writers, ...]:
    assignment = read_assignment(REPOSITORY / "assignments" / "transpose")
    setup = SimpleNamespace(assignment=assignment, built=SimpleNamespace(language=Language.CUDA))
    cases = {name: case_of(sizes) for name, sizes in CASES.items()}
    return small_writers(records, cast(RunSetup, setup), cases)


def case_of(sizes: dict[str, Any]) -> Case:
    return CaseTemplate(sizes=sizes).draw(0)


def record(text: str, **changes: Any) -> dict[str, Any]:
    made = {
        "record": "writers", "buffer": "output", "case": "small", "words": 6, "first": 0,
        "kernel": "k", "grid": [2, 1, 1], "block": [4, 1, 1], "writers": text, "doubles": "",
    }  # fmt: skip
    return {**made, **changes}


def test_runs_of_words_become_elements_in_the_outputs_shape() -> None:
    [found] = read(record("0.0+3 1.2+1 -+2"))
    assert found.cells == ("0.0 0.1", "0.2 1.2", "- -")  # 3 × 2: the output is the transpose
    assert (found.elements, found.columns, found.grid) == (6, 2, (2, 1, 1))


def test_parts_of_an_array_are_put_together() -> None:
    [found] = read(record("0.0+4"), record("1.0+2", first=4))
    assert found.cells == ("0.0 0.1", "0.2 0.3", "1.0 1.1")


def test_words_that_several_threads_write_are_counted_from_the_start_of_the_array() -> None:
    [found] = read(record("0.0+4", doubles="1"), record("1.0+2", first=4, doubles="0 1"))
    assert found.doubles == (".x", "..", "xx")
    [found] = read(record("0.0+6", doubles="1 2"), record("0.0+6", doubles="2"))
    assert found.doubles == ("..", "x.", "..")
    [found] = read(record("0.0+6"))
    assert found.doubles == ()


def test_a_later_call_replaces_the_earlier_one() -> None:
    [found] = read(record("0.0+6"), record("-+6"))
    assert found.cells == ("- -",) * 3


def test_a_case_with_several_blocks_goes_first_then_the_largest() -> None:
    one_block = record("0.0+9", case="more", words=9, grid=[1, 1, 1])
    [found] = read(one_block, record("0.0+6"))
    assert found.case == "small"
    [found] = read({**one_block, "grid": [2, 1, 1]}, record("0.0+6"))
    assert found.case == "more"


def test_large_arrays_inputs_and_other_records_are_left_out() -> None:
    others = record("0.0+6", buffer="input"), record("0.0+6", case="a hidden case")
    assert read(record("0.0+6", case="large"), *others, {"record": "x"}) == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"writers": "0.0"}, {"writers": "<b>+1"}, {"writers": "0.0+99999"}, {"writers": None},
        {"writers": " ".join(["0.0+1"] * 5000)}, {"first": -1}, {"first": "0"},
        {"doubles": "1 x"}, {"doubles": None},
        {"grid": [0, 1, 1]}, {"grid": "2"}, {"block": [1, 1]},
    ],
)  # fmt: skip
def test_what_the_runtime_cannot_have_written_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(record("0.0+6", **changes) if "writers" not in changes else record("", **changes))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "twice"),
    [("tests/formats/pages/submissions/doubles", 993), ("reference/silu", 0)],
)
def test_elements_that_blocks_share_are_noticed(folder: str, twice: int) -> None:
    """Blocks of 64 threads that begin 32 elements apart write all but 32 elements twice."""
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    options = Options(checks=frozenset({CheckName.MEMORY}), languages=frozenset({Language.CUDA}))
    submission = read_submission(REPOSITORY / folder, assignment)
    report = grade(assignment, submission, options, Progress())
    [evidence] = [
        check.evidence
        for kernel in report.kernels
        for check in kernel.checks
        if isinstance(check.evidence, MemoryEvidence)
    ]
    [drawn] = evidence.writers
    assert drawn.elements == 1025
    assert sum(row.count("x") for row in drawn.doubles) == twice
    assert not any("-" in row for row in drawn.cells)
