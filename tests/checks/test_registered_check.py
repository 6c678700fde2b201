"""A check from outside the package is graded, scored, reported and formatted like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from grading_bench import small_silu
from paths import HAND_INS

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.checks import registry
from grader.checks.check import Check, CheckContext, CheckOutcome
from grader.checks.common.diagnosis import Diagnosis
from grader.cli.options import Registered
from grader.errors import SpecError
from grader.formats.output_format import terminal_text
from grader.formats.registry import formats
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.evidence import Evidence
from grader.report.model import CheckResult, Report, to_json
from grader.report.reader import from_json
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName

NAME = "brevity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brevity(Evidence):
    """The number of lines of the file."""

    source_lines: int


@pytest.fixture
def toy() -> Iterator[Check[Brevity]]:
    """A check that counts the lines of a file, registered for one test."""

    class BrevityCheck(Check[Brevity]):
        name = CheckName.add(NAME)

        def run(self, context: CheckContext) -> Sequence[CheckOutcome[Brevity]]:
            lines = len(context.file.source.text.splitlines())
            short = lines <= 100
            diagnosis = Diagnosis(
                Verdict.ACCEPTED if short else Verdict.FORBIDDEN, f"{lines} lines"
            )
            return [CheckOutcome(diagnosis=diagnosis, evidence=Brevity(source_lines=lines))]

        def lines(self, evidence: Brevity) -> Sequence[str]:
            return [f"counted {evidence.source_lines} lines"]

    check = BrevityCheck()
    registry.register(check)
    yield check
    registry.unregister(check)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """The spec of an assignment that gives the check ten points."""
    spec = small_silu(tmp_path) / "assignment.toml"
    text = spec.read_text(encoding="utf-8")
    points = "points = { correctness = 100 }"
    assert points in text
    text = text.replace(points, f"points = {{ correctness = 90, {NAME} = 10 }}")
    spec.write_text(text, encoding="utf-8")
    return spec


def graded(assignment: Assignment, tmp_path: Path, name: str) -> tuple[Report, list[Report]]:
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "silu.cu").write_bytes((HAND_INS / name).read_bytes())
    partial: list[Report] = []
    report = grade(
        assignment,
        read_submission(folder, assignment),
        Options(kernels=frozenset({"silu"})),
        Progress(),
        on_report=partial.append,
    )
    return report, partial


def line_of(report: Report) -> CheckResult:
    (kernel,) = report.kernels
    return next(check for check in kernel.checks if check.check == NAME)


@pytest.mark.usefixtures("no_nvcc", "toy")
def test_a_registered_check_is_graded_scored_reported_and_formatted(
    spec: Path, tmp_path: Path
) -> None:
    report, partial = graded(read_assignment(spec.parent), tmp_path, "right.cu")
    line = line_of(report)
    assert (line.verdict, line.score, line.max_score) == (Verdict.ACCEPTED, 10.0, 10.0)
    assert (report.score, report.max_score) == (100.0, 100.0)
    assert isinstance(line.evidence, Brevity)

    # Its points are pending before it has run.
    first = line_of(partial[0])
    assert (first.waiting, first.pending) == (True, 10.0)

    # A report is read back with its types.
    written = json.loads(json.dumps(to_json(report)))
    assert from_json(written, "report.json") == report

    lines = f"{line.evidence.source_lines} lines"
    assert f"counted {lines}" in terminal_text(report, staff=False)
    for form in formats():
        if form.name == "sarif":
            continue  # findings only
        text = form.file(report)
        assert text is not None
        assert NAME in text.lower(), form


@pytest.mark.usefixtures("no_nvcc", "toy")
def test_points_of_a_registered_check_need_right_cases(spec: Path, tmp_path: Path) -> None:
    report, _ = graded(read_assignment(spec.parent), tmp_path, "doubles.cu")
    assert (line_of(report).verdict, line_of(report).score) == (Verdict.ACCEPTED, 0.0)
    assert report.score == 0.0


@pytest.mark.usefixtures("toy")
def test_the_command_line_knows_a_registered_check() -> None:
    assert Registered(lambda: CheckName).convert(NAME, None, None) == NAME


def test_a_check_that_is_not_registered_is_unknown_everywhere(spec: Path) -> None:
    with pytest.raises(ValueError, match=NAME):
        CheckName(NAME)
    with pytest.raises(SpecError, match=NAME):
        read_assignment(spec.parent)
