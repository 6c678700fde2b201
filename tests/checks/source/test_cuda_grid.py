"""Grids that the source shows to be too small, and those that it does not."""

from __future__ import annotations

import time

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.checks.source.cuda_grid import (
    block_hint,
    grid_hint,
    partial_sums_hint,
    refused_block_hint,
    refused_grid_hint,
    shuffle_hint,
    size_of_other_grids_hint,
    tree_hint,
)
from grader.checks.source.triton_grid import (
    block_of_other_size,
    cut_off_hint,
    size_of_other_launches,
    triton_grid_hint,
)

TRANSPOSE = read_assignment(REPOSITORY / "assignments" / "transpose").signature
CPP = """\
__global__ void turn(const float* input, float* output, int height, int width)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= height || col >= width) return;
    output[col * height + row] = input[row * width + col];
}
extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    const int TILE = 16;
    dim3 block(TILE, TILE);
    int half = rows / 2;
    LAUNCH
}
"""
CALL = "block>>>(input, output, rows, cols);"


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        (f"turn<<<dim3((cols + 15) / 16, (rows + 15) / 16), {CALL}", ""),
        (f"dim3 g(cols / TILE + 1, rows / TILE + 1);\nturn<<<g, {CALL}", ""),
        (
            f"turn<<<dim3((rows + 15) / 16, (cols + 15) / 16), {CALL}",
            "line 12 launches `(rows + 15) / 16` blocks along x and `(cols + 15) / 16` along y, "
            "but `turn` runs along x to `cols` and along y to `rows`: the two axes",
        ),
        (
            f"dim3 g((cols + 15) / 16, (cols + 15) / 16);\nturn<<<g, {CALL}",
            "line 13 launches `(cols + 15) / 16` blocks along y, but in `turn` `row`, which comes "
            "from blockIdx.y, runs to `rows`: compute their number from `rows`",
        ),
        (
            f"dim3 g(cols / TILE, rows / TILE);\nturn<<<g, {CALL}",
            "`cols / TILE` in line 13 rounds down, so that the last, incomplete block is missing: "
            "write (cols + TILE - 1) / TILE",
        ),
        (
            f"dim3 g(ceil(cols / 16), ceil(rows / 16.0));\nturn<<<g, {CALL}",
            "`ceil(cols / 16)` in line 13 divides whole numbers, which rounds down before ceil",
        ),
        (f"dim3 g(ceil(cols / 16.0), ceil(float(rows) / 16));\nturn<<<g, {CALL}", ""),
        (
            f"turn << <dim3(cols / TILE, 2 + rows / TILE), {CALL}".replace(">>>", " >> > "),
            "`cols / TILE` in line 12 rounds down, so that",
        ),
        (
            f"dim3 g((cols + 31) / 32, (rows + 31) / 32);\nturn<<<g, {CALL}",
            "`(cols + 31) / 32` in line 13 counts 32 elements for each block along x, but a block "
            "has 16 threads there: divide by 16, unless",
        ),
        (
            "const int HIGH = 16;\ndim3 g((cols + 15) / 16, (rows + 63) / 64);\n"
            f"for (int i = 0; i < rows; i += 16) work(i);\nturn<<<g, {CALL}",
            "`(rows + 63) / 64` in line 15 counts 64 elements for each block along y",
        ),
        (
            f"turn<<<dim3((cols + 15) / 16, 1), {CALL}",
            "line 12 launches `1` block along y, but in `turn` `row`, which comes from blockIdx.y",
        ),
        (
            f"turn<<<1, {CALL}\nturn<<<1, block>>>(input, output, half, cols);",
            "`half` in line 13 is `rows / 2`, which rounds down: if rows is no multiple of 2",
        ),
        (f"other<<<1, {CALL}", ""),
    ],
)
def test_a_grid(launch: str, said: str) -> None:
    found = grid_hint(CPP.replace("LAUNCH", launch), TRANSPOSE, "turn")
    assert said in found if said else found == ""


