"""Several entries in one file: each with cases, oracle functions and points of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment.generated import write_generated
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.commands.batch.dolos_export import export
from grader.commands.batch.submissions import find_submissions
from grader.commands.release.contents import visible_files
from grader.commands.release.visible import visible_spec
from grader.commands.verify.agreement import agreement_rows
from grader.commands.verify.lints import lint_rows
from grader.commands.verify.plan import plan
from grader.commands.verify.row import State
from grader.errors import SpecError
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.model import KernelResult
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission

SPEC = """\
format = 1
name = "scale"
title = "Scale, and its gradient"

[signature]
entry = "forward"
arguments = [
  { name = "x", type = "float32", shape = ["n"], role = "in" },
  { name = "y", type = "float32", shape = ["n"], role = "out" },
  { name = "n", type = "int32" },
]

[[entries]]
entry = "backward"
arguments = [
  { name = "dy", type = "float32", shape = ["rows"], role = "in" },
  { name = "y", type = "float32", shape = ["rows"], role = "out" },
  { name = "rows", type = "int32" },
]

[[kernels]]
name = "first"
title = "Forward"
files = { cuda = "scale.cu", triton = "scale.py" }
points = { correctness = 30, memory = 10 }

[[kernels]]
name = "second"
title = "Backward"
entry = "backward"
files = { cuda = "scale.cu", triton = "scale.py" }
points = { correctness = 60 }

[tolerance]
exact = true

[[cases]]
sizes = { n = [1, 300] }
memory = true

[[cases]]
entry = "backward"
sizes = { rows = [1, 300] }

[[cases]]
entry = "backward"
sizes = { rows = { min = 2, max = 99 } }
visibility = "hidden"
count = 2
"""
ORACLE = """\
import torch


def inputs(case, dtype, generator):
    return {"x": torch.rand(case.sizes["n"], generator=generator)}


def expected(inputs):
    return {"y": 2 * inputs["x"].double()}


def baseline(inputs, outputs):
    torch.mul(inputs["x"], 2, out=outputs["y"])


def inputs_backward(case, dtype, generator):
    return {"dy": torch.rand(case.sizes["rows"], generator=generator)}


def expected_backward(inputs):
    return {"y": 4 * inputs["dy"].double()}


def baseline_backward(inputs, outputs):
    torch.mul(inputs["dy"], 4, out=outputs["y"])
"""
CUDA = """\
#include "forward.h"
#include "backward.h"

__global__ void multiply(const float* x, float* y, float factor, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // TODO(student): 1 line
    if (i < n) y[i] = factor * x[i];
    // end
}

extern "C" void forward(const float* x, float* y, int n)
{
    multiply<<<(n + 127) / 128, 128>>>(x, y, 2.0f, n);
}

extern "C" void backward(const float* dy, float* y, int rows)
{
    multiply<<<(rows + 127) / 128, 128>>>(dy, y, 4.0f, rows);
}
"""
TRITON = """\
import triton
import triton.language as tl


