"""What the source shows about an index at the line of a finding."""

from __future__ import annotations

from typing import Any

import pytest

from grader.checks.source.cuda_index import index_hint, narrow_index_hint, whole_sum_hint
from grader.report.evidence import Finding
from grader.vocabulary import Language

CPP = """\
__global__ void k(const float* a, float* c, int rows, int cols)
{
    __shared__ float tile[16][16];
    __shared__ float sum;
    int ty = threadIdx.y, tx = threadIdx.x;
    int col = blockIdx.x * 16 + tx;
    int row = blockIdx.y * 16 + ty;
    LINE
    sum += tile[tx][ty];
}
void entry(const float* a, float* c, int rows, int cols)
{
    float* scratch;
    cudaMalloc(&scratch, rows * cols);
    k<<<cols, 16>>>(scratch, c, rows, cols);
    cudaMemcpy(scratch, a, rows * cols, cudaMemcpyHostToDevice);
}
"""
OUT: dict[str, Any] = {"kind": "out_of_bounds", "buffer": "a", "element": 9, "elements": 9}
BLOCKS = "different blocks access one location, and nothing orders blocks"


def said(line: str, at: int = 8, **fields: Any) -> str:
    given: dict[str, Any] = {
        "severity": "error", "message": "", "hint": "", "file": "k.cu", "line": at, "kernel": "k",
        "block": (0, 0, 0), "thread": (1, 0, 0), "space": "global", "access": "read", "tool": "t",
    }  # fmt: skip
    finding = Finding(**{**given, **fields})
    return index_hint(finding, CPP.replace("LINE", line), Language.CUDA)


@pytest.mark.parametrize(
    ("line", "fields", "words"),
    [
        (
            "c[ty * cols + tx] = 1;",
            {"kind": "race", "message": BLOCKS},
            "does not depend on blockIdx",
        ),
        ("c[row * cols + tx] = 1;", {"kind": "race", "message": BLOCKS}, ""),
        (
            "atomicAdd(&c[static_cast<signed char>(b[row])], 1);",
            {**OUT, "element": -99},
            "a `signed char` holds -128 to 127, so that a byte above 127 is a negative index",
        ),
        (
            "if (row < cols && col < rows) c[0] = a[row * cols + col];",
            OUT,
            "`col` is compared with `rows`, but in `a[row * cols + col]` it runs over a row of",
        ),
        (
            "if (col < cols) c[0] = a[row * cols + col];",
            {**OUT, "thread": (0, 5, 0)},
            "no condition tests `row`, which is part of the index `row * cols + col` of `a`",
        ),
        (
            "if (col < cols) c[0] = a[blockIdx.y * cols + col];",  # block 0: not the cause
            OUT,
            "here `a[blockIdx.y * cols + col]`, where",
        ),
        (
            "if (row < rows && col < cols) c[0] = a[row + col * 2];",
            OUT,
            "here `a[row + col * 2]`, where row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx",
        ),
    ],
)
def test_an_index(line: str, fields: dict[str, Any], words: str) -> None:
    found = said(line, **fields)
    assert words in found if words else found == ""


@pytest.mark.parametrize(("byte", "element"), [("unsigned char", -99), ("char", -199)])
def test_an_index_that_is_no_signed_byte(byte: str, element: int) -> None:
    words = said(f"c[({byte})row - 200] = 1;", **{**OUT, "element": element})
    assert "-128" not in words


def test_two_indices_of_one_axis() -> None:
    line = "int r = blockIdx.y * 16 + tx; tile[ty][tx] = a[r * cols + col];"
    found = said(line, at=9, kind="uninitialized", buffer="tile", space="shared")
    assert "`r` and `col` in the index `r * cols + col` both come from threadIdx.x" in found
    line = "tile[ty][tx] = a[row * cols + col];"
    found = said(line, at=9, kind="uninitialized", buffer="tile", space="shared")
    assert found.startswith("line 8 stores into `tile`, but not into every element")


def test_one_variable_for_all_threads() -> None:
    fields = {"kind": "race", "space": "shared", "buffer": "sum", "elements": 1, "other_line": 9}
    assert "`sum` is declared `__shared__`" in said("", at=9, **fields)
    assert said("", at=9, **{**fields, "buffer": "tile", "elements": 256}) == ""


