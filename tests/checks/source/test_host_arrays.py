"""What the source says about memory of host code."""

from __future__ import annotations

import time

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.checks.source.host_arrays import (
    appended_hint,
    cleared_in_part_hint,
    copied_in_part_hint,
    copied_too_early_hint,
    fixed_array_hint,
    loop_hint,
    reserved_hint,
    room_hint,
)
from grader.report.evidence import Finding

HOST = """\
void copy(const float* h, float* d, int rows)
{
    MADE
    for (int i = 0; i < rows; ++i)
        FILLED
}
"""


@pytest.mark.parametrize(
    ("made", "filled", "said"),
    [
        ("std::vector<float> v(rows);", "v.push_back(h[i]);", "line 5 appends others behind them"),
        ("std::vector<float> v(rows, 0.0f);", "v.emplace_back(h[i]);", "`v` has `rows` elements"),
        ("std::vector<float> v;", "v.push_back(h[i]);", ""),
        ("std::vector<float> v(rows);", "v[i] = h[i];", ""),
        ("std::vector<float> v(rows); v.clear();", "v.push_back(h[i]);", ""),
    ],
)
def test_a_vector_with_a_length_and_elements_behind_it(made: str, filled: str, said: str) -> None:
    found = appended_hint(HOST.replace("MADE", made).replace("FILLED", filled))
    assert said in found
    assert bool(said) == bool(found)


def test_an_array_of_a_fixed_length_in_a_loop() -> None:
    text = HOST.replace("MADE", "float v[64];").replace("FILLED", "v[i] = h[i];")
    outside = Finding(
        kind="out_of_bounds",
        severity="warning",
        message="an array index is outside the array: `v`",
        hint="",
        file="copy.cu",
        line=5,
        buffer="v",
        tool="host device",
    )
    said = fixed_array_hint(text, outside)
    assert said.startswith("`v` has 64 elements (line 3), and line 5 runs in the loop `i < rows`")
    assert fixed_array_hint(text.replace("float v[64];", ""), outside) == ""


GEMM = read_assignment(REPOSITORY / "assignments" / "gemm").signature


@pytest.mark.parametrize(
    ("bytes_", "said"),
    [
        ("m * n * sizeof(float)", ""),
        ("sizeof(float) * n * m", ""),
        ("m * n", "line 3 sets `m * n` bytes of `c`, which has `m * n * sizeof(float)`"),
        ("count", ""),  # perhaps
    ],
)
def test_an_output_that_is_cleared_in_part(bytes_: str, said: str) -> None:
    text = f"void gemm(float* c, int m, int n)\n{{\n    cudaMemset(c, 0, {bytes_});\n}}\n"
    assert cleared_in_part_hint(text, "c", GEMM).startswith(said)


PARTS = """\
__global__ void add(const float* from, float* to, int length)
{
    for (int i = threadIdx.x; i < length; i += 256) atomicAdd(to, from[i]);
}
void reduction(const float* x, float* sum, int n)
{
    int blocks = n / 256;
    float* parts;
    cudaMalloc(&parts, blocks * sizeof(float));
    add<<<blocks, 256>>>(x, parts, n);
    add<<<1, 256>>>(parts, sum, LENGTH);
}
"""


def test_an_array_that_is_passed_with_another_length() -> None:
    found = Finding(
        kind="out_of_bounds", severity="error", message="the access is past the end of its buffer",
        hint="", file="sum.cu", line=3, kernel="add", buffer="parts", tool="host device",
    )  # fmt: skip
    said = room_hint(PARTS.replace("LENGTH", "n"), found)
    assert said.startswith("line 11 passes `parts`, which has `blocks` elements (line 9), with the")
    assert room_hint(PARTS.replace("LENGTH", "blocks"), found).startswith("`parts` was given")


def test_a_vector_that_only_has_room() -> None:
    made = "std::vector<float> v; v.reserve(rows);"
    text = HOST.replace("MADE", made).replace("FILLED", "v[i] = h[i];")
    said = reserved_hint(text)
    assert said.startswith("`v` has no elements: reserve() in line 3 only makes room")
    assert said.endswith("v.resize(rows)")
    assert reserved_hint(text.replace("v[i] = h[i]", "v.push_back(h[i])")) == ""
    assert reserved_hint(text.replace("reserve", "resize")) == ""


@pytest.mark.parametrize(
    ("bytes_", "said"),
    [
        ("m * n", "line 3 copies `m * n` bytes into `c`, which has `m * n * sizeof(float)`"),
        ("m * n * sizeof(float)", ""),
        ("bytes", ""),
    ],
)
def test_a_copy_of_a_part(bytes_: str, said: str) -> None:
    text = f"void gemm(float* c, int m, int n)\n{{\n    cudaMemcpy(c, a, {bytes_}, kind);\n}}\n"
    assert copied_in_part_hint(text, "c", GEMM).startswith(said)


EARLY = """\
__global__ void add(const float* x, float* total) { atomicAdd(total, x[threadIdx.x]); }
void reduction(const float* x, float* sum, int n)
{
    FIRST
    SECOND
}
"""
COPY = "cudaMemcpy(&host, total, sizeof(float), cudaMemcpyDeviceToHost);"
LAUNCH = "add<<<1, n>>>(x, total);"


def test_a_copy_before_the_launch_that_computes_its_source() -> None:
    said = copied_too_early_hint(EARLY.replace("FIRST", COPY).replace("SECOND", LAUNCH))
    assert said.startswith("line 4 copies `total` to the host before line 5 launches `add`")
    right = EARLY.replace("FIRST", LAUNCH).replace("SECOND", COPY)
    assert copied_too_early_hint(right) == ""
    assert copied_too_early_hint(EARLY.replace("FIRST", COPY).replace("SECOND", "")) == ""


def test_a_loop_downwards_over_an_unsigned_number() -> None:
    text = HOST.replace("int i = 0; i < rows; ++i", "KIND i = rows - 1; i >= 0; --i")
    text = text.replace("MADE", "").replace("FILLED", "d[i] = h[i];")
    outside = Finding(
        kind="out_of_bounds", severity="error", hint="", file="copy.cu", line=5, buffer="h",
        message="host code accesses memory outside an array", tool="host device",
    )  # fmt: skip
    said = loop_hint(text.replace("KIND", "size_t"), outside, GEMM)
    assert said.startswith("`i` is unsigned: `i >= 0` always holds")
    assert "unsigned" not in loop_hint(text.replace("KIND", "int"), outside, GEMM)


@pytest.mark.parametrize(
    "hostile",
    [
        "v.reserve(",
        "std::vector<float> v(n",
        "cudaMemcpy(",
        "cudaMemcpy(c,",
        "size_t i",
        "unsigned  ",
        "for (i >= 0;",
        "a[a[",
        "if (",
        "cudaMemset(c,",
    ],
)
def test_a_hostile_source_is_read_in_time(hostile: str) -> None:
    text = HOST.replace("MADE", hostile * (18_000 // len(hostile))).replace("FILLED", "h[i];")
    outside = Finding(
        kind="out_of_bounds", severity="error", hint="", file="copy.cu", line=5, buffer="h",
        message="host code accesses memory outside an array", tool="host device",
    )  # fmt: skip
    began = time.process_time()
    appended_hint(text)
    reserved_hint(text)
    copied_too_early_hint(text)
    copied_in_part_hint(text, "c", GEMM)
    cleared_in_part_hint(text, "c", GEMM)
    fixed_array_hint(text, outside)
    loop_hint(text, outside, GEMM)
    room_hint(text, outside)
    assert time.process_time() - began < 2
