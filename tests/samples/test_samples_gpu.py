"""The planted faults under compute-sanitizer, on a real GPU: same kind, same line."""

from __future__ import annotations

from pathlib import Path

import pytest
from expectations import Sample, find_samples

from grader.evidence import MemoryEvidence
from grader.gpu import Gpu
from grader.pipeline import grade
from grader.plan import Options
from grader.progress import Progress
from grader.report import CheckResult
from grader.spec_reader import read_assignment
from grader.submission import read_submission
from grader.verdict import Verdict
from grader.words import CheckName, Language

pytestmark = pytest.mark.gpu

REPOSITORY = Path(__file__).resolve().parents[2]
SAMPLES = [
    pytest.param(sample, id=sample.title)
    for sample in find_samples(REPOSITORY / "reference")
    if sample.verdict in ("memory_error", "accepted")
]


def memory_check(gpu: Gpu, sample: Sample) -> CheckResult:
    assignment = read_assignment(REPOSITORY / "assignments" / sample.assignment)
    options = Options(
        gpu=gpu,
        languages=frozenset({Language(sample.language)}),
        checks=frozenset({CheckName.MEMORY}),
    )
    report = grade(assignment, read_submission(sample.folder, assignment), options, Progress())
    (check,) = (c for k in report.kernels for c in k.checks if c.check is CheckName.MEMORY)
    return check


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_gpus_tools_see_what_the_sample_says(first_gpu: Gpu, sample: Sample) -> None:
    check = memory_check(first_gpu, sample)
    findings = check.evidence.findings if isinstance(check.evidence, MemoryEvidence) else ()
    expected = sample.expectation()
    if expected is None:
        assert check.verdict is Verdict.ACCEPTED, check.message
        assert not findings
        return
    meant = [f for f in findings if f.kind == expected.kind and expected.named_by(f.line)]
    if expected.gpu == "blind":
        assert not meant
        return
    assert meant, check.message
    assert meant[0].tool == f"compute-sanitizer {expected.gpu}"
    assert meant[0].severity == expected.gpu_severity
    assert (check.verdict is Verdict.MEMORY_ERROR) == expected.convicts("gpu")