def test_an_element_that_several_threads_write() -> None:
    line = "int r = blockIdx.y * 16 + tx; c[r * cols + col] = 1;"
    assert "both come from threadIdx.x" in said(line, kind="race", other_line=8)
    assert said("c[row * cols + col] = 1;", kind="race", other_line=8) == ""


def test_memory_that_is_filled_too_late() -> None:
    found = said("c[0] = a[0];", kind="uninitialized", buffer="scratch")
    assert "line 16 fills `scratch`, but only after line 15 has launched `k`" in found


def test_memory_that_nothing_fills() -> None:
    text = CPP.replace("LINE", "c[0] = a[0];").replace("cudaMemcpy(scratch", "cudaMemcpy(c")
    finding = Finding(
        kind="uninitialized", severity="error", message="", hint="", file="k.cu", line=8,
        kernel="k", buffer="scratch", space="global", tool="t",
    )  # fmt: skip
    found = index_hint(finding, text, Language.CUDA)
    assert found.startswith("`scratch` is allocated, and line 15 passes it to `k`, which reads it")


def test_a_block_that_adds_without_an_atomic() -> None:
    found = said("c[0] += a[tx];", kind="race", message=BLOCKS, access="write")
    assert "every block adds to `c[0]` in line 8" in found
    assert "use atomicAdd(&c[0], …)" in found


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("int total = 0; total += a[tx];", "line 8 declares `total` as `int`"),
        ("float total = 0; total += a[tx];", ""),
        ("int count = 0; count += tx;", ""),
    ],
)
def test_a_sum_that_is_a_whole_number(line: str, words: str) -> None:
    found = whole_sum_hint(CPP.replace("LINE", line))
    assert words in found if words else found == ""


def test_a_later_part_with_the_length_of_all() -> None:
    text = CPP.replace("LINE", "if (row < rows) c[0] = a[row];")
    text = text.replace("k<<<cols, 16>>>(scratch, c, rows", "k<<<cols, 16>>>(a + first, c, rows")
    finding = Finding(
        kind="out_of_bounds", severity="error", message="", hint="", file="k.cu", line=8,
        kernel="k", buffer="a", space="global", element=9, tool="t",
    )  # fmt: skip
    found = index_hint(finding, text, Language.CUDA)
    assert "line 15 passes `a + first`, which has `first` elements less, but also `rows`" in found


def test_blocks_that_nothing_tests() -> None:
    fields = {**OUT, "block": (3, 0, 0), "thread": (0, 0, 0)}
    found = said("for (int i = tx; i < cols; ++i) c[0] = a[blockIdx.x * cols + i];", **fields)
    assert "nothing tests blockIdx.x: line 15 launches `cols` blocks" in found


PYTHON = """\
@triton.jit
def k(a, c, rows, cols, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    col = tl.arange(0, TILE)
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    LINE
"""


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        ("tl.store(c + col, 1.0)", "race", "`c + col` in line 6 does not depend on tl.program_id"),
        ("tl.store(c + row, 1.0)", "race", ""),
        ("tl.store(c, 1.0)", "race", "every program writes the one element that `c` points to in"),
        (
            "tl.store(c + row, 1.0, mask=row <= rows)",
            "out_of_bounds",
            "`row <= rows` in the mask lets the length itself through",
        ),
        (
            "tl.store(c + col[:, None] * rows + row[None, :], 1.0, mask=mask)",
            "out_of_bounds",
            "`row` runs along the columns, [None, :], of the addresses in line 6, but along the r",
        ),
        (
            "tl.store(c + row[:, None] * cols + col[None, :], 1.0, mask=col[None, :] < cols)",
            "out_of_bounds",
            "does not test `row`, which is part of the address",
        ),
        (
            "tl.store(c + row[:, None] * rows + col[None, :], 1.0, mask=mask)",
            "out_of_bounds",
            "`col` is compared with `cols` in the mask, but in line 6 it runs over a row of `rows`",
        ),
        (
            "tl.store(c + row[:, None] * cols + col[None, :], 1.0, mask=mask)",
            "out_of_bounds",
            "",
        ),
    ],
)
def test_an_address_of_triton(line: str, kind: Any, words: str) -> None:
    finding = Finding(
        kind=kind, severity="error", message="", hint="", file="k.py", line=6, kernel="k",
        access="write", tool="t",
    )  # fmt: skip
    found = index_hint(finding, PYTHON.replace("LINE", line), Language.TRITON)
    assert words in found if words else found == ""


