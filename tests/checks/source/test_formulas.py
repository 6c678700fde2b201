"""Formulas that the source shows to be wrong, and those that it does not."""

from __future__ import annotations

import pytest
from paths import REPOSITORY

from grader.checks.source.formulas import (
    cast_hint,
    exponent_hint,
    float_bits_hint,
    left_out_part_hint,
)
from grader.vocabulary import Language

LARGEST = "const float most = fmaxf(a, b);\n"


def test_an_exponent_that_is_never_negative() -> None:
    found = exponent_hint(f"{LARGEST}t = t * expf(most - a);", Language.CUDA)
    assert "`most - a` in line 2 begins with it" in found
    assert found.endswith("write `a - most`")
    triton = "above = tl.maximum(m, tl.max(x, axis=0))\nt = t * tl.exp(above - m)  # m - above\n"
    assert "`above - m` in line 2" in exponent_hint(triton, Language.TRITON)


@pytest.mark.parametrize(
    "text",
    [
        f"{LARGEST}t = expf(a - most);",
        f"{LARGEST}t = expf(-(most - a));",
        f"{LARGEST}// expf(most - a)",
        "t = expf(a - b);",
    ],
)
def test_an_exponent_that_may_be_meant(text: str) -> None:
    assert exponent_hint(text, Language.CUDA) == ""


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("s += v.x + v.y + v.y + v.w;", "has `v.y` once too often, and lacks `v.z`"),
        ("s += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.z;", "`v.z` once too often, and lacks"),
        ("s += (v[i].x + v[i].x) + (v[i].z + v[i].w);", "lacks `v.y`"),
        ("s += v.x + v.y + v.z + v.w;", ""),
        ("s += v.x + v.y + v.z;", ""),  # a float3
        ("s += v.x * w.x + v.y * w.y;", ""),
        ("i = blockIdx.x + threadIdx.x + blockIdx.y + blockIdx.x;", ""),
    ],
)
def test_a_part_of_a_float4(statement: str, words: str) -> None:
    found = left_out_part_hint(f"float s = 0;\n{statement}\n")
    assert (words in found and "in line 2" in found) if words else found == ""


@pytest.mark.parametrize(
    ("code", "cut"),
    [
        ("y = x * (int)(1.0f / (1.0f + expf(-x)));", "`(1.0f / (1.0f + expf(-x)))`"),
        ("y = static_cast<int>(sqrtf(x));", "`(sqrtf(x))`"),
        ("i = (int)(n / 4);", ""),
        ("i = (int)blockIdx.x * 2;", ""),
    ],
)
def test_a_fraction_that_is_cut(code: str, cut: str) -> None:
    found = cast_hint(f"float x;\n{code}\n")
    assert (cut in found and "in line 2" in found) if cut else found == ""


def test_no_solution_has_a_wrong_formula() -> None:
    for path in (REPOSITORY / "reference").glob("*/*.*"):
        language = Language.CUDA if path.suffix == ".cu" else Language.TRITON
        text = path.read_text("utf-8")
        assert not exponent_hint(text, language), path
        assert language is Language.TRITON or not left_out_part_hint(text), path
        assert language is Language.TRITON or not cast_hint(text), path


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("atomicMax(&most, __float_as_int(x[i]));", 2),
        ("atomicMax((int*)most, __float_as_int(x[i])); atomicMin(most, bits);", None),
        ("atomicMax(&most, flipped(__float_as_int(x[i])) ^ 0x7fffffff);", None),
        ("atomicMax(&most, __float_as_int(fabsf(x[i])));", None),
        ("atomicMax(&most, x[i]);", None),
    ],
)
def test_bits_of_floats_that_are_compared(statement: str, line: int | None) -> None:
    found = float_bits_hint(f"int most;\n{statement}\n")
    assert f"line {line} compares the bits" in found if line else found == ""
