"""`grade profile --ptx` and `--sass`: the code of a kernel, below its source lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from paths import REPOSITORY

from grader.cli.main import cli
from grader.commands.profile.machine_code import ptx_listing, sass_listing
from grader.errors import ExitCode
from grader.system import toolchain

SOURCES = {"add.cu": ["__global__ void add(float* x)", "{", "    x[0] = half(x[0]);", "}"]}
PTX = """\
.version 9.0
.target sm_80
.visible .entry _Z3addPf(
\t.param .u64 _Z3addPf_param_0
)
{
\t.loc\t1 1 0
\tld.param.u64 \t%rd1, [_Z3addPf_param_0];
\t.loc\t2 900 3, function_name $L__info_string0, inlined_at 1 3 12
\tcvt.rn.f16.f32 %h1, %f1;
\t.loc\t2 901 3, function_name $L__info_string0, inlined_at 1 3 12
\tcvt.f32.f16 %f2, %h1;
\t.loc\t1 0 0
\tret;
}
\t.file\t1 "/scratch/add.cu"
\t.file\t2 "/usr/include/cuda_fp16.hpp"
\t.section\t.debug_str
{
$L__info_string0:
.b8 95,90
}
"""
SASS = """\
\t.section\t.text._Z3addPf,"ax",@progbits
        .global         _Z3addPf
_Z3addPf:
.text._Z3addPf:
\t//## File "/scratch/add.cu", line 1
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
.L_x_1:
\t//## File "/usr/include/cuda_fp16.hpp", line 900 inlined at "/scratch/add.cu", line 3
        /*0010*/                   F2F.F16.F32 R0, R0 ;
\t//## File "/scratch/add.cu", line 3
        /*0020*/                   EXIT ;
\t.section\t.nv.info,"",@"SHT_CUDA_INFO"
        /*0000*/ \t.byte\t0x04, 0x2f
"""
FIRST, THIRD = "// add.cu:1: __global__ void add(float* x)", "// add.cu:3: x[0] = half(x[0]);"


def test_ptx_stands_below_the_line_that_it_comes_from() -> None:
    lines = list(ptx_listing(PTX, SOURCES))
    assert lines[1].startswith("// kernel ")
    assert lines.index(FIRST) < lines.index("\tld.param.u64 \t%rd1, [_Z3addPf_param_0];")
    # Two places in a header are one line of the submission, which calls it.
    at = lines.index(THIRD)
    assert lines[at + 1 : at + 3] == ["\tcvt.rn.f16.f32 %h1, %f1;", "\tcvt.f32.f16 %f2, %h1;"]
    assert lines.count(THIRD) == 1
    assert not any(".section" in line or ".loc" in line for line in lines)


def test_sass_has_instructions_labels_and_lines_alone() -> None:
    lines = [" ".join(line.split()) for line in sass_listing(SASS, SOURCES)]
    assert lines[2:7] == [
        FIRST, "/*0000*/ IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;", ".L_x_1:",
        THIRD, "/*0010*/ F2F.F16.F32 R0, R0 ;",
    ]  # fmt: skip


def profile(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.delenv("GRADE_ASSIGNMENTS", raising=False)
    result = CliRunner().invoke(
        cli, ["profile", *arguments, "--from", "reference", "--device", "cpu"]
    )
    return result.exit_code, result.output


@pytest.mark.slow
def test_without_nvcc_cuda_code_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)
    code, text = profile(monkeypatch, "grid_stride", "--language", "cuda", "--sass")
    assert code == ExitCode.INCOMPLETE
    assert "grid_stride · CUDA C++: SASS: nvcc is needed but not installed" in text


@pytest.mark.slow
@pytest.mark.skipif(toolchain.find_nvcc() is None, reason="needs nvcc")
@pytest.mark.parametrize(("kind", "load"), [("--ptx", "ld.global"), ("--sass", "LDG")])
def test_the_code_of_cuda_loads_below_the_line_that_loads(
    monkeypatch: pytest.MonkeyPatch, kind: str, load: str
) -> None:
    code, text = profile(monkeypatch, "grid_stride", "--language", "cuda", kind)
    assert code == 0
    below = text.split("y[i] = factor * x[i];\n", 1)[1]
    assert load in below


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "load"), [("--ptx", "ld.global"), ("--sass", "LDG")])
def test_the_code_of_triton_loads_below_the_line_that_loads(
    monkeypatch: pytest.MonkeyPatch, kind: str, load: str
) -> None:
    code, text = profile(monkeypatch, "grid_stride", "--language", "triton", kind)
    assert code == 0
    assert "// kernel grid_stride" in text
    assert load in text.split("values = tl.load(x + offsets, mask=mask)\n", 1)[1]


def test_a_file_that_does_not_compile_has_no_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "grid_stride.py").write_text("def grid_stride(:\n")
    monkeypatch.chdir(REPOSITORY)
    result = CliRunner().invoke(
        cli, ["profile", "grid_stride", "--from", str(tmp_path), "--device", "cpu", "--ptx"]
    )
    assert result.exit_code == ExitCode.INCOMPLETE
    assert "syntax" in result.output.lower()