STEPS = """\
@triton.jit
def k(c, n, TILE: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * TILE
    for at in range(first, n, STEP):
        tl.store(c + head + at + tl.arange(0, TILE), 1.0)
"""


@pytest.mark.parametrize(
    ("text", "other", "words"),
    [
        (
            STEPS.replace("STEP", "TILE"),
            (1, 0, 0),
            "in steps of `TILE` (line 5), over the elements",
        ),
        (STEPS.replace("STEP", "tl.num_programs(0) * TILE"), (1, 0, 0), ""),
        (
            STEPS.replace("STEP", "tl.num_programs(1) * TILE"),
            (1, 0, 0),
            "begins by tl.program_id(0), but steps by tl.num_programs(1)",
        ),
        (
            STEPS.replace("STEP", "n").replace("1.0)", "tl.load(c + first) + 1.0)"),
            (0, 1, 0),
            "",
        ),
        (
            STEPS.replace("STEP", "tl.num_programs(0) * TILE").replace(
                "c + head + at + tl.arange(0, TILE), 1.0", "c + at, 1.0 + tl.load(c + at)"
            ),
            (0, 1, 0),
            "tl.atomic_add(c + at, …) does it in one",
        ),
        (STEPS.replace("STEP", "n"), (0, 1, 0), ""),
        (STEPS.replace("n, STEP", "first + 4 * TILE, TILE"), (1, 0, 0), ""),
        (
            STEPS.replace("STEP", "tl.num_programs(0) * TILE"),
            (0, 1, 0),
            "`head` in line 3 is the program's number along axis 1 as it is",
        ),
        (
            STEPS.replace("STEP", "tl.num_programs(0) * TILE").replace("head + at", "at"),
            (0, 1, 0),
            "does not depend on tl.program_id(1), in which these programs differ",
        ),
        (
            STEPS.replace("STEP", "tl.num_programs(0) * TILE").replace(
                "head + at", "head * n + at"
            ),
            (0, 1, 0),
            "",
        ),
    ],
)
def test_two_programs_of_triton(text: str, other: tuple[int, int, int], words: str) -> None:
    finding = Finding(
        kind="race", severity="error", message="", hint="", file="k.py", line=6, kernel="k",
        access="write", tool="t", block=(0, 0, 0), other_block=other,
    )  # fmt: skip
    found = index_hint(finding, text, Language.TRITON)
    if words:
        assert words in found
    else:
        assert "as it is" not in found and "depend on" not in found


def test_a_step_that_counts_programs() -> None:
    finding = Finding(
        kind="race", severity="error", message="", hint="", file="k.py", line=6, kernel="k",
        access="write", tool="t", block=(0, 0, 0), other_block=(1, 0, 0),
    )  # fmt: skip
    text = STEPS.replace("STEP", "tl.num_programs(0)")
    assert "counts programs: multiply it, too" in index_hint(finding, text, Language.TRITON)


def test_a_mask_against_the_width_of_a_block() -> None:
    finding = Finding(
        kind="out_of_bounds", severity="error", message="", hint="", file="k.py", line=6,
        kernel="k", access="write", tool="t",
    )  # fmt: skip
    line = "tl.store(c + row, 1.0, mask=row < TILE)"
    found = index_hint(finding, PYTHON.replace("LINE", line), Language.TRITON)
    assert found.startswith("the mask of line 6 compares `row` with `TILE`, the width of a block")
    line = "tl.store(c + col, 1.0, mask=col < TILE)"  # of no program
    assert "width of a block" not in index_hint(
        finding, PYTHON.replace("LINE", line), Language.TRITON
    )


@pytest.mark.parametrize(
    ("declared", "phrase"),
    [
        ("unsigned short i = blockIdx.x * blockDim.x + threadIdx.x;", "ends at 65535"),
        ("short i = threadIdx.x + 256 * blockIdx.x;", "ends at 32767"),
        ("uint8_t i = blockIdx.x * 8;", "ends at 255"),
        ("unsigned short by = blockIdx.y;", ""),
        ("unsigned char c = x[blockIdx.x];", ""),
        ("int i = blockIdx.x * blockDim.x + threadIdx.x;", ""),
    ],
)
def test_an_index_of_a_narrow_type(declared: str, phrase: str) -> None:
    found = narrow_index_hint(f"__global__ void k()\n{{\n    {declared}\n}}\n")
    assert phrase in found if phrase else found == ""
    assert "line 3" in found if phrase else True
