"""What the source of a Triton file shows about an error of the compiler."""

from __future__ import annotations

import pytest

from grader.checks.source.triton_errors import (
    added_by_host,
    dropped_product,
    few_bins,
    host_write,
    never_cleared,
    rebound_name,
    scratch_hint,
    short_tensor,
    source_hint,
    stores_nothing,
    unmasked_histogram,
    whole_quotient,
)

KERNEL = """\
def kernel(x):
    total = tl.sum(x * x, axis=1)
    scale = tl.rsqrt(total)
    y = x * scale
    tl.store(y)
"""
SHAPES = "Cannot make_shape_compatible: incompatible dimensions at index 1: 4 and 256"


def test_a_reduction_that_drops_an_axis_is_named_where_its_result_does_not_fit() -> None:
    for line in (4, 5):
        assert source_hint(SHAPES, KERNEL, line).startswith("tl.sum in line 2 drops axis 1 ")
    assert source_hint(SHAPES, KERNEL.replace("axis=1", "axis=1, keep_dims=True"), 4) == ""
    assert source_hint(SHAPES, KERNEL.replace("tl.sum(x * x, axis=1)", "x"), 4) == ""
    assert source_hint("another error", KERNEL, 4) == ""
    assert source_hint(SHAPES, "def (", 1) == ""


def test_a_function_that_triton_has_elsewhere() -> None:
    pytest.importorskip("triton")
    missing = "module 'triton.language.math' has no attribute 'sigmoid'"
    assert source_hint(missing, KERNEL, 4) == "write tl.sigmoid"
    missing = "module 'triton.language' has no attribute 'sigmod'"
    assert source_hint(missing, KERNEL, 4) == "did you mean `tl.sigmoid`?"


def test_the_line_that_binds_an_argument_anew() -> None:
    text = "def f(x, out):\n    out = x.t()\n\ndef g(out):\n    out.copy_(out)\n"
    assert rebound_name(text, "f", "out") == 2
    assert rebound_name(text, "g", "out") is None
    assert rebound_name(text, "h", "out") is None


def test_two_tiles_that_are_multiplied_element_by_element() -> None:
    load = "tl.load(p + rows[:, None] * n + cols[None, :])"
    text = f"def kernel(p):\n    left = {load}\n    right = {load}\n    total += left * right\n"
    assert "is tl.dot(left, right)" in source_hint(SHAPES, text, 4)
    assert source_hint(SHAPES, text.replace("[None, :]", ""), 4) == ""
    assert source_hint(SHAPES, text.replace("left * right", "left + right"), 4) == ""


def test_a_kernel_that_stores_nothing() -> None:
    text = "@triton.jit\ndef kernel(x, y):\n    a = tl.load(x)\n    LAST\n"
    found = stores_nothing(text.replace("LAST", "y = a + 1"), "kernel")
    assert "has no tl.store" in found
    assert found.endswith("line 4 only gives the name `y` to a value")
    assert stores_nothing(text.replace("LAST", "tl.store(y, a)"), "kernel") == ""
    assert stores_nothing(text.replace("LAST", "tl.atomic_add(y, a)"), "kernel") == ""
    assert stores_nothing(text.replace("LAST", "finish(y, a)"), "kernel") == ""
    assert stores_nothing(text, "another") == ""


SUM = """\
@triton.jit
def kernel(x, total):
    tl.atomic_add(total, tl.sum(tl.load(x)))

def reduction(x, sum, n):
    FIRST
    kernel[(1,)](x, sum)
"""


def test_an_output_that_is_added_to_and_never_cleared() -> None:
    said = never_cleared(SUM.replace("FIRST", "pass"), "reduction", "sum")
    assert said.startswith("`kernel` adds to `sum` in line 3")
    assert "sum.zero_()" in said
    for first in ("sum.zero_()", "sum.fill_(0)", "torch.zeros(1, out=sum)"):
        assert never_cleared(SUM.replace("FIRST", first), "reduction", "sum") == ""
    assert never_cleared(SUM.replace("atomic_add", "store"), "reduction", "sum") == ""


def test_a_tensor_of_a_short_type() -> None:
    made = "sums = torch.empty(n, dtype=torch.float16, device=x.device)"
    assert "line 6 makes `sums` a tensor of `torch.float16`" in short_tensor(
        SUM.replace("FIRST", made)
    )
    assert short_tensor(SUM.replace("FIRST", made.replace("float16", "float32"))) == ""


def test_a_number_of_an_element_that_is_divided_with_a_fraction() -> None:
    text = """\
@triton.jit
def kernel(x, cols, WIDE: tl.constexpr):
    at = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    row = at / cols
    mean = tl.sum(tl.load(x + at)) / cols
"""
    assert whole_quotient(text).startswith("`at / cols` in line 4 has a fraction")
    assert whole_quotient(text.replace("at / cols", "at // cols")) == ""