def test_a_kernel_that_loops_over_the_grid_has_no_wrong_size() -> None:
    loops = CPP.replace("return;", "row += gridDim.y + gridDim.x;")
    assert not grid_hint(loops.replace("LAUNCH", f"turn<<<cols, {CALL}"), TRANSPOSE, "turn")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            "threadIdx.x * blockDim.x + blockIdx.x",
            "`col` multiplies threadIdx.x by `blockDim.x`, and",
        ),
        ("blockIdx.x + threadIdx.x * 16", "blockIdx.x * 16 + threadIdx.x"),
        ("threadIdx.x * gridDim.x + blockIdx.x", ""),  # threads of all blocks in turn
        ("blockIdx.x * 64 + threadIdx.x * 4", ""),
    ],
)
def test_an_index_with_its_numbers_exchanged(value: str, said: str) -> None:
    text = CPP.replace("LAUNCH", f"turn<<<dim3((cols + 15) / 16, (rows + 15) / 16), {CALL}")
    text = text.replace("blockIdx.x * blockDim.x + threadIdx.x", value)
    found = grid_hint(text, TRANSPOSE, "turn")
    assert said in found if said else found == ""


def test_a_product_of_tiles_with_names_of_its_own() -> None:
    text = """\
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K)
{
    int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32, r = threadIdx.x / 32, c = threadIdx.x % 32;
    float sum = r0 + r < M && c < K ? A[(r0 + r) * K + c] : 0;
    if (r0 + r < M && c0 + c < N) C[(r0 + r) * N + c0 + c] = sum;
}
extern "C" void gemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    mm<<<dim3((K + 31) / 32, (M + 31) / 32), 1024>>>(A, B, C, M, N, K);
}
"""
    gemm = read_assignment(REPOSITORY / "assignments" / "gemm").signature
    assert grid_hint(text, gemm, "mm") == (
        "line 9 launches `(K + 31) / 32` blocks along x, but in `mm` `c0`, which comes from "
        "blockIdx.x, runs to `N`: compute their number from `N`"
    )
    assert grid_hint(text.replace("(K + 31)", "(N + 31)"), gemm, "mm") == ""


def test_blocks_that_begin_at_no_multiple_of_their_threads() -> None:
    text = CPP.replace("LAUNCH", f"turn<<<dim3((cols + 15) / 16, (rows + 15) / 16), {CALL}")
    text = text.replace("blockIdx.x * blockDim.x", "blockIdx.x * 15")
    assert grid_hint(text, TRANSPOSE, "turn") == (
        "blocks begin `15` elements apart in line 3, but line 12 gives each 16 threads along x"
    )
    assert grid_hint(text.replace("* 15", "* 32"), TRANSPOSE, "turn") == ""  # two each


@pytest.mark.parametrize("step", ["blockDim.y", "16", "HIGH"])
def test_threads_that_do_several_in_turn_are_enough(step: str) -> None:
    text = CPP.replace("LAUNCH", f"turn<<<dim3((cols + 15) / 16, (rows + 63) / 64), {CALL}")
    text = "#define HIGH 16\n" + text.replace(
        "output[col", f"for (int j = 0; j < 64; j += {step}, row += {step}) output[col"
    )
    assert grid_hint(text, TRANSPOSE, "turn") == ""
    other = text.replace(f"+= {step}", "+= 1")
    assert "counts 64 elements" in grid_hint(other, TRANSPOSE, "turn")


@pytest.mark.parametrize(
    ("threads", "said"),
    [
        ("rows", "line 7 launches `rows` threads; take a power of two"),
        ("96", "line 7 launches `96` threads"),
        ("256", ""),
        ("1 << bits", ""),
    ],
)
def test_a_tree_of_threads(threads: str, said: str) -> None:
    found = tree_hint(
        "__global__ void sum(float* x)\n{\n"
        "    for (int half = blockDim.x / 2; half > 0; half /= 2) x[0] += x[half];\n}\n"
        f"void f(float* x, int rows)\n{{\n    sum<<<1, {threads}>>>(x);\n}}\n"
    )
    assert said in found if said else found == ""


