"""The memory check on the CPU: what a student reads of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from grader import toolchain
from grader.evidence import MemoryEvidence
from grader.pipeline import grade
from grader.progress import Progress
from grader.report import CheckResult
from grader.spec import Assignment, CaseTemplate
from grader.spec_reader import read_assignment
from grader.submission import read_submission
from grader.verdict import Verdict
from grader.words import CheckName, Language
from grader.workshop import Options

REPOSITORY = Path(__file__).resolve().parent.parent
SAMPLES = REPOSITORY / "reference" / "silu" / "samples"


@pytest.fixture(scope="module")
def silu() -> Assignment:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    cases = tuple(CaseTemplate(sizes={"n": n}, memory=True) for n in (1, 33, 1025))
    return dataclasses.replace(assignment, cases=cases)


@pytest.fixture(autouse=True)
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no say here, and takes a second for each hand-in."""
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)


def memory_check(assignment: Assignment, folder: Path, language: Language) -> CheckResult:
    options = Options(languages=frozenset({language}), checks=frozenset({CheckName.MEMORY}))
    report = grade(assignment, read_submission(folder, assignment), options, Progress())
    (check,) = (c for k in report.kernels for c in k.checks if c.check is CheckName.MEMORY)
    return check


@pytest.mark.parametrize(("language", "line"), [(Language.CUDA, 11), (Language.TRITON, 17)])
def test_a_write_to_an_input_is_a_wrong_answer_at_its_line(
    silu: Assignment, language: Language, line: int
) -> None:
    check = memory_check(silu, SAMPLES / "wrong_answer" / "in-place-on-the-input", language)
    assert check.verdict is Verdict.WRONG_ANSWER
    assert check.message.startswith(f"silu.{'cu' if line == 11 else 'py'}:{line}: ")
    assert check.hint == "inputs are read-only: write to the output"
    assert isinstance(check.evidence, MemoryEvidence)
    (finding,) = check.evidence.findings
    assert (finding.line, finding.buffer, finding.severity) == (line, "input", "warning")
    assert finding.hint == check.hint
