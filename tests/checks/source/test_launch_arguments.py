"""Launches whose arguments or axes the source shows to be wrong, and those that it does not."""

from __future__ import annotations

import dataclasses

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.checks.source.launch_arguments import (
    launch_hint,
    missing_axis_hint,
    shared_bytes_hint,
)
from grader.vocabulary import Language

TRANSPOSE = read_assignment(REPOSITORY / "assignments" / "transpose").signature
CPP = """\
__global__ void turn(const float* input, float* output, int rows, int cols)
{
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < rows && col < cols) output[col * rows + row] = input[row * cols + col];
}
__global__ void limited(float* to, int len) { if (threadIdx.x < len) to[threadIdx.x] = 1; }
__global__ void named(float* to, int n_cols, int ROWS) { to[blockIdx.x] = n_cols + ROWS; }
__global__ void one(const float* from, float* to, int n) { to[blockIdx.x] = from[n]; }
extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    dim3 block(16, 16), grid((cols + 15) / 16, (rows + 15) / 16);
    int n = rows * cols;
    LAUNCH;
}
"""
PYTHON = """\
@triton.jit
def turn(input, output, rows, cols, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    col = tl.program_id(1) * TILE + tl.arange(0, TILE)
    tl.store(output + col[:, None] * rows + row[None, :], tl.load(input + row))

def transpose(input, output, rows, cols):
    grid = (triton.cdiv(rows, 32), triton.cdiv(cols, 32))
    LAUNCH
"""


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        ("turn<<<grid, block>>>(input, output, rows, cols)", ""),
        (
            "turn<<<grid, block>>>(input, output, cols, rows)",
            "line 13 passes `cols` for the parameter `rows` of `turn`, and `rows` for `cols`: are",
        ),
        (
            "turn<<<grid, block>>>((float*)output, (float*)input, rows, cols)",
            "line 13 passes `output` for the parameter `input` of `turn`, and `input` for",
        ),
        (
            "turn<<<grid, block>>>(input, output, cols, cols)",
            "line 13 passes `cols` for the parameter `rows` of `turn`: should it be `rows`?",
        ),
        (
            "one<<<n, 1>>>(output, (float*)input, n)",
            "line 13 passes the input `input` for `to`, which the kernel writes, and the output "
            "`output` for `from`, which it reads: are",
        ),
        ("one<<<n, 1>>>(input, output, n)", ""),
        ("one<<<n, 1>>>(input, output + rows, cols)", ""),
        (
            "turn<<<n / 16, block>>>(input, output, rows, cols)",
            "line 13 launches a grid of one axis, `n / 16`, but `turn` uses blockIdx.y",
        ),
        ("turn<<<grid, 256>>>(input, output, rows, cols)", "a block of one axis, `256`, but"),
        (
            "turn<<<grid, dim3(256)>>>(input, output, rows, cols)",
            "a block of one axis, `dim3(256)`",
        ),
        ("turn<<<blocks(n), block>>>(input, output, rows, cols)", ""),  # perhaps a dim3
        ("unknown<<<grid, block>>>(output, input, cols, rows)", ""),
        (
            "turn<<<grid, block>>>(input, output, rows, 16)",
            "line 13 passes `16` for the parameter `cols` of `turn`, and `cols` itself to none",
        ),
        (
            "turn<<<grid, block>>>(input, output, cols, 16)",
            "",
        ),
        (
            "turn<<<grid, block>>>(input, output, grid, cols)",
            "passes `grid` for the parameter `rows`",
        ),
        ("turn<<<grid, block>>>(input, output, rows, cols / 4)", ""),
        (
            "named<<<n, 16>>>(output, rows, cols)",
            "`rows` for the parameter `n_cols` of `named`, and",
        ),
        ("named<<<n, 16>>>(output, cols, rows)", ""),
        ("limited<<<n, 16>>>(output, 4 * 16)", ""),  # perhaps a table of its own
        ("limited<<<n, 16>>>(output, rows * 16)", ""),
    ],
)
def test_a_launch_of_cuda(launch: str, said: str) -> None:
    found = launch_hint(CPP.replace("LAUNCH", launch), Language.CUDA, TRANSPOSE)
    assert said in found if said else found == ""


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        ("turn[grid](input, output, rows, cols, TILE=32)", ""),
        (
            "turn[grid](input, output, cols, rows, TILE=32)",
            "line 9 passes `cols` for the parameter",
        ),
        ("turn[(rows,)](input, output, rows, cols, TILE=32)", "a grid of one axis, `(rows,)`, but"),
        ("turn[lambda meta: (rows, cols)](input, output, rows, cols, TILE=32)", ""),
        ("turn[size(rows)](input, output, rows, cols, TILE=32)", ""),
    ],
)
def test_a_launch_of_triton(launch: str, said: str) -> None:
    found = launch_hint(PYTHON.replace("LAUNCH", launch), Language.TRITON, TRANSPOSE)
    assert said in found if said else found == ""