@pytest.mark.parametrize(
    ("size", "said"),
    [(192, "line 4 halves `BLOCK` = 192, no power of two"), (256, ""), (1, "")],
)
def test_a_tree_of_a_constant(size: int, said: str) -> None:
    found = tree_hint(
        f"constexpr int BLOCK = {size};\n__global__ void sum(float* x)\n{{\n"
        "    for (int half = BLOCK / 2; half > 0; half /= 2) x[0] += x[half];\n}\n"
        "void f(float* x, int rows)\n{\n    sum<<<1, BLOCK>>>(x);\n}\n"
    )
    assert said in found if said else found == ""


TRITON = """\
@triton.jit
def turn(input, output, height, width, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    col = tl.program_id(1) * TILE + tl.arange(0, TILE)
    mask = (row[:, None] < height) & (col[None, :] < width)


@triton.jit
def scale(x, cols, TILE: tl.constexpr):
    start = tl.program_id(0) * cols
    tl.store(x + start + tl.arange(0, TILE), 1.0)


def transpose(input, output, rows, cols):
    TILE = 32
    grid = (GRID)
    KERNEL
"""


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ("triton.cdiv(rows, TILE), triton.cdiv(cols, TILE)", ""),
        (
            "triton.cdiv(cols, 32), triton.cdiv(rows, 32)",
            "line 17 launches `triton.cdiv(cols, 32)` programs along axis 0 and "
            "`triton.cdiv(rows, 32)` along axis 1, but `turn` runs to `rows` along axis 0: the two",
        ),
        ("triton.cdiv(rows, 32), triton.cdiv(rows, 32)", "runs to `cols` along it: compute their"),
        (
            "rows // TILE, triton.cdiv(cols, TILE)",
            "`rows // TILE` in line 16 rounds down, so that the last, incomplete program is "
            "missing: triton.cdiv(rows, TILE)",
        ),
        ("int(rows / TILE), triton.cdiv(cols, TILE)", "`int(rows / TILE)` in line 16 rounds down"),
        (
            "triton.cdiv(rows, 64), triton.cdiv(cols, 32)",
            "`triton.cdiv(rows, 64)` in line 16 counts 64 elements for each program, but the "
            "launch gives it 32",
        ),
    ],
)
def test_a_grid_of_triton(grid: str, said: str) -> None:
    call = "turn[grid](input, output, rows, cols, TILE=TILE)"
    text = TRITON.replace("GRID", grid).replace("KERNEL", call)
    found = triton_grid_hint(text, TRANSPOSE, "turn")
    assert said in found if said else found == ""


def test_a_program_for_each_row() -> None:
    call = "scale[(triton.cdiv(rows, 8),)](output, cols, TILE=TILE)"
    found = triton_grid_hint(TRITON.replace("KERNEL", call), TRANSPOSE, "scale")
    assert found.startswith("each program does one row (program_id * `cols`), but `triton.cdiv(ro")
    right = call.replace("triton.cdiv(rows, 8)", "rows")
    found = triton_grid_hint(TRITON.replace("KERNEL", right), TRANSPOSE, "scale")
    assert found.startswith("`TILE` is at most 32, `32` in line 15, and `scale` does one block of")
    as_wide = right.replace("TILE=TILE", "TILE=triton.next_power_of_2(cols)")
    assert triton_grid_hint(TRITON.replace("KERNEL", as_wide), TRANSPOSE, "scale") == ""
    capped = right.replace("TILE=TILE", "TILE=min(64, triton.next_power_of_2(cols))")
    assert "is at most 64" in triton_grid_hint(TRITON.replace("KERNEL", capped), TRANSPOSE, "scale")


STRIDED = """\
constexpr int BLOCK = 128;
__global__ void copy(const float* x, float* y, int n)
{
    for (int i = threadIdx.x; i < n; i += STEP) y[i] = x[i];
}
void run(const float* x, float* y, int rows, int cols) { copy<<<rows, THREADS>>>(x, y, cols); }
"""


