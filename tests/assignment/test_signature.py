"""A signature and its forms in each language."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import subprocess
from importlib import resources
from pathlib import Path

import pytest
import torch

from grader.assignment.expression import Expression
from grader.assignment.signature import Argument, ElementType, Signature
from grader.build.trampoline import trampoline
from grader.emulation.cuda_cpp import INCLUDE_DIR, rewrite
from grader.protocol import wire
from grader.vocabulary import Language, Memory, Role


def array(name: str, kind: str, *shape: str, **more: object) -> Argument:
    extents = tuple(Expression.parse(extent) for extent in shape)
    return dataclasses.replace(Argument(name=name, type=kind, shape=extents), **more)  # type: ignore[arg-type]


GEMM = Signature(
    entry="gemm",
    arguments=(
        array("a", "real", "m", "k"),
        array("b", "real", "k", "n"),
        array("c", "float32", "m", "n", role=Role.OUT),
        array("log", "int64", "2 * m", role=Role.INOUT, memory=Memory.HOST),
        Argument(name="m", type="int32"),
        Argument(name="epsilon", type="float64", default=0.5),
    ),
    types={"real": {Language.CUDA: ElementType.FLOAT32, Language.TRITON: ElementType.FLOAT16}},
)
SIZES = {"m": 3, "n": 5, "k": 7}


def test_c_declaration_has_const_inputs_and_bound_types() -> None:
    assert GEMM.c_declaration == (
        "void gemm(const float* a, const float* b, float* c, long long* log, int m, double epsilon)"
    )


def test_python_declaration_has_the_same_arguments_in_the_same_order() -> None:
    assert GEMM.python_declaration == "def gemm(a, b, c, log, m, epsilon)"
    scope: dict[str, object] = {}
    exec(f"{GEMM.python_declaration}: return (a, b, c, log, m, epsilon)", scope)
    gemm = scope["gemm"]
    assert callable(gemm)
    assert gemm(*range(6)) == tuple(range(6))


def test_arguments_by_kind_keep_their_order() -> None:
    assert [argument.name for argument in GEMM.arrays] == ["a", "b", "c", "log"]
    assert [argument.name for argument in GEMM.scalars] == ["m", "epsilon"]
    assert [argument.name for argument in GEMM.outputs] == ["c", "log"]


def test_shapes_and_scalars_follow_the_sizes() -> None:
    a, _, c, log, m, epsilon = GEMM.arguments
    assert [GEMM.shape(argument, SIZES) for argument in (a, c, log)] == [(3, 7), (3, 5), (6,)]
    assert GEMM.scalar(m, SIZES) == 3
    assert GEMM.scalar(epsilon, SIZES) == 0.5
    assert GEMM.scalar(epsilon, {**SIZES, "epsilon": 2}) == 2


def test_type_name_is_bound_by_language() -> None:
    a, c = GEMM.arguments[0], GEMM.arguments[2]
    assert GEMM.element_type(a, Language.CUDA) is ElementType.FLOAT32
    assert GEMM.element_type(a, Language.TRITON) is ElementType.FLOAT16
    assert {GEMM.element_type(c, language) for language in Language} == {ElementType.FLOAT32}


def test_a_type_of_cases_is_a_template_parameter_until_a_case_chooses() -> None:
    real = Signature.of(
        {
            "entry": "scale",
            "arguments": [
                {"name": "x", "type": "T", "shape": ["n"], "role": "inout"},
                {"name": "n", "type": "int32"},
            ],
            "types": {"T": ["float16", "float64"]},
        }
    )
    assert real.c_declaration == "template <class T> void scale(T* x, int n)"
    assert 'extern "C"' not in real.header()
    assert "#include <cuda_fp16.h>" in real.header()
    assert "//   T  __half or double, by case\n" in real.header()
    x = real.arrays[0]
    chosen = [real.bound(word).element_type(x, Language.CUDA).word for word in ("", "float64")]
    assert chosen == ["float16", "float64"]
    assert [kind.word for kind in real.element_types(x)] == ["float16", "float64"]
    called = trampoline(real, "scale.cu")
    assert "::scale<__half>(" in called
    assert "::scale<double>(" in called


def test_header_describes_every_argument() -> None:
    assert GEMM.header_name == "gemm.h"
    assert GEMM.header() == (
        "// gemm.h: the function to implement (generated from assignment.toml).\n"
        "//   a        (m, k) row-major, in, device memory\n"
        "//   b        (k, n) row-major, in, device memory\n"
        "//   c        (m, n) row-major, out, device memory\n"
        "//   log      (2 * m), inout, host memory\n"
        "//   m        scalar\n"
        "//   epsilon  scalar\n"
        "#pragma once\n"
        "\n"
        f'extern "C" {GEMM.c_declaration};\n'
    )


@pytest.mark.parametrize(
    ("kind", "header"),
    [("float16", "cuda_fp16.h"), ("bfloat16", "cuda_bf16.h"), ("float64", None)],
)
def test_header_includes_what_its_types_need(kind: str, header: str | None) -> None:
    signature = Signature(entry="f", arguments=(array("x", kind, "n"),) * 2, types={})
    included = [line for line in signature.header().splitlines() if line.startswith("#include")]
    assert included == ([f"#include <{header}>"] if header else [])


def test_header_is_a_declaration_that_a_definition_may_follow(tmp_path: Path) -> None:
    (tmp_path / "gemm.h").write_text(GEMM.header(), encoding="utf-8")
    source = f'#include "gemm.h"\n#include "gemm.h"\nextern "C" {GEMM.c_declaration} {{}}\n'
    (tmp_path / "gemm.cpp").write_text(source, encoding="utf-8")
    subprocess.run(
        ["g++", "-fsyntax-only", "-Wall", "-Werror", "gemm.cpp"], cwd=tmp_path, check=True
    )


@pytest.mark.parametrize(
    ("kind", "c_type"),
    [
        (ElementType.FLOAT32, ctypes.c_float),
        (ElementType.FLOAT64, ctypes.c_double),
        (ElementType.INT8, ctypes.c_byte),
        (ElementType.INT32, ctypes.c_int),
        (ElementType.INT64, ctypes.c_longlong),
    ],
)
def test_size_is_that_of_the_c_type(kind: ElementType, c_type: type[ctypes._SimpleCData]) -> None:  # type: ignore[type-arg]
    assert kind.size == ctypes.sizeof(c_type)
    assert kind.is_float is (c_type in (ctypes.c_float, ctypes.c_double))


def test_types_are_found_by_their_word() -> None:
    assert [ElementType.named(kind.word) for kind in ElementType] == list(ElementType)
    with pytest.raises(KeyError):
        ElementType.named("float")


def test_the_schema_and_the_wire_format_have_the_same_types_in_the_same_order() -> None:
    words = [kind.word for kind in ElementType]
    schema = resources.files("grader").joinpath("schemas/assignment.schema.json").read_text("utf-8")
    assert json.loads(schema)["$defs"]["element_type"]["enum"] == words
    assert list(wire.DTYPES) == words


@pytest.mark.parametrize("kind", list(ElementType))
def test_a_type_has_its_name_and_size_in_torch(kind: ElementType) -> None:
    dtype = getattr(torch, kind.word)
    assert dtype.itemsize == kind.size
    assert (dtype.is_floating_point or dtype.is_complex) == kind.is_float


@pytest.mark.parametrize("kind", [kind for kind in ElementType if not kind.is_float])
def test_the_range_of_an_integer_type_is_that_of_torch(kind: ElementType) -> None:
    if kind is ElementType.BOOL:
        assert kind.range == (0, 1)
    else:
        ends = torch.iinfo(getattr(torch, kind.word))
        assert kind.range == (ends.min, ends.max)


@pytest.mark.parametrize("kind", [kind for kind in ElementType if kind.header])
def test_the_emulation_has_the_header_of_a_type_or_reports_that_it_lacks_it(
    kind: ElementType,
) -> None:
    unsupported = rewrite(f"#include <{kind.header}>\n{kind.c_name} x;\n", file="x.cu").unsupported
    assert (INCLUDE_DIR / kind.header).is_file() != bool(unsupported)
    assert len(unsupported) in (0, 2)