@pytest.mark.parametrize(
    "path", sorted(REPOSITORY.glob("reference/*/*.*")), ids=lambda one: one.name
)
def test_nothing_is_said_about_right_solutions(path: object) -> None:
    assert hasattr(path, "suffix") and hasattr(path, "parent") and hasattr(path, "read_text")
    language = Language.TRITON if path.suffix == ".py" else Language.CUDA
    signature = read_assignment(REPOSITORY / "assignments" / path.parent.name).signature
    assert launch_hint(path.read_text("utf-8"), language, signature) == ""


def test_a_kernel_that_failed_and_got_no_size() -> None:
    text = CPP.replace("LAUNCH", "limited<<<n, 16>>>(output, 4 * 16)")
    found = launch_hint(text, Language.CUDA, TRANSPOSE, "limited")
    assert found == (
        "line 13 passes `4 * 16` for the parameter `len` of `limited`, which is the same in each "
        "call, and no size: should it be `cols` or another size?"
    )
    sized = text.replace("4 * 16", "rows * 16")
    assert launch_hint(sized, Language.CUDA, TRANSPOSE, "limited") == ""
    without = dataclasses.replace(TRANSPOSE, arguments=TRANSPOSE.arrays)
    assert launch_hint(text, Language.CUDA, without, "limited") == ""


def test_a_number_of_bytes_for_a_length() -> None:
    text = CPP.replace("LAUNCH", "limited<<<1, 256>>>(output, n * sizeof(float))")
    said = launch_hint(text, Language.CUDA, TRANSPOSE, "limited")
    assert said.startswith("line 13 passes `n * sizeof(float)`, a number of bytes, for the")
    assert launch_hint(text.replace(" * sizeof(float)", ""), Language.CUDA, TRANSPOSE) == ""


def test_another_launch_that_lacks_an_axis() -> None:
    text = CPP.replace("LAUNCH", "turn<<<dim3((cols + 15) / 16), block>>>(input, output, n, n)")
    assert "but `turn` uses blockIdx.y" in missing_axis_hint(text, Language.CUDA)
    assert (
        missing_axis_hint(CPP.replace("LAUNCH", "one<<<1, 1>>>(input, output, 0)"), Language.CUDA)
        == ""
    )


def test_the_bytes_of_an_array_that_the_launch_gives() -> None:
    text = (
        "__global__ void k(int* y)\n{\n    extern __shared__ int own[];\n"
        "    __shared__ int other[4];\n}\nvoid f() { k<<<1, 256SHARED>>>(y); }\n"
    )
    found = shared_bytes_hint(text.replace("SHARED", ""), "k", "own")
    assert "the launch in line 6 gives its bytes, but it gives none" in found
    assert "`64`: are" in shared_bytes_hint(text.replace("SHARED", ", 64"), "k", "own")
    assert shared_bytes_hint(text.replace("SHARED", ""), "k", "other") == ""