@pytest.mark.parametrize(
    ("step", "threads", "said"),
    [
        ("BLOCK", "BLOCK", ""),
        ("BLOCK", "128", ""),
        ("blockDim.x", "cols", ""),
        ("BLOCK", "cols", "line 6 launches `copy` with `cols` threads in each block, but it is"),
        ("BLOCK", "256", "with 256 threads in each block, but it is written for BLOCK = 128"),
    ],
)
def test_a_block_of_another_size(step: str, threads: str, said: str) -> None:
    found = block_hint(STRIDED.replace("STEP", step).replace("THREADS", threads), "copy")
    assert said in found
    assert bool(said) == bool(found)


def test_a_launch_with_its_numbers_exchanged() -> None:
    text = STRIDED.replace("STEP", "BLOCK").replace("<<<rows, THREADS>>>", "<<<BLOCK, rows>>>")
    assert block_hint(text, "copy").endswith("the number of blocks comes first, <<<rows, BLOCK>>>")


def test_a_block_whose_threads_have_several_elements_each() -> None:
    index = "for (int j = blockIdx.x * BLOCK + threadIdx.x; j < n; j += 32) y[j] = x[j];"
    text = STRIDED.replace("for (int i = threadIdx.x; i < n; i += STEP) y[i] = x[i];", index)
    assert block_hint(text.replace("THREADS", "32"), "copy") == ""
    assert "written for BLOCK = 128" in block_hint(text.replace("THREADS", "256"), "copy")


@pytest.mark.parametrize(
    "warp", ["threadIdx.x / 32", "threadIdx.x / warpSize", "(threadIdx.x >> 5)"]
)
def test_a_block_with_a_warp_for_each_row(warp: str) -> None:
    index = f"const int row = blockIdx.x * BLOCK + {warp}; if (row < n) y[row] = x[row];"
    text = STRIDED.replace("for (int i = threadIdx.x; i < n; i += STEP) y[i] = x[i];", index)
    assert block_hint(text.replace("THREADS", "BLOCK * 32"), "copy") == ""
    rounded = text.replace("<<<rows, THREADS>>>", "<<<(rows + BLOCK - 1) / BLOCK, BLOCK * 32>>>")
    assert "elements apart" not in grid_hint(rounded, TRANSPOSE, "copy")


@pytest.mark.parametrize(("block", "said"), [("WIDE, HIGH", ""), ("WIDE, WIDE", "along y in each")])
def test_a_block_of_two_axes(block: str, said: str) -> None:
    text = f"""\
constexpr int WIDE = 32, HIGH = 8;
__global__ void fill(float* y, int rows, int cols)
{{
    int col = blockIdx.x * WIDE + threadIdx.x, row = blockIdx.y * HIGH + threadIdx.y;
    if (row < rows && col < cols) y[row * cols + col] = 0;
}}
void run(float* y, int rows, int cols) {{ dim3 b({block}); fill<<<1, b>>>(y, rows, cols); }}
"""
    found = block_hint(text, "fill")
    assert said in found
    assert bool(said) == bool(found)


@pytest.mark.parametrize(
    ("step", "test", "said"),
    [
        ("up", "threadIdx.x % 32 == 0", "__shfl_up_sync in line 2"),
        ("down", "threadIdx.x % 32 == 0", ""),
        ("up", "threadIdx.x % 32 == 31", ""),
    ],
)
def test_a_sum_that_goes_up_the_lanes(step: str, test: str, said: str) -> None:
    text = (
        f"float f(float v) {{\n    v += __shfl_{step}_sync(~0u, v, 1);\n    if ({test}) g(v);\n}}"
    )
    assert shuffle_hint(text).startswith(said)


def test_a_grid_of_triton_that_lacks_a_size_of_all_others() -> None:
    kernels = "".join(f"@triton.jit\ndef {name}(x):\n    pass\n" for name in "abc")
    text = f"{kernels}def transpose(input, output, rows, cols):\n" + "".join(
        f"    {name}[GRID_{name}](input)\n" for name in "abc"
    )
    whole = text.replace("GRID_a", "(rows, cols)").replace("GRID_c", "(rows * cols,)")
    said = size_of_other_launches(whole.replace("GRID_b", "(cols,)"), TRANSPOSE)
    assert said.startswith("line 12 launches `b` with the grid `(cols,)`, without `rows`")
    assert size_of_other_launches(whole.replace("GRID_b", "(rows, cols)"), TRANSPOSE) == ""


