"""Code that the interpreter runs and a GPU's compiler rejects is a compile error."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.evidence import BuildEvidence
from grader.report.model import Report
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName

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
    return graded_file(folder)


def graded_file(folder: Path) -> Report:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    options = Options(checks=frozenset({CheckName.CORRECTNESS}))
    return grade(assignment, read_submission(folder, assignment), options, Progress())


def warnings(report: Report) -> list[str]:
    evidence = report.kernels[0].checks[0].evidence
    assert isinstance(evidence, BuildEvidence)
    assert {found.severity for found in evidence.diagnostics} <= {"warning"}
    return [found.message for found in evidence.diagnostics]


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


def test_the_assembler_says_why(tmp_path: Path) -> None:
    odd = "    x = tl.load(input + offsets, mask, 0.0, cache_modifier='.cg', eviction_policy='{}')"
    report = graded(tmp_path, odd.format("evict_first"))
    build = report.kernels[0].checks[0]
    assert build.verdict is Verdict.COMPILE_ERROR
    assert "for a GPU: ptxas: Modifier '.evict_first' cannot be combined" in build.message
    assert isinstance(build.evidence, BuildEvidence)
    assert build.evidence.diagnostics[0].message.startswith("ptxas: Modifier")


def test_an_argument_that_cannot_be_rebuilt_is_reported(tmp_path: Path) -> None:
    text = KERNEL.format(odd="").replace("n, BLOCK: tl", "n, unused, BLOCK: tl")
    text = text.replace("output, n, BLOCK=256", "output, n, object(), BLOCK=256")
    (tmp_path / "silu.py").write_text(text)
    for _ in range(2):  # the second time it comes from the cache
        (warning,) = warnings(graded_file(tmp_path))
        assert warning.endswith("compiles for a GPU: `unused` is of type object")


def test_what_cannot_be_compiled_is_reported(tmp_path: Path) -> None:
    odd = "\n\nimport os\nif 'TRITON_INTERPRET' not in os.environ:\n    raise OSError('no GPU')\n"
    text = KERNEL.format(odd="")
    (tmp_path / "silu.py").write_text(text + odd)
    report = graded_file(tmp_path)
    assert report.verdict is Verdict.ACCEPTED
    (warning,) = warnings(report)
    assert warning.startswith("kernel `silu_kernel` was not compiled")
    assert warning.endswith("the file does not load without the interpreter: OSError: no GPU")


def test_an_infinite_constant_is_compiled_too(tmp_path: Path) -> None:
    text = KERNEL.replace("BLOCK=256", "BLOCK=256, LEAST=float('-inf')")
    text = text.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, LEAST: tl.constexpr")
    odd = "    x = tl.maximum(x, LEAST)\n    for i in range(3):\n        break"
    report = graded(tmp_path, odd, text)
    assert report.kernels[0].verdict is Verdict.COMPILE_ERROR, report


def test_what_compiles_is_accepted(tmp_path: Path) -> None:
    report = graded(tmp_path, "    x = x * 1.0")
    assert report.verdict is Verdict.ACCEPTED, report
    assert warnings(report) == []
