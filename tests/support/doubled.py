"""A small assignment that is timed in two types, or as a bare kernel."""

from __future__ import annotations

from pathlib import Path

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment

_SPEC = """\
format = 1
name = "doubled"
title = "Twice"

[signature]
entry = "doubled"
types = { T = ["float32", "float16"] }
arguments = [
  { name = "x", type = "T", shape = ["n"], role = "in" },
  { name = "y", type = "T", shape = ["n"], role = "out" },
  { name = "n", type = "int32" },
]

[[kernels]]
name = "doubled"
title = "Twice"
files = { cuda = "doubled.cu", triton = "doubled.py" }
points = { correctness = 100 }

[tolerance]
exact = true

[[cases]]
sizes = { n = [1, 33] }

[[benchmarks]]
sizes = { n = N }
dtypes = ["float32", "float16"]
bytes = "2 * size * n"
"""
_ORACLE = """\
import torch

def inputs(case, dtype, generator):
    shape = case.sizes["n"]
    return {"x": torch.randn(shape, generator=generator, device=generator.device).to(dtype)}

def expected(inputs):
    return {"y": 2 * inputs["x"].double()}

def baseline(inputs, outputs):
    torch.mul(inputs["x"], 2, out=outputs["y"])
"""
HALF_ONLY = """\
#include "doubled.h"
template <class T> __global__ void kernel(const T* x, T* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = sizeof(T) == 2 ? x[i] + x[i] : x[i];
}
template <class T> void doubled(const T* x, T* y, int n) { kernel<<<n / 256 + 1, 256>>>(x, y, n); }
"""
BARE = """
__global__ void doubled(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
"""
BARE_TRITON = """
import triton
import triton.language as tl

@triton.jit
def doubled(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n)
    tl.store(y + offsets, values + values, mask=offsets < n)
"""
_TYPES = 'types = { T = ["float32", "float16"] }'
_LAUNCH = 'kind = "kernel"\nlaunch = { grid = ["cdiv(n, 64)"], block = [64] }'


def doubled(root: Path, *, bare: bool = False, n: int = 1000) -> Assignment:
    """Make the assignment in `root`: benchmarks in float32 and float16, or of a bare kernel."""
    spec = _SPEC.replace("= N }", f"= {n} }}")
    if bare:
        spec = spec.replace('dtypes = ["float32", "float16"]\n', "").replace('"T"', '"float32"')
        spec = spec.replace(_TYPES, _LAUNCH)
    folder = root / "doubled"
    folder.mkdir(parents=True)
    (folder / "assignment.toml").write_text(spec, encoding="utf-8")
    (folder / "oracle.py").write_text(_ORACLE, encoding="utf-8")
    return read_assignment(folder)