def test_a_variable_that_is_loaded_in_two_shapes() -> None:
    message = "Loop-carried variable w has initial type <['1'], fp32> but is re-assigned to"
    text = """\
def kernel(weight, row, col, n):
    w = tl.load(weight + row)
    for first in range(0, n, 4):
        w = tl.load(weight + first + col)
"""
    assert "loaded in line 2 in another shape than in line 4" in source_hint(message, text, 3)
    assert source_hint(message, text.replace("w = tl.load(weight + row)", "w = 0.0"), 3) == ""


def test_a_histogram_without_a_mask() -> None:
    text = "@triton.jit\ndef kernel(v, m):\n    own = tl.histogram(v, 256MASK)\n"
    assert unmasked_histogram(text.replace("MASK", "")).startswith("tl.histogram in line 3 counts")
    assert unmasked_histogram(text.replace("MASK", ", mask=m")) == ""
    assert unmasked_histogram(text.replace("MASK", ", m")) == ""


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("out.copy_(y)", "out.copy_(y)"),
        ("out[:n].copy_(y[:n])", "out[:n].copy_(y[:n])"),
        ("out[:] = y", "out[:] = y"),
        ("out += y", "out += y"),
        ("torch.mul(x, x, out=out)", "torch.mul(x, x, out=out)"),
        ("out.zero_()", None),
        ("out[:, 0] = 1", None),
        ("y.copy_(x)", None),
        ("out = y", None),
    ],
)
def test_where_host_code_writes_an_output(line: str, code: str | None) -> None:
    found = host_write(f"def entry(x, out, n):\n    {line}\n", "entry", ["out"])
    assert found == (None if code is None else ("out", 2, code))


def test_where_host_code_adds_to_garbage() -> None:
    text = "def entry(x, out):\n    out += x.sum()\n"
    assert added_by_host(text, "entry", "out").startswith("`out += x.sum()` in line 2 adds to what")
    assert added_by_host(text.replace("out +=", "out[:] ="), "entry", "out") == ""


def test_a_product_that_is_dropped() -> None:
    text = "@triton.jit\ndef kernel(a, b):\n    tl.dot(a, b, sum)\n"
    assert dropped_product(text).endswith("write sum = tl.dot(a, b, sum)")
    assert dropped_product(text.replace("tl.dot", "sum = tl.dot")) == ""


def test_a_grid_that_asks_for_another_parameter() -> None:
    text = (
        "@triton.jit\ndef kernel(x, BLOCK: tl.constexpr):\n    pass\n"
        'grid = lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)\n'
    )
    assert "the parameter of `kernel` is BLOCK" in source_hint("'BLOCK_SIZE'", text, 4)
    assert source_hint("'other'", text, 4) == ""
    assert source_hint("'BLOCK_SIZE'", text.replace("x, B", "x, A: tl.constexpr, B"), 4) == ""


def test_a_histogram_with_few_bins() -> None:
    text = "@triton.jit\ndef kernel(v, m):\n    own = tl.histogram(v, 128, mask=m)\n"
    assert few_bins(text, ["256"]).startswith("tl.histogram in line 3 has 128 bins, of 256")
    assert few_bins(text, ["128"]) == few_bins(text, ["n"]) == few_bins(text, []) == ""


def test_the_room_that_a_scratch_tensor_has() -> None:
    made = "parts = torch.empty(1, device=x.device)"
    assert scratch_hint(SUM.replace("FIRST", made)).startswith("line 6 makes room for `1` there")
    assert scratch_hint(SUM.replace("FIRST", f"{made}; b = torch.zeros(2)")) == ""
    assert scratch_hint(SUM) == ""


RANGE = """\
@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, END)
    most = tl.max(tl.load(x + at), AXIS)
"""


def test_a_range_to_a_number_of_the_launch() -> None:
    message = "arange's arguments must be of type tl.constexpr"
    assert "write tl.arange(0, BLOCK) in line 3" in source_hint(
        message, RANGE.replace("END", "n"), 3
    )
    assert source_hint(message, RANGE.replace("END", "BLOCK"), 3) == ""


def test_a_block_in_the_place_of_an_axis() -> None:
    message = "Did you forget to add @triton.jit ? (`_semantic` argument must be provided)"
    assert "of two blocks it is tl.maximum" in source_hint(message, RANGE.replace("AXIS", "at"), 4)
    assert source_hint(message, RANGE.replace("AXIS", "0"), 4) == ""


def test_an_index_that_runs_along_another_axis_than_in_its_mask() -> None:
    text = (
        "def kernel(x):\n    mask = (r[:, None] < n) & (c[None, :] < n)\n"
        "    v = tl.load(x + r[ROWS] * n + c[COLUMNS], mask=mask)\n"
    )
    turned = text.replace("ROWS", "None, :").replace("COLUMNS", ":, None")
    found = source_hint(SHAPES, turned, 3)
    assert found.startswith("`c` runs along the rows, [:, None], of the addresses in line 3")
    right = text.replace("ROWS", ":, None").replace("COLUMNS", "None, :")
    assert source_hint(SHAPES, right, 3) == ""
