"""Copies, allocations and loops of host code, as the source has them."""

from __future__ import annotations

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.checks.source import cpp_code
from grader.checks.source.copies import (
    copy_hint,
    copy_into,
    direction_hint,
    host_argument_hint,
    overwritten_hint,
    pitch_hint,
)
from grader.checks.source.host_arrays import (
    added_to_hint,
    address_hint,
    allocation_hint,
    freed_hint,
    keeps_nothing,
    loop_hint,
    never_allocated_hint,
    reallocated_hint,
    room_hint,
    unused_output_hint,
)
from grader.checks.source.unfilled import unfilled_hint
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
    assert "line 4 sets all of `d_A` with cudaMemset, after line 3" in overwritten_hint(
        source(copy, clear), "d_A", SIGNATURE
    )
    assert overwritten_hint(source(clear, copy), "d_A", SIGNATURE) == ""
    whole = "cudaMemcpy(d_A, other, rows * sizeof(float), cudaMemcpyDeviceToDevice);"
    assert "line 4 copies `other` over all of `d_A`" in overwritten_hint(
        source(copy, whole), "d_A", SIGNATURE
    )
    assert overwritten_hint(source(whole, copy), "d_A", SIGNATURE) == ""  # a part of it


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
    assert room_hint(source("cudaMallocPitch(&room, &pitch, 4, rows);"), finding) == ""


def test_a_direction_that_no_line_is_known_of() -> None:
    copy = "cudaMemcpy(d_A, h_A, rows, cudaMemcpyDeviceToHost);"
    assert "line 3: the source `h_A` is in host memory" in direction_hint(source(copy), SIGNATURE)
    assert direction_hint(source(copy.replace("DeviceToHost", "HostToDevice")), SIGNATURE) == ""


KERNEL = """\
__global__ void k(const float* from, float* to, int n)
{
    STORE
}
"""


def kernel(store: str, *lines: str) -> str:
    return KERNEL.replace("STORE", store) + source(*lines)


def test_host_memory_that_a_kernel_gets() -> None:
    text = kernel("to[0] = 1;", "float sum = 0;", "k<<<1, 1>>>(d_A, &sum, rows);")
    assert "line 8 passes `&sum`, which is in host memory" in host_argument_hint(
        text, "k", SIGNATURE
    )
    array = text.replace("float sum = 0", "float sum[4]").replace("&sum", "sum")
    assert "line 8 passes `sum`, which is in host" in host_argument_hint(array, "k", SIGNATURE)
    assert host_argument_hint(text.replace("&sum", "h_A"), "k", SIGNATURE).startswith("line 8")
    assert host_argument_hint(text.replace("&sum", "d_A"), "k", SIGNATURE) == ""
    null = kernel("to[0] = 1;", "float* sum = nullptr;", "k<<<1, 1>>>(d_A, sum, rows);")
    assert "line 8 passes `sum`, which is declared and never" in never_allocated_hint(null, "k")
    lost = null.replace("= nullptr;", "; cudaMalloc(&sum, 4);\n    sum = 0;")
    assert "line 8 sets the pointer `sum` itself to 0" in never_allocated_hint(lost, "k")
    made = null.replace("nullptr;", "nullptr; cudaMalloc(&sum, 4);")
    assert never_allocated_hint(made, "k") == ""


def test_an_output_that_nothing_gets() -> None:
    text = kernel("to[0] = 1;", "float* own;", "k<<<1, 1>>>(h_A, own, rows);")
    assert "line 8 lets `k` write to `own`; pass `d_A` there" in unused_output_hint(text, "d_A")
    assert unused_output_hint(text.replace("own, rows", "d_A, rows"), "d_A") == ""
    new = source("cudaMalloc(&d_A, rows * sizeof(float));")
    assert "line 3 gives `d_A` new memory with cudaMalloc" in reallocated_hint(new, SIGNATURE)
    assert reallocated_hint(new.replace("&d_A", "&own"), SIGNATURE) == ""


def test_a_sum_that_nothing_sets() -> None:
    text = kernel("atomicAdd(to, from[0]);", "k<<<1, 1>>>(h_A, d_A, rows);")
    assert "with cudaMemset before line 7" in added_to_hint(text, "d_A")
    assert added_to_hint(text.replace("k<<<", "cudaMemset(d_A, 0, 4);\nk<<<"), "d_A") == ""


def test_a_vector_is_not_its_elements() -> None:
    text = source("std::vector<float> a(rows);", "cudaMemcpy(d_A, &a, 4, cudaMemcpyHostToDevice);")
    assert "cudaMemcpy needs `a.data()`" in address_hint(text)


@pytest.mark.parametrize(
    ("outside", "inside", "nothing"),
    [
        ("const int BLOCK = 256;", "int n = 0;", True),
        ("struct Pair { float a, b; };", "", False),  # not sure
        ("__device__ float sums[64];", "", False),
        ("", "static float* a = nullptr;", False),
        ("float* kept = nullptr;", "", False),
    ],
)
def test_what_outlives_a_call(outside: str, inside: str, nothing: bool) -> None:
    assert keeps_nothing(f"{outside}\n" + source(inside)) == nothing


def test_memory_that_is_filled_in_part_or_never() -> None:
    lines = ("float* a;", "cudaMalloc(&a, rows * 4);", "FILL", "k<<<1, 1>>>(a, d_A, rows);")
    text = kernel("to[0] = from[0];", *lines)
    reads = cpp_code.kernels(text)["k"]
    for fill, said in (
        ("cudaMemset(a, 0, rows);", "line 9 sets `rows` bytes of `a`, but line 8 gives it `rows *"),
        ("cudaMemset(a, 0, 4 * rows);", ""),
        ("cudaMemcpy(a + i, h_A, 4, kind);", "line 9 copies to `a + i`: compare the elements that"),
        ("", "is a cudaMemcpy into `a` missing, or is another array meant?"),
    ):
        found = unfilled_hint("a", reads, text.replace("FILL", fill))
        assert said in found if said else found == ""
    pitched = text.replace("cudaMalloc(&a, rows * 4)", "cudaMallocPitch(&a, &step, cols, rows)")
    assert "line 10 does not pass `step` to `k`" in unfilled_hint("a", reads, pitched)
    passed = pitched.replace("d_A, rows)", "d_A, step)")
    assert "pass `step / sizeof(float)` in line 10" in unfilled_hint("a", reads, passed)
    adds = kernel("atomicAdd(&to[0], 1);", *lines[:2], "k<<<1, 1>>>(d_A, a, rows);")
    found = unfilled_hint("a", cpp_code.kernels(adds)["k"], adds)
    assert "line 9 lets `k` add to `a`, which nothing sets before: put cudaMemset(a" in found


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
