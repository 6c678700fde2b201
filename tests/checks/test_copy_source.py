"""Copies, allocations and loops of host code, as the source has them."""

from __future__ import annotations

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.checks.common import cpp_code
from grader.checks.common.copy_source import copy_hint, copy_into, pitch_hint, set_hint
from grader.checks.common.host_memory import (
    allocation_hint,
    freed_hint,
    loop_hint,
    room_hint,
)
from grader.report.evidence import Finding

SIGNATURE = read_assignment(REPOSITORY / "assignments" / "copy_first_column").signature
HEAD = "void f(const float* h_A, float* d_A, int rows, int cols)\n{\n"
PAST = "a copy runs past the end of a buffer"


def source(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines) + "}\n"


@pytest.mark.parametrize(
    ("line", "message", "said"),
    [
        (
            "cudaMemcpy(d_A, column, cols * sizeof(float), cudaMemcpyHostToDevice);",
            PAST,
            "the copy has `cols * sizeof(float)` bytes; the destination `d_A` has rows elements, "
            "`rows * sizeof(float)` bytes; the source `column` was given `rows * 4` bytes",
        ),
        (
            "cudaMemcpy2D(d_A, pitch, h_A, pitch, 4, rows, cudaMemcpyHostToDevice);",
            PAST,
            "dpitch = `pitch` is the distance in bytes from row to row in the destination, and the "
            "destination `d_A` has rows elements: should it be `sizeof(float)`?",
        ),
        (
            "cudaMemcpy2D(d_A, 4, h_A, cols * 4, 4, cols, cudaMemcpyHostToDevice);",
            PAST,
            "height = `cols` is the number of rows, and the destination `d_A` has rows elements: "
            "should it be `rows`?",
        ),
        (
            "cudaMemcpy2D(d_A, 4, h_A, cols * 4, rows, sizeof(float), cudaMemcpyHostToDevice);",
            PAST,
            "width = `rows` and height = `sizeof(float)` are exchanged",
        ),
        (
            "cudaMemcpy2D(d_A, 4, h_A, cols * 4, cols * 4, rows, cudaMemcpyHostToDevice);",
            "a copy's rows are longer than its pitch",
            "width = `cols * 4`, height = `rows`, but rows lie dpitch = `4` bytes apart in",
        ),
        (
            "cudaMemcpy2D(d_A, f(1), h_A, f(2), 4, rows, cudaMemcpyHostToDevice);",
            PAST,
            "this copy has dpitch = `f(1)`, spitch = `f(2)`, width = `4`, height = `rows`: both",
        ),
        (
            "cudaMemset(d_A, 0, rows * cols);",
            PAST,
            "line 5 sets `rows * cols` bytes, and the destination `d_A` has rows elements",
        ),
        (
            "cudaMemcpy(&count, d_A, 4, cudaMemcpyHostToDevice);",
            "a copy's direction does not fit its pointers",
            "the source `d_A` is in device memory and the destination `&count` in host memory",
        ),
        (
            "cudaMemcpy(column, h_A, 4, cudaMemcpyHostToDevice);",
            "a copy's direction does not fit its pointers",
            "line 3 allocates `column` in host memory, but `cudaMemcpyHostToDevice` and kernels",
        ),
        (
            "cudaMemcpy(d_A, column, rows, cudaMemcpyDeviceToHost);",
            "a copy's direction does not fit its pointers",
            "the source `column` is in host memory and the destination `d_A` in device memory: the "
            "direction is cudaMemcpyHostToDevice",
        ),
        (
            "cudaMemcpy((float*)h_A, d_A, rows, 2);",
            "to a read-only input",
            "to `(float*)h_A`, an in",
        ),
        (
            "cudaMemset(&column, 0, rows);",
            "a copy's direction",
            "`&column` in line 5 is the address",
        ),
        ("cudaMemcpy(&count, d_A, 4, cudaMemcpyDeviceToHost);", PAST, ""),
    ],
)
def test_a_copy(line: str, message: str, said: str) -> None:
    text = source("float* column = (float*)malloc(rows * 4);", "int count;", line)
    found = copy_hint(text, 5, message, SIGNATURE)
    assert said in found
    if not said:
        assert "address of the pointer" not in found
    assert copy_hint(text, 4, message, SIGNATURE) == ""


