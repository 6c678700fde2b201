"""The sample hand-ins: in good order, they compile, and they get their folder's verdict.

On the CPU; what a GPU's tools say about them is shown by `capture_sanitizer.py`.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from expectations import KINDS, PROGRAM, Expectation, Sample, find_samples, parse

from grader import toolchain
from grader.evidence import MemoryEvidence
from grader.pipeline import grade
from grader.plan import Options
from grader.progress import Progress
from grader.spec import Assignment, CaseTemplate
from grader.spec_reader import read_assignment
from grader.submission import read_submission
from grader.verdict import Verdict
from grader.words import CheckName, Language

REPOSITORY = Path(__file__).resolve().parents[2]
SAMPLES = tuple(find_samples(REPOSITORY / "reference"))


def parameters(samples: Iterable[Sample]) -> list[Any]:
    return [pytest.param(sample, id=sample.title) for sample in samples]


MEMORY_ERRORS = parameters(sample for sample in SAMPLES if sample.verdict == "memory_error")
OTHERS = parameters(sample for sample in SAMPLES if sample.verdict != "memory_error")


# ---- in good order ----


@pytest.mark.parametrize("sample", parameters(SAMPLES))
def test_a_sample_is_one_file_of_its_language_below_a_known_verdict(sample: Sample) -> None:
    assert sample.verdict in {verdict.value for verdict in Verdict}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", sample.name)
    others = {path.name for path in sample.folder.iterdir()} - {"__pycache__"}
    assert others <= {"silu.cu", "silu.py", PROGRAM}


def test_every_file_is_a_sample() -> None:
    known = {sample.path for sample in SAMPLES}
    known |= {sample.path.with_name(PROGRAM) for sample in SAMPLES if sample.language == "cuda"}
    files = (path for path in (REPOSITORY / "reference").glob("*/samples/**/*") if path.is_file())
    assert [path for path in files if path not in known and path.suffix != ".pyc"] == []


@pytest.mark.parametrize("sample", MEMORY_ERRORS)
def test_the_expected_lines_are_there(sample: Sample) -> None:
    expected = sample.expectation()
    assert expected is not None
    lines = sample.path.read_text(encoding="utf-8").splitlines()
    for number in expected.lines:
        text = lines[number - 1].strip()
        assert text and not text.startswith(("//", "#", "}"))
    if not (expected.convicts("cpu") and expected.convicts("gpu")):
        assert expected.why, "say why a device is blind"


@pytest.mark.parametrize("sample", OTHERS)
def test_only_a_planted_fault_is_expected(sample: Sample) -> None:
    assert sample.expectation() is None


def test_there_are_enough_and_of_every_kind() -> None:
    count = Counter((sample.verdict, sample.language) for sample in SAMPLES)
    assert count["memory_error", "cuda"] >= 16
    assert count["memory_error", "triton"] >= 9
    assert count["accepted", "cuda"] >= 5
    assert count["accepted", "triton"] >= 4
    expected = (s.expectation() for s in SAMPLES if s.verdict == "memory_error")
    assert {e.kind for e in expected if e is not None} == KINDS


# ---- the first line ----


def test_an_expect_line_is_read() -> None:
    text = '# expect: kind=race line=13,16 cpu=warning gpu=blind why="shared memory only"\nx'
    assert parse(text) == Expectation(
        kind="race", lines=(13, 16), cpu="warning", gpu="blind", why="shared memory only"
    )
    assert parse("// SiLU\n" + text) is None


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        ("kind=race line=3 cpu=error", "missing: ['gpu']"),
        ("kind=race line=3 cpu=error gpu=blind because=x", "unknown: ['because']"),
        ("kind=racing line=3 cpu=error gpu=blind", "kind=racing is none of"),
        ("kind=race line=3 cpu=maybe gpu=blind", "cpu=maybe is none of"),
        ("kind=race line=3 cpu=error gpu=gdb", "gpu=gdb is none of"),
        ("kind=race line=three cpu=error gpu=blind", "no line number"),
        ("kind=race line=3, cpu=error gpu=blind", "no line number"),
        ("kind=race kind=leak line=3 cpu=error gpu=blind", "twice"),
        ("kind=race line=3 cpu=error gpu=blind or so", "`or so` is not key=value"),
    ],
)
def test_a_wrong_expect_line_is_a_sentence(line: str, phrase: str) -> None:
    with pytest.raises(ValueError, match=re.escape(phrase)):
        parse(f"// expect: {line}\n")


def test_a_finding_names_the_lines_that_are_meant() -> None:
    expected = Expectation(kind="race", lines=(13, 16), cpu="error", gpu="racecheck")
    assert expected.named_by(13) and expected.named_by(16, 13)
    assert (
        not expected.named_by(None) and not expected.named_by(14) and not expected.named_by(13, 9)
    )


# ---- they compile ----


@pytest.mark.parametrize("sample", parameters(s for s in SAMPLES if s.language == "triton"))
def test_a_triton_sample_parses(sample: Sample) -> None:
    ast.parse(sample.path.read_text(encoding="utf-8"))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")
def test_nvcc_compiles_the_cuda_samples(tmp_path: Path) -> None:
    """All in one unit, each in a namespace and with a name of its own: seconds, not a minute."""
    unit = ["#include <cuda_fp16.h>", '#include "silu.h"']
    samples = [s for s in SAMPLES if s.language == "cuda" and s.verdict != "compile_error"]
    for number, sample in enumerate(samples):
        unit += [
            f"namespace sample_{number} {{",
            f"#define silu silu_{number}",
            f'#include "{sample.path}"',
            "#undef silu",
            "}",
        ]
    (tmp_path / "samples.cu").write_text("\n".join(unit) + "\n")
    header = REPOSITORY / "student_template" / "silu"
    command = ["nvcc", "-std=c++17", "-arch=sm_80", "-Werror=all-warnings", "-Xcompiler=-Wall"]
    command += [f"-I{header}", "-c", "-o", "samples.o", "samples.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# ---- their verdicts on the CPU ----


@pytest.fixture
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc has compiled all samples above; asking it again for each takes a minute."""
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)


