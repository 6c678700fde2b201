"""Cases that choose the type of arrays: a template in CUDA C++, any tensor in Triton."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.evidence import CorrectnessEvidence
from grader.report.model import KernelResult
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Language

SPEC = """\
format = 1
name = "axpy"
title = "a x + y"

[signature]
entry = "axpy"
types = { T = ["float32", "float16"] }
arguments = [
  { name = "x", type = "T", shape = ["n"], role = "in" },
  { name = "y", type = "T", shape = ["n"], role = "inout" },
  { name = "a", type = "float32" },
  { name = "n", type = "int32" },
]

[[kernels]]
name = "axpy"
title = "a x + y"
files = { cuda = "axpy.cu", triton = "axpy.py" }
points = { correctness = 75, memory = 25 }

[tolerance]
float32 = { atol = 1e-6, rtol = 1e-5 }
float16 = { atol = 2e-3, rtol = 2e-3 }

[[cases]]
sizes = { n = [33, 300], a = [2.0, -1.0] }
memory = true
"""
ORACLE = """\
import torch


def inputs(case, dtype, generator):
    assert dtype is getattr(torch, case.dtype)
    return {name: torch.randn(case.sizes["n"], generator=generator).to(dtype) for name in "xy"}


def expected(inputs):
    return {"y": inputs["a"] * inputs["x"].double() + inputs["y"].double()}


def baseline(inputs, outputs):
    outputs["y"].add_(inputs["x"], alpha=inputs["a"])
"""
CUDA = """\
#include "axpy.h"

template <class T> __global__ void axpy_kernel(const T* x, T* y, float a, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = static_cast<T>(a * static_cast<float>(x[i]) + static_cast<float>(y[i]));
}

template <class T> void axpy(const T* x, T* y, float a, int n)
{
    axpy_kernel<<<(n + 255) / 256, 256>>>(x, y, a, n);
}
"""
TRITON = """\
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = a * tl.load(x + i, mask=i < n).to(tl.float32) + tl.load(y + i, mask=i < n)
    tl.store(y + i, value, mask=i < n)


def axpy(x, y, a, n):
    axpy_kernel[(triton.cdiv(n, 256),)](x, y, a, n, BLOCK=256)
"""

_FUNCTION = "void axpy(const float* x, float* y"


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    folder = tmp_path / "assignments" / "axpy"
    folder.mkdir(parents=True)
    (folder / "assignment.toml").write_text(SPEC, encoding="utf-8")
    (folder / "oracle.py").write_text(ORACLE, encoding="utf-8")
    return read_assignment(folder)


def graded(
    assignment: Assignment, tmp_path: Path, files: dict[str, str]
) -> tuple[KernelResult, ...]:
    submission = tmp_path / "submission"
    submission.mkdir()
    for name, text in files.items():
        (submission / name).write_text(text, encoding="utf-8")
    return grade(assignment, read_submission(submission, assignment), Options(), Progress()).kernels


@pytest.mark.slow
def test_one_file_serves_all_types_in_both_languages(
    assignment: Assignment, tmp_path: Path
) -> None:
    files = graded(assignment, tmp_path, {"axpy.cu": CUDA, "axpy.py": TRITON})
    assert {file.language: file.verdict for file in files} == {
        Language.CUDA: Verdict.ACCEPTED,
        Language.TRITON: Verdict.ACCEPTED,
    }


def test_a_type_in_which_a_kernel_is_wrong_is_named(assignment: Assignment, tmp_path: Path) -> None:
    wrong = CUDA.replace("if (i < n)", "if (i < n && (sizeof(T) == 4 || i % 32))")
    (file,) = graded(assignment, tmp_path, {"axpy.cu": wrong})
    check = next(one for one in file.checks if one.check is CheckName.CORRECTNESS)
    assert isinstance(check.evidence, CorrectnessEvidence)
    assert [(case.name, case.verdict) for case in check.evidence.cases] == [
        ("n=33, a=2.0, float32", Verdict.ACCEPTED),
        ("n=33, a=2.0, float16", Verdict.WRONG_ANSWER),
        ("n=300, a=-1.0, float32", Verdict.ACCEPTED),
        ("n=300, a=-1.0, float16", Verdict.WRONG_ANSWER),
    ]
    assert "only the cases with float16 are wrong" in check.message


def changed(old: str, new: str) -> str:
    """Return the entry's file with another text in the entry, the last function."""
    kernel, entry = CUDA.rsplit("template", 1)
    assert old in f"template{entry}"
    return kernel + f"template{entry}".replace(old, new)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        (
            changed("template <class T> void axpy(const T* x, T* y", _FUNCTION),
            "`axpy` is no template",
        ),
        (changed("float a, int n", "int n, float a"), "wrong parameter list"),
        (changed("void axpy(", "void axby("), "did you mean `axby`?"),
    ],
    ids=["a-function", "other-parameters", "another-name"],
)
def test_an_entry_that_does_not_fit_is_explained(
    text: str, phrase: str, assignment: Assignment, tmp_path: Path
) -> None:
    (file,) = graded(assignment, tmp_path, {"axpy.cu": text})
    (build, *_) = file.checks
    assert build.verdict is Verdict.COMPILE_ERROR
    assert phrase in build.message
    assert "template <class T> void axpy(const T* x, T* y, float a, int n)" in build.hint