def test_a_program_for_each_column_of_a_row_wise_kernel() -> None:
    text = """\
@triton.jit
def turn(x, y, cols, WIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    tl.store(y + row, 1.0)
def transpose(input, output, rows, cols):
    turn[(GRID,)](input, output, cols, WIDE=32)
"""
    said = triton_grid_hint(text.replace("GRID", "cols"), TRANSPOSE, "turn", sizes_only=True)
    assert said.startswith("line 6 launches `cols` programs, but program_id * `cols` is the begin")
    assert triton_grid_hint(text.replace("GRID", "rows"), TRANSPOSE, "turn", sizes_only=True) == ""


def test_a_grid_that_lacks_a_size_of_all_others() -> None:
    text = "void transpose(int rows, int cols) { a<<<rows * cols, 8>>>(); b<<<cols, 8>>>(); LAST }"
    said = size_of_other_grids_hint(text.replace("LAST", "c<<<rows * cols, 8>>>();"), TRANSPOSE)
    assert said.startswith("line 1 launches `b` with a grid of `cols`, without `rows`")
    assert size_of_other_grids_hint(text.replace("LAST", ""), TRANSPOSE) == ""
    assert size_of_other_grids_hint(text.replace("LAST", "c<<<cols, 8>>>();"), TRANSPOSE) == ""


def test_a_block_of_triton_made_of_another_size() -> None:
    text = """\
@triton.jit
def turn(x, y, rows, cols, WIDE: tl.constexpr):
    col = tl.arange(0, WIDE)
    mask = col < cols
def transpose(input, output, rows, cols):
    WIDE = triton.next_power_of_2(rows)
    turn[(rows,)](input, output, rows, cols, WIDE=WIDE)
"""
    said = block_of_other_size(text, TRANSPOSE)
    assert said.startswith("`WIDE` is `triton.next_power_of_2(rows)`, made of `rows`, but `turn`")
    assert block_of_other_size(text.replace("_2(rows)", "_2(cols)"), TRANSPOSE) == ""
    assert block_of_other_size(text.replace("_2(rows)", "_2(9)"), TRANSPOSE) == ""


def test_a_launch_that_was_refused() -> None:
    rest = CPP.replace("LAUNCH", f"turn<<<rows % 16, {CALL}")
    assert "`rows % 16` in line 12 is the rest of a division" in refused_grid_hint(rest, 12)
    assert refused_grid_hint(rest, 11) == refused_grid_hint(rest, None) == ""
    assert refused_block_hint(rest, 12) == ""
    swapped = CPP.replace("LAUNCH", "turn<<<256, (rows + 255) / 256>>>(input, output, rows, cols);")
    found = refused_block_hint(swapped, 12)
    assert found.startswith("line 12 asks for `(rows + 255) / 256` threads in each block, which")