@pytest.fixture(scope="module")
def silu() -> Assignment:
    """SiLU with few small cases and little patience: what the samples need to fail."""
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    sizes = (1, 33, 1025)
    return dataclasses.replace(
        assignment,
        cases=(
            *(CaseTemplate(sizes={"n": n}, memory=True) for n in sizes),
            CaseTemplate(sizes={"n": 4099}, values="edges"),
        ),
        limits=dataclasses.replace(assignment.limits, call_s=1.0),
    )


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize("sample", OTHERS)
def test_a_sample_gets_its_folders_verdict(sample: Sample, silu: Assignment) -> None:
    options = Options(languages=frozenset({Language(sample.language)}))
    report = grade(silu, read_submission(sample.folder, silu), options, Progress())
    assert report.verdict == sample.verdict, report.kernels[0].checks


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize("sample", MEMORY_ERRORS)
def test_the_planted_fault_is_found(sample: Sample, silu: Assignment) -> None:
    expected = sample.expectation()
    assert expected is not None
    options = Options(
        languages=frozenset({Language(sample.language)}), checks=frozenset({CheckName.MEMORY})
    )
    report = grade(silu, read_submission(sample.folder, silu), options, Progress())
    check = next(c for c in report.kernels[0].checks if c.check is CheckName.MEMORY)
    if check.verdict is Verdict.NOT_MEASURED:
        pytest.skip(check.message)
    assert (check.verdict is Verdict.MEMORY_ERROR) == expected.convicts("cpu"), check
    assert isinstance(check.evidence, MemoryEvidence)
    meant = [
        finding
        for finding in check.evidence.findings
        if finding.kind == expected.kind and expected.named_by(finding.line, finding.other_line)
    ]
    assert bool(meant) == (expected.cpu != "blind"), check
    assert all(finding.severity == expected.cpu for finding in meant), meant