def test_a_copy_that_leaves_elements_out() -> None:
    short = "cudaMemcpy(d_A, column, cols, cudaMemcpyHostToDevice);"
    assert copy_into(source(short), "d_A", SIGNATURE).startswith("the copy in line 3 has `cols`")
    loop = "for (int row = 0; row < rows; ++row)"
    found = copy_into(source(loop, short), "d_A", SIGNATURE)
    assert "in the loop `row < rows`, and its destination is the beginning of `d_A`" in found
    moves = short.replace("d_A", "d_A + row")
    assert "stands in the loop" not in copy_into(source(loop, moves), "d_A", SIGNATURE)
    assert copy_into(source(), "d_A", SIGNATURE) == ""


def test_a_copy_with_a_wrong_pitch() -> None:
    copy = "cudaMemcpy2D(d_A, 4, h_A, step, 4, rows, cudaMemcpyHostToDevice);"
    found = pitch_hint(source("size_t step = rows * 4;", copy), "d_A", SIGNATURE)
    assert found == (
        "the copy in line 4 has spitch = `rows * 4`, but rows of the source `h_A` begin "
        "`cols * sizeof(float)` bytes apart"
    )
    right = pitch_hint(source(copy.replace("step", "cols * 4")), "d_A", SIGNATURE)
    assert right.startswith("the copy in line 3 has dpitch = `4`, spitch = `cols * 4`, width")
    one = "cudaMemcpy(d_A + i, h_A + i, 4, cudaMemcpyHostToDevice);"
    assert "from `h_A + i`: element (i, j) of `h_A` is at i * cols + j" in pitch_hint(
        source(one), "d_A", SIGNATURE
    )
    assert pitch_hint(source("int step = 4;"), "d_A", SIGNATURE) == ""


def test_an_output_that_is_set_behind_its_copy() -> None:
    copy = "cudaMemcpy(d_A, column, rows, cudaMemcpyHostToDevice);"
    clear = "cudaMemset(d_A, 0, rows);"
    assert "line 4 sets all of `d_A` with cudaMemset, after line 3" in set_hint(
        source(copy, clear), "d_A"
    )
    assert set_hint(source(clear, copy), "d_A") == ""


def test_how_long_a_host_array_is() -> None:
    store = "column[row] = h_A[row];"
    assert "`* sizeof(float)` missing" in allocation_hint(
        source("float* column = (float*)malloc(rows);", store), 4
    )
    said = allocation_hint(source("float* column = new float[cols];", store), 4)
    assert said.startswith("line 3 makes `column` `cols` elements long: compare that")
    assert allocation_hint(source(store), 3) == ""


def test_the_loop_around_an_access() -> None:
    text = source("for (int row = 0; row < cols; ++row)", "    column[row] = h_A[row * cols];")
    finding = Finding(
        kind="out_of_bounds", severity="error", message="", hint="", file="f.cu", line=4,
        buffer="h_A", tool="t",
    )  # fmt: skip
    found = loop_hint(text, finding, SIGNATURE)
    assert "line 4 runs in the loop `row < cols`, and `h_A` has rows × cols elements" in found


def test_room_for_an_index() -> None:
    finding = Finding(
        kind="out_of_bounds", severity="error", message="", hint="", file="f.cu", line=9,
        buffer="room", tool="t",
    )  # fmt: skip
    found = room_hint(source("cudaMalloc(&room, blocks * 4);"), finding)
    assert found.startswith("`room` was given `blocks * 4` bytes in line 3: is that enough")
    assert room_hint(source("cudaMalloc(&other, 4);"), finding) == ""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("free(a);", "use(a);"), "line 3 frees `a`, and line 4 still uses it"),
        (("delete[] a;", "use(a);"), "line 3 frees `a`"),
        (("free(a);", "a = other;", "use(a);"), ""),
        (("cudaFree(a);", "cudaMalloc(&a, 4);", "use(a);"), ""),
        (("if (n) {", "free(a);", "}", "use(a);"), ""),
        (("use(a);", "free(a);"), ""),
    ],
)
def test_memory_that_is_used_after_it_is_freed(lines: tuple[str, ...], said: str) -> None:
    found = freed_hint(source(*lines))
    assert said in found if said else found == ""


def test_a_text_that_is_too_long_is_not_read() -> None:
    freed = "free(p);\np[0] = 1;\n"
    assert freed_hint(freed)
    assert not freed_hint(freed + "\n" * cpp_code.MOST_CHARACTERS)