@triton.jit
def multiply(x, y, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # TODO(student): 1 line
    tl.store(y + i, factor * tl.load(x + i, mask=i < n), mask=i < n)
    # end


def forward(x, y, n):
    multiply[(triton.cdiv(n, 128),)](x, y, 2.0, n, BLOCK=128)


def backward(dy, y, rows):
    multiply[(triton.cdiv(rows, 128),)](dy, y, 4.0, rows, BLOCK=128)
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    files = {
        "assignments/scale/assignment.toml": SPEC,
        "assignments/scale/oracle.py": ORACLE,
        "assignments/scale/README.md": "<!-- signature: generated -->\n<!-- end -->\n",
        "reference/scale/scale.cu": CUDA,
        "reference/scale/scale.py": TRITON,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def scale(course: Path) -> Assignment:
    assignment = read_assignment(course / "assignments" / "scale")
    assert list(write_generated(assignment, course))
    return assignment


def graded(assignment: Assignment, folder: Path) -> dict[str, KernelResult]:
    report = grade(assignment, read_submission(folder, assignment), Options(), Progress())
    return {kernel.name: kernel for kernel in report.kernels}


def submission(tmp_path: Path, name: str, text: str) -> Path:
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_each_kernel_has_the_signature_and_cases_of_its_entry(scale: Assignment) -> None:
    first, second = map(scale.of, scale.kernels)
    assert [one.signature.entry for one in (first, second)] == ["forward", "backward"]
    assert [case.name for case in first.cases] == ["n=1", "n=300"]
    assert [case.name for case in second.cases][:2] == ["rows=1", "rows=300"]
    assert (scale.hidden_cases, scale.max_score, len(scale.cases)) == (2, 100, 6)
    assert scale.paths == ("scale.cu", "scale.py")


def test_an_entry_earns_its_points_whatever_the_other_does(
    scale: Assignment, tmp_path: Path
) -> None:
    wrong = CUDA.replace("4.0f", "4.5f")
    found = graded(scale, submission(tmp_path, "scale.cu", wrong))
    assert (found["first"].verdict, found["first"].score) == (Verdict.ACCEPTED, 40)
    assert (found["second"].verdict, found["second"].score) == (Verdict.WRONG_ANSWER, 0)


@pytest.mark.slow
def test_a_triton_file_has_several_entries_too(scale: Assignment, tmp_path: Path) -> None:
    wrong = TRITON.replace("2.0", "2.5")
    found = graded(scale, submission(tmp_path, "scale.py", wrong))
    assert (found["first"].verdict, found["second"].score) == (Verdict.WRONG_ANSWER, 60)


def test_stubs_headers_and_handout_have_all_entries(scale: Assignment, course: Path) -> None:
    stubs = course / "student_template" / "scale"
    assert {path.name for path in stubs.iterdir()} == {
        *("scale.cu", "scale.py", "forward.h", "backward.h")
    }
    handout = (scale.folder / "README.md").read_text(encoding="utf-8")
    assert "`void backward(const float* dy, float* y, int rows)`" in handout
    assert "`def forward(x, y, n)`" in handout
    assert [row for row in agreement_rows(scale, course) if row.state is not State.AGREES] == []
    rows = list(lint_rows(scale, course / "reference" / "scale"))
    differing = [row.actual for row in rows if row.state is State.DIFFERS]
    assert differing == ["no sample in CUDA C++", "no sample in Triton"]
    assert len([row for row in rows if row.check == "benchmarks"]) == 1


def test_the_students_copy_counts_the_hidden_cases_of_each_entry(
    scale: Assignment, tmp_path: Path
) -> None:
    folder = tmp_path / "students" / "scale"
    folder.mkdir(parents=True)
    for entry in visible_files(scale, graded_again=True):
        if entry.path.startswith("assignments/scale/"):
            (folder / Path(entry.path).name).write_bytes(entry.data)
    copy = read_assignment(folder)
    assert [copy.of(kernel).hidden_elsewhere for kernel in copy.kernels] == [0, 2]
    assert copy.hidden_cases == 2


def test_a_file_is_exported_once(scale: Assignment, tmp_path: Path) -> None:
    for name in ("ada", "bob"):
        (tmp_path / "class" / name).mkdir(parents=True)
        text = f"{CUDA}// {name}"
        (tmp_path / "class" / name / "scale.cu").write_text(text, encoding="utf-8")
    exported, _ = export(find_submissions(tmp_path / "class"), [scale], tmp_path / "out")
    assert [(one.folder.name, one.count) for one in exported] == [("scale.cu", 2)]


def test_an_entry_without_a_case_for_students_is_refused() -> None:
    hidden = 'sizes = { rows = 9 }\nvisibility = "hidden"'
    only_hidden = SPEC.replace("sizes = { rows = [1, 300] }", hidden)
    with pytest.raises(SpecError, match="has no visible case of `backward` for students"):
        visible_spec(only_hidden, Path("assignment.toml"))


def test_a_sample_of_a_shared_file_names_its_kernel(scale: Assignment, course: Path) -> None:
    samples = course / "reference" / "scale" / "samples" / "wrong_answer"
    for name, kernel in (("right", "second"), ("typo", "secund")):
        (samples / name).mkdir(parents=True)
        text = f"// expect: kernel={kernel}\n{CUDA}"
        (samples / name / "scale.cu").write_text(text, encoding="utf-8")
    rows, tasks = plan(scale, course, Options())
    wrong = [row for row in rows if row.subject.startswith("sample wrong_answer/typo")]
    assert [row.actual for row in wrong] == [
        "its first line: kernel=secund has no scale.cu; did you mean `second`?"
    ]
    titles = [task.title for task in tasks]
    assert "scale · sample wrong_answer/right/scale.cu" in titles
    assert "scale · reference scale.cu (second), seed 0" in titles