@pytest.mark.parametrize(
    "hostile",
    [
        "turn<<<",
        "dim3 a(",
        "a = a / 2;",
        "ceil(",
        "int a = b * ",
        "turn<<<a,a>>>(a);",
        "a = (",
        "__global__ void k(",
        "for (",
        "{",
    ],
)
def test_a_hostile_source_is_read_in_time(hostile: str) -> None:
    text = CPP.replace("LAUNCH", hostile * (19_000 // len(hostile)))
    began = time.monotonic()
    grid_hint(text, TRANSPOSE, "turn")
    refused_block_hint(text, 12)
    block_hint(text, "turn")
    assert time.monotonic() - began < 2


PARTIALS = """\
__global__ void sums(const float* x, float* part, int n) { part[blockIdx.x] = sum_of_block(x, n); }
__global__ void __launch_bounds__(64) scale(const float* part, float* y, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += 64) sum += part[i];
}
void f() { sums<<<FIRST, 64>>>(x, part, n); scale<<<SECOND, 64>>>(part, y, n); }
"""


def test_partial_sums_of_a_launch_with_other_blocks() -> None:
    text = PARTIALS.replace("FIRST", "blocks")
    found = partial_sums_hint(text.replace("SECOND", "n / 64"))
    assert found.startswith("line 5 reads `part` up to gridDim.x, but `sums`, which writes one for")
    assert partial_sums_hint(text.replace("SECOND", "blocks")) == ""


TAIL = """\
@triton.jit
def turn(input, output, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for first in range(0, END, BLOCK):
        col = first + tl.arange(0, BLOCK)
        mask = col < LIMIT
        x = tl.load(input + row * cols + col, mask=mask)
        tl.store(output + col * rows + row, x, mask=mask)

def transpose(input, output, rows, cols):
    turn[(rows,)](input, output, rows, cols, BLOCK=64)
"""


@pytest.mark.parametrize(
    ("end", "limit", "words"),
    [
        (
            "cols",
            "cols - 1",
            "the mask `col < cols - 1` in line 6 leaves out what is before `cols`",
        ),
        ("cols - BLOCK + 1", "cols", "the loop in line 4 ends before the last, incomplete block"),
        ("cols - BLOCK", "cols", "range(0, cols, BLOCK)"),
        ("cols", "cols", ""),
    ],
)
def test_a_tail_of_triton(end: str, limit: str, words: str) -> None:
    found = triton_grid_hint(TAIL.replace("END", end).replace("LIMIT", limit), TRANSPOSE, "turn")
    assert (words in found) if words else not found


ROW = """\
TUNED@triton.jit
def k(x, out, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * cols + at, 1.0, mask=at < cols)

def entry(x, out, rows, cols):
    k[(rows,)](x, out, colsPASSED)
"""
CONFIGS = '@triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 512)], key=["cols"])\n'


@pytest.mark.parametrize(
    ("tuned", "passed", "found"),
    [
        ("", ", BLOCK=1024", True),
        ("", ", 1024", True),
        (CONFIGS, "", True),
        ("", ", BLOCK=triton.next_power_of_2(cols)", False),
        (CONFIGS.replace("BLOCK", "WARPS"), "", False),
    ],
)
def test_a_row_that_is_wider_than_a_block(tuned: str, passed: str, found: bool) -> None:
    text = ROW.replace("TUNED", tuned).replace("PASSED", passed)
    assert cut_off_hint(text, "k").startswith("`k` has no loop") == found
    assert cut_off_hint(text.replace("    tl.store", "    for i in range(2): tl.store"), "k") == ""


TUNED = """\
@triton.autotune([triton.Config({"WIDE": 64}), triton.Config({"WIDE": 256})], key=["n"])
@triton.jit
def double(x, n, WIDE: tl.constexpr):
    at = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

def entry(x, n):
    def grid(meta):
        return (triton.cdiv(n, NUMBER),)
    double[GRID](x, n)
"""


@pytest.mark.parametrize(
    ("grid", "number", "found"),
    [
        ("grid", "128", True),
        ("grid", "meta['WIDE']", False),
        ("(triton.cdiv(n, 128),)", "1", True),
        ("lambda meta: (triton.cdiv(n, 64),)", "1", True),
        ("lambda meta: (triton.cdiv(n, meta['WIDE']),)", "1", False),
        ("made_elsewhere(n)", "1", False),
    ],
)
def test_a_grid_that_ignores_what_the_autotuner_chooses(
    grid: str, number: str, found: bool
) -> None:
    text = TUNED.replace("NUMBER", number).replace("GRID", grid)
    said = triton_grid_hint(text, TRANSPOSE, "double")
    expected = "the grid in line 10 is the same whatever `WIDE` the autotuner chooses: compute "
    assert said.startswith(expected) if found else said == ""
    by_row = text.replace("tl.program_id(0) * WIDE", "tl.program_id(0) * n")
    assert triton_grid_hint(by_row, TRANSPOSE, "double") == ""
