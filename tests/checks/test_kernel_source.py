"""What the source of a Triton file shows about an error of the compiler."""

from __future__ import annotations

import pytest

from grader.checks.common.kernel_source import rebound_name, source_hint

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
