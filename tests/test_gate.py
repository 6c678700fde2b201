"""What the interpreter runs and a GPU's compiler rejects is a compile error."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.evidence import BuildEvidence
from grader.pipeline import grade
from grader.plan import Options
from grader.progress import Progress
from grader.report import Report
from grader.spec_reader import read_assignment
from grader.submission import read_submission
from grader.verdict import Verdict
from grader.words import CheckName

REPOSITORY = Path(__file__).resolve().parent.parent

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask, other=0.0)
{odd}
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


print("{{not the compiler's answer")


def silu(input, output, n):
    silu_kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
"""


def graded(folder: Path, odd: str, text: str = KERNEL) -> Report:
    (folder / "silu.py").write_text(text.format(odd=odd))
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    options = Options(checks=frozenset({CheckName.CORRECTNESS}))
    return grade(assignment, read_submission(folder, assignment), options, Progress())


@pytest.mark.parametrize(
    ("odd", "line", "phrase"),
    [
        ("    for i in range(3):\n        if i == 1:\n            break", 12, "Break"),
        ("    y = 0\n    for i in range(3):\n        y = y + x", 11, "type"),
    ],
)
def test_it_is_a_compile_error_at_its_line(
    tmp_path: Path, odd: str, line: int, phrase: str
) -> None:
    report = graded(tmp_path, odd)
    (kernel,) = report.kernels
    assert kernel.verdict is Verdict.COMPILE_ERROR
    assert kernel.score == 0
    build, correctness = kernel.checks[:2]
    assert f"silu.py:{line}: the interpreter runs it" in build.message
    assert phrase in build.message
    assert isinstance(build.evidence, BuildEvidence)
    assert build.evidence.diagnostics[0].line == line
    assert correctness.verdict is Verdict.SKIPPED


def test_an_infinite_constant_is_compiled_too(tmp_path: Path) -> None:
    text = KERNEL.replace("BLOCK=256", "BLOCK=256, LEAST=float('-inf')")
    text = text.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, LEAST: tl.constexpr")
    odd = "    x = tl.maximum(x, LEAST)\n    for i in range(3):\n        break"
    report = graded(tmp_path, odd, text)
    assert report.kernels[0].verdict is Verdict.COMPILE_ERROR, report


def test_what_compiles_is_accepted(tmp_path: Path) -> None:
    report = graded(tmp_path, "    x = x * 1.0")
    assert report.verdict is Verdict.ACCEPTED, report
