"""`grade profile` without a GPU, its parsers and its pictures."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build.ptxas import Resources, parse
from grader.cli.main import cli
from grader.commands.profile.ncu import parse as parse_ncu
from grader.commands.profile.roofline import BAR, bars, drawing
from grader.commands.profile.run import chosen_kernel
from grader.errors import UsageError
from grader.system import toolchain
from grader.timing.roofline import Point, Roofline

PTXAS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z3addPf' for 'sm_80'
ptxas info    : Function properties for _Z3addPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 23 registers, used 0 barriers, 368 bytes cmem[0]
ptxas info    : Compile time = 1.210 ms
ptxas info    : Compiling entry function '_Z4tilePf' for 'sm_80'
ptxas info    : Function properties for _Z4tilePf
    64 bytes stack frame, 40 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 4224 bytes smem, 368 bytes cmem[0]
"""
NCU = """\
==PROF== Connected to process 12 (/usr/bin/python3.11)
==PROF== Profiling "silu_kernel" - 0: 0%....100% - 1 pass
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","12","silu_kernel(float*)","gpu__time_duration.sum","us","3.84"
"0","12","silu_kernel(float*)","dram__bytes.sum","Kbyte","32.5"
"0","12","silu_kernel(float*)","something__else.sum","","1"
"1","12","silu_kernel(float*)","gpu__time_duration.sum","us","9.99"
"""
SPILLS = """\
import triton
import triton.language as tl


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(input + i, mask=i < n, other=0.0)
    square = tl.reshape(x, (32, BLOCK // 32))
    for _ in range(3):
        square = square * 0.5 + tl.sum(square, axis=0)[None, :] - tl.sum(square, axis=1)[:, None]
    x += tl.reshape(square, (BLOCK,)) * 0.0
    tl.store(output + i, x / (1.0 + tl.exp(-x)), mask=i < n)


def silu(input, output, n):
    silu_kernel[(triton.cdiv(n, 2048),)](input, output, n, BLOCK=2048, num_warps=1, maxnreg=32)
"""
ROOF = Roofline(gb_s=4000.0, tflop_s=60.0)


def test_ptxas_is_read() -> None:
    assert parse(PTXAS) == [
        Resources(kernel="_Z3addPf", registers=23, shared_bytes=0, spill_bytes=0),
        Resources(kernel="_Z4tilePf", registers=255, shared_bytes=4224, spill_bytes=64),
    ]
    assert parse("nvcc fatal: no such file") == []


@pytest.mark.parametrize(("registers", "threads"), [(23, 2720), (32, 2048), (64, 1024), (255, 256)])
def test_registers_bound_the_threads(registers: int, threads: int) -> None:
    one = Resources(kernel="k", registers=registers, shared_bytes=0, spill_bytes=0)
    assert one.threads_by_registers == threads


def test_ncus_figures_of_the_first_kernel_are_read() -> None:
    assert parse_ncu(NCU) == [("time", "3.84 us"), ("bytes to and from memory", "32.5 Kbyte")]
    assert parse_ncu("==ERROR== ERR_NVGPUCTRPERM") == []


def test_the_lower_bound_counts() -> None:
    copy = Point(name="copy", gb_s=2000.0)
    deep = Point(name="gemm", gb_s=100.0, tflop_s=30.0)
    assert ROOF.share(copy) == 0.5
    assert (ROOF.share(deep), ROOF.bound(deep)) == (0.5, "arithmetic")
    assert ROOF.bound(Point(name="thin", gb_s=1000.0, tflop_s=1.0)) == "memory"
    lines = bars([copy, deep], ROOF)
    assert all(line.count("#") == BAR // 2 for line in lines)
    assert lines[0].endswith("50% of the memory roofline")


@pytest.mark.parametrize(
    "points",
    [
        [Point(name="a < b", gb_s=100.0, tflop_s=30.0), Point(name="c", gb_s=3000.0, tflop_s=0.5)],
        [Point(name="copy & more", gb_s=5000.0)],
        [],
    ],
)
def test_the_picture_is_well_formed_and_names_every_point(points: list[Point]) -> None:
    root = ElementTree.fromstring(drawing(points, ROOF, "SiLU <on> a GPU"))
    texts = [element.text or "" for element in root.iter() if element.tag.endswith("text")]
    assert texts[0] == "SiLU <on> a GPU"
    for point in points:
        assert any(text.startswith(f"{point.name}:") for text in texts)
    for element in root.iter():
        for key in ("x", "y", "cx", "cy"):
            assert -1 <= float(element.get(key, "0")) <= 720


def test_an_unknown_kernel_is_reported_with_the_known_ones() -> None:
    transpose = read_assignment(REPOSITORY / "assignments" / "transpose")
    with pytest.raises(UsageError, match="no kernel `v3_shared_tyle`; did you mean"):
        chosen_kernel(transpose, "v3_shared_tyle")
    with pytest.raises(UsageError, match="transpose has 5 kernels: name one"):
        chosen_kernel(transpose, None)
    silu = read_assignment(REPOSITORY / "assignments" / "silu")
    assert chosen_kernel(silu, None).name == "silu"


def profile(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.delenv("GRADE_ASSIGNMENTS", raising=False)
    result = CliRunner().invoke(cli, ["profile", *arguments, "--device", "cpu"])
    return result.exit_code, " ".join(result.output.split())


def test_without_a_gpu_it_shows_accesses_and_what_a_gpu_would_add(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = ("transpose", "v1_row_wise", "--from", "reference", "--language", "cuda")
    code, text = profile(monkeypatch, *arguments)
    assert code == 0
    assert "no GPU here. With a GPU, this shows the time" in text
    assert "store sectors" in text
    if toolchain.find_nvcc() is not None:
        assert "transpose_kernel on sm_80:" in text
        assert "registers per thread" in text


@pytest.mark.slow
def test_triton_s_registers_are_those_of_its_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("GRADE_TARGET", "sm_86")
    arguments = ("transpose", "v3_shared_tile", "--from", "reference", "--language", "triton")
    code, text = profile(monkeypatch, *arguments)
    assert code == 0
    assert re.search(
        r"transpose_kernel on sm_86, \d+ threads per block: \d+ registers per thread \(enough for "
        r"\d+ of at most 1536 threads\), \d+ bytes of shared memory per block",
        text,
    ), text


@pytest.mark.slow
def test_a_triton_kernel_that_spills(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("GRADE_TARGET", raising=False)
    (tmp_path / "silu.py").write_text(SPILLS)
    code, text = profile(monkeypatch, "silu", "--from", str(tmp_path), "--language", "triton")
    assert code == 0
    assert re.search(
        r"silu_kernel on sm_80, 32 threads per block: 32 registers .* \d+ bytes spilled", text
    ), text


@pytest.mark.slow
def test_a_file_without_kernels_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    picture = tmp_path / "roof.svg"
    asked = ("copy_first_column", "--from", "reference", "--svg", str(picture))
    code, text = profile(monkeypatch, *asked)
    assert code == 0
    assert "is not drawn without a GPU" in text
    assert not picture.exists()
    assert "by the emulation on the CPU: kernels made none" in text
    if toolchain.find_nvcc() is not None:
        assert "nvcc finds no kernel in the file for sm_80" in text


def test_a_build_failure_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "silu.cu").write_text('#include "silu.h"\nvoid silu(\n')
    code, text = profile(monkeypatch, "silu", "silu", "--from", str(tmp_path))
    assert code == 1
    assert "silu.cu" in text
