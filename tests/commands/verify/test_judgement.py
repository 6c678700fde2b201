"""A planted fault's expectation for a GPU, compared with made-up reports of a GPU's tools."""

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


def race(
    line: int, severity: str, tool: str = "compute-sanitizer racecheck, host device"
) -> Finding:
    return reports.finding("race", line, severity=severity, tool=tool)


def report(*findings: Finding) -> Report:
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
        (ERROR, (race(13, "error", "compute-sanitizer memcheck"),), State.DIFFERS),
        (ERROR, (), State.DIFFERS),
        # The CPU's checker runs on a GPU, too: here it finds an error.
        (WARNING, (race(13, "warning"),), State.DIFFERS),
        # racecheck reports either severity, depending on the timing of the warps.
        (WARNING, (race(13, "error"),), State.AGREES),
        (WARNING, (race(13, "error"), race(16, "warning")), State.AGREES),
        (WARNING, (race(13, "warning"), race(20, "error")), State.DIFFERS),
        (WARNING, (race(13, "error", "host device"),), State.DIFFERS),
        (WARNING, (), State.DIFFERS),
        (BLIND, (), State.DIFFERS),
        (BLIND, (race(20, "error"),), State.DIFFERS),
        (BLIND, (race(13, "error", "host device"),), State.AGREES),
        (BLIND, (race(13, "error", "compute-sanitizer racecheck"),), State.DIFFERS),
    ],
)
def test_expected_findings_of_a_gpu(
    promise: str, findings: tuple[Finding, ...], state: State
) -> None:
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
    row = judge_sample(sample, expectation, report(*findings), Device.CUDA)
    assert row.state is state, row
