"""Kernels with headers: the student's own, and given ones that no submission can change."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment.generated import write_generated
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.commands.release.contents import stub_files, visible_files
from grader.commands.verify.agreement import agreement_rows
from grader.commands.verify.row import State
from grader.grading.pipeline import grade
from grader.grading.plan import Options, make_plan
from grader.grading.progress import Progress
from grader.report.model import KernelResult
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission

SPEC = """\
format = 1
name = "twice"
title = "Twice"
given = ["launcher.cuh"]

[signature]
entry = "twice"
arguments = [
  { name = "x", type = "float32", shape = ["n"], role = "in" },
  { name = "y", type = "float32", shape = ["n"], role = "out" },
  { name = "n", type = "int32" },
]

[[kernels]]
name = "twice"
title = "Twice"
files = { cuda = ["twice.cu", "double.cuh"] }
points = { correctness = 75, memory = 25 }

[tolerance]
exact = true

[[cases]]
sizes = { n = [1, 300] }
memory = true
"""
ORACLE = """\
import torch


def inputs(case, dtype, generator):
    return {"x": torch.rand(case.sizes["n"], generator=generator, dtype=dtype)}


def expected(inputs):
    return {"y": 2 * inputs["x"].double()}


def baseline(inputs, outputs):
    torch.mul(inputs["x"], 2, out=outputs["y"])
"""
LAUNCHER = """\
// Given: it launches your kernel.
#pragma once
extern "C" void twice(const float* x, float* y, int n)
{
    twice_kernel<<<(n + 127) / 128, 128>>>(x, y, n);
}
"""
ENTRY = """\
#include "twice.h"
#include "double.cuh"

__global__ void twice_kernel(const float* x, float* y, int n)
{
    // TODO(student): about 2 lines
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    store(x, y, i, n);
    // end
}

#include "launcher.cuh"
"""
HEADER = """\
#pragma once
__device__ void store(const float* x, float* y, int i, int n)
{
    // TODO(student): 1 line
    if (i < n) y[i] = 2 * x[i];
    // end
}
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    files = {
        "assignments/twice/assignment.toml": SPEC,
        "assignments/twice/oracle.py": ORACLE,
        "assignments/twice/launcher.cuh": LAUNCHER,
        "reference/twice/twice.cu": ENTRY,
        "reference/twice/double.cuh": HEADER,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def twice(course: Path) -> Assignment:
    assignment = read_assignment(course / "assignments" / "twice")
    assert list(write_generated(assignment, course))
    return assignment


def graded(assignment: Assignment, folder: Path, **changes: str | None) -> KernelResult:
    """Grade the folder's files, some of which have another text, or are missing."""
    for name, text in changes.items():
        file = folder / f"{name}.{'cu' if name == 'twice' else 'cuh'}"
        if text is None:
            file.unlink()
        else:
            file.write_text(text, encoding="utf-8")
    report = grade(assignment, read_submission(folder, assignment), Options(), Progress())
    (kernel,) = report.kernels
    return kernel


def test_a_kernel_with_a_header_of_its_own_and_a_given_one_is_accepted(
    twice: Assignment, course: Path
) -> None:
    kernel = graded(twice, course / "reference" / "twice")
    assert (kernel.verdict, kernel.score) == (Verdict.ACCEPTED, 100)


def test_stubs_and_archives_have_all_files_and_the_fingerprints_those_of_students(
    twice: Assignment, course: Path
) -> None:
    stubs = {entry.path: entry.data.decode() for entry in stub_files(twice, course)}
    folder = "student_template/twice"
    assert set(stubs) == {
        f"{folder}/{n}" for n in ("twice.cu", "double.cuh", "twice.h", "launcher.cuh")
    }
    assert "2 * x[i]" not in stubs[f"{folder}/double.cuh"]
    assert stubs[f"{folder}/launcher.cuh"] == LAUNCHER
    shown = {entry.path for entry in visible_files(twice, graded_again=True)}
    assert "assignments/twice/launcher.cuh" in shown
    template = read_submission(course / folder, twice)
    assert make_plan(twice, template, Options()).files == ()
    (course / folder / "double.cuh").write_text(HEADER, encoding="utf-8")
    changed = read_submission(course / folder, twice)
    assert len(make_plan(twice, changed, Options()).files) == 1


def test_a_changed_given_file_is_not_used_and_that_is_said(twice: Assignment, course: Path) -> None:
    kernel = graded(twice, course / "reference" / "twice", launcher="#error changed\n")
    assert kernel.verdict is Verdict.ACCEPTED
    build = next(check for check in kernel.checks if check.name == "build")
    (warning,) = build.evidence.diagnostics  # type: ignore[union-attr]
    assert (warning.file, warning.severity) == ("launcher.cuh", "warning")
    assert "the course's own is used" in warning.message


def test_a_missing_header_is_named(twice: Assignment, course: Path) -> None:
    kernel = graded(twice, course / "reference" / "twice", double=None)
    assert kernel.verdict is Verdict.COMPILE_ERROR
    assert kernel.checks[0].message == "there is no double.cuh, which belongs to twice.cu"


def test_an_error_in_a_header_has_its_file_and_line(twice: Assignment, course: Path) -> None:
    wrong = HEADER.replace("2 * x[i]", "2 * z[i]")
    kernel = graded(twice, course / "reference" / "twice", double=wrong)
    assert kernel.verdict is Verdict.COMPILE_ERROR
    assert kernel.checks[0].message.startswith("double.cuh:5: ")


def test_a_memory_error_in_a_header_has_its_file_and_line(twice: Assignment, course: Path) -> None:
    wrong = HEADER.replace("if (i < n) ", "")
    kernel = graded(twice, course / "reference" / "twice", double=wrong)
    assert kernel.verdict is Verdict.MEMORY_ERROR
    memory = next(check for check in kernel.checks if check.name == "memory")
    assert memory.message.startswith("double.cuh:5: ")


def test_verify_reads_an_entry_in_a_given_launcher(twice: Assignment, course: Path) -> None:
    rows = {row.check: row for row in agreement_rows(twice, course)}
    assert rows["signature"].state is State.AGREES, rows["signature"].actual
    (course / "reference" / "twice" / "twice.cu").write_text("", encoding="utf-8")
    launcher = twice.folder / "launcher.cuh"
    launcher.write_text(LAUNCHER.replace("int n", "long n"), encoding="utf-8")
    rows = {row.check: row for row in agreement_rows(twice, course)}
    assert "long n" in rows["signature"].actual
