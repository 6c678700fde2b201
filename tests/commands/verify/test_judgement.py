"""What a planted fault promises of a GPU, held to reports as a GPU's tools would make them."""

from __future__ import annotations

from pathlib import Path

import pytest
import sample_reports as reports

from grader.commands.verify.judgement import judge_sample
from grader.commands.verify.row import State
from grader.commands.verify.samples import Planted, Sample, parse
from grader.report.evidence import Finding
from grader.report.model import Report
from grader.report.verdict import Verdict
from grader.vocabulary import Device

ERROR, WARNING = "kind=race line=13,16 cpu=error gpu=racecheck", (
    'kind=race line=13,16 cpu=error gpu=racecheck:warning why="inside of a warp"'
)  # fmt: skip
BLIND = 'kind=race line=13,16 cpu=error gpu=blind why="global memory"'


def race(line: int, severity: str, tool: str = "racecheck") -> Finding:
    return reports.finding("race", line, severity=severity, tool=f"compute-sanitizer {tool}")


def told(*findings: Finding) -> Report:
    if any(found.severity == "error" for found in findings):
        return reports.report(
            reports.kernel(reports.faulty(*findings), verdict=Verdict.MEMORY_ERROR)
        )
    check = reports.memory(evidence=reports.memory_evidence(*findings))
    return reports.report(reports.kernel(check, verdict=Verdict.ACCEPTED))


@pytest.mark.parametrize(
    ("promise", "findings", "state"),
    [
        (ERROR, (race(13, "error"),), State.AGREES),
        (ERROR, (race(13, "error"), race(16, "warning")), State.AGREES),
        (ERROR, (race(13, "warning"),), State.DIFFERS),
        (ERROR, (race(14, "error"),), State.DIFFERS),
        (ERROR, (race(13, "error", "memcheck"),), State.DIFFERS),
        (ERROR, (), State.DIFFERS),
        (WARNING, (race(13, "warning"),), State.AGREES),
        # racecheck tells it so or so, as the warps of a run happen to meet.
        (WARNING, (race(13, "error"),), State.AGREES),
        (WARNING, (race(13, "error"), race(16, "warning")), State.AGREES),
        (WARNING, (race(13, "warning"), race(20, "error")), State.DIFFERS),
        (WARNING, (race(13, "warning", "memcheck"),), State.DIFFERS),
        (WARNING, (), State.DIFFERS),
        (BLIND, (), State.ELSEWHERE),
        (BLIND, (race(20, "error"),), State.ELSEWHERE),
        (BLIND, (race(13, "error"),), State.DIFFERS),
        (BLIND, (race(13, "warning"),), State.DIFFERS),
    ],
)
def test_what_a_gpu_is_to_see(promise: str, findings: tuple[Finding, ...], state: State) -> None:
    expectation = parse(f"// expect: {promise}\n", "memory_error")
    assert expectation is not None and isinstance(expectation.planted, Planted)
    sample = Sample(
        assignment="silu",
        verdict="memory_error",
        name="race",
        language="cuda",
        folder=Path("nowhere"),
        file="silu.cu",
    )
    row = judge_sample(sample, expectation, told(*findings), Device.CUDA)
    assert row.state is state, row
