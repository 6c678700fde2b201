"""A small course for the tests: one assignment, free of errors until a test edits it.

affine      y = scale * x * weight + shift for n elements
v0_torch    PyTorch (Python), torch allowed, no memory check
v1_simple   CUDA C++
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.assignment.generated import generated_files
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment

SPEC = """\
format = 1
name = "affine"
title = "Affine"
tolerance = { atol = 1e-6, rtol = 1e-5 }

[signature]
entry = "affine"
arguments = [
  { name = "input", type = "float32", shape = ["n"], role = "in" },
  { name = "weight", type = "float32", shape = ["n"], role = "in" },
  { name = "output", type = "float32", shape = ["n"], role = "out" },
  { name = "n", type = "int32" },
  { name = "shift", type = "float32", default = 0.5 },
]

[[kernels]]
name = "v0_torch"
title = "PyTorch"
files = { triton = "v0_torch.py" }
points = { correctness = 20 }
rules = { torch = "allowed" }

[[kernels]]
name = "v1_simple"
title = "A thread per element"
files = { cuda = "v1_simple.cu" }
points = { correctness = 60, memory = 20 }

[[cases]]
sizes = { n = [1, 33, 257] }
memory = true

[[cases]]
sizes = { n = { min = 300, max = 900 } }
visibility = "hidden"
"""

ORACLE = '''\
"""y = 2 x w + shift."""
import torch


def inputs(case, dtype, generator):
    n = case.sizes["n"]
    return {
        "input": torch.randn(n, generator=generator).to(dtype),
        "weight": 1 + torch.rand(n, generator=generator).to(dtype),
    }


def expected(inputs):
    x, w = inputs["input"].double(), inputs["weight"].double()
    return {"output": 2 * x * w + inputs["shift"]}


def baseline(inputs, outputs):
    outputs["output"].copy_(2 * inputs["input"] * inputs["weight"] + inputs["shift"])
'''

CUDA = """\
#include "affine.h"

__global__ void affine_kernel(const float* input, const float* weight, float* output, int n,
                              float shift)
{
    const int i = blockIdx.x * 128 + threadIdx.x;
    // TODO(student): about 1 line
    if (i < n) output[i] = 2.0f * input[i] * weight[i] + shift;
    // end
}

extern "C" void affine(const float* input,   // (n)
                       const float* weight,  // (n)
                       float* __restrict__ output, int n, float shift)
{
    affine_kernel<<<(n + 127) / 128, 128>>>(input, weight, output, n, shift);
}
"""

TORCH = '''\
"""PyTorch."""


def affine(input, weight, output, n, shift):
    """Write the result into `output`."""
    # TODO(student): 1 line
    output.copy_(2 * input * weight + shift)
    # end
'''

SAMPLES = {
    "accepted/block-of-32/v1_simple.cu": CUDA.replace("128", "32").replace("127", "31"),
    "accepted/one-by-one/v0_torch.py": TORCH.replace("2 * input * weight", "input * weight * 2"),
    "wrong_answer/forgot-the-shift/v0_torch.py": TORCH.replace(" + shift", ""),
    "wrong_answer/forgot-the-shift/v1_simple.cu": (
        '// expect: message="wrong" check=correctness\n' + CUDA.replace(" + shift;", ";")
    ),
    "memory_error/missing-guard/v1_simple.cu": (
        "// expect: kind=out_of_bounds line=9 cpu=error gpu=memcheck\n"
        + CUDA.replace("if (i < n) ", "")
    ),
    "too_slow/one-thread/v1_simple.cu": (
        '// expect: device=cuda why="one thread does it all"\n' + CUDA.replace("128", "1")
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The repository of the course, in a temporary folder."""

    root: Path

    @property
    def assignment(self) -> Assignment:
        """The assignment, read from its current files."""
        return read_assignment(self.root / "assignments" / "affine")

    @property
    def reference(self) -> Path:
        return self.root / "reference" / "affine"

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a text everywhere in a file, which must contain it."""
        file = self.root / path
        text = file.read_text()
        assert old in text, f"{path} has no {old!r}"
        file.write_text(text.replace(old, new))

    def generate(self) -> None:
        """Make stubs, header and fingerprints as `python -m grader.assignment.generated` does."""
        for path, text in generated_files(self.root):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def make_course(root: Path) -> Course:
    """Write the course; stubs, headers and fingerprints are current."""
    files = {
        "assignments/affine/assignment.toml": SPEC,
        "assignments/affine/oracle.py": ORACLE,
        "reference/affine/v0_torch.py": TORCH,
        "reference/affine/v1_simple.cu": CUDA,
        **{f"reference/affine/samples/{path}": text for path, text in SAMPLES.items()},
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    course = Course(root=root)
    course.generate()
    return course
