"""`grade profile --torch-code`: what torch.compile generates for a rung in torch."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from paths import REPOSITORY

from grader.cli.main import cli
from grader.errors import ExitCode

# g++ takes 10 s of processor time for torch's headers, and the machine may be busy.
pytestmark = pytest.mark.timeout(300)

# After the copy of the solved file.
INTERRUPTED = """\
    print(output.sum().item())
    output += 0.0
"""
NOTHING = """\
def transpose(input, output, rows, cols):
    return None
"""
RAISES = """\
def transpose(input, output, rows, cols):
    raise ValueError("not today")
"""


def profiled(source: Path, target: Path, *arguments: str) -> str:
    result = CliRunner().invoke(
        cli,
        ["profile", *arguments, "--from", str(source), "--torch-code", str(target)],
        terminal_width=400,
    )
    assert result.exit_code == ExitCode.COMPLETE, result.output
    return " ".join(result.stdout.split())


@pytest.mark.slow
def test_the_code_of_the_cpu_is_cpp_in_a_python_file_with_each_graph(tmp_path: Path) -> None:
    solved = (REPOSITORY / "reference/transpose/v0_torch.py").read_text(encoding="utf-8")
    (tmp_path / "v0_torch.py").write_text(solved + INTERRUPTED, encoding="utf-8")
    target = tmp_path / "code.py"
    told = profiled(tmp_path, target, "transpose", "v0_torch", "--device", "cpu")
    assert "has the code that it generates, in C++" in told
    code = target.read_text(encoding="utf-8")
    assert 'extern "C"' in code and "async_compile" in code and "the next graph" in code
    compile(code, target.name, "exec")  # a student opens a Python file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(NOTHING, "the function has no operation on tensors", id="nothing"),
        pytest.param(RAISES, "ValueError: not today", id="raises"),
    ],
)
def test_why_there_is_no_code_is_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "v0_torch.py").write_text(text, encoding="utf-8")
    target = tmp_path / "code.py"
    told = profiled(tmp_path, target, "transpose", "v0_torch", "--device", "cpu")
    assert "torch.compile made no code (torch " in told and reason in told
    assert not target.exists()


@pytest.mark.slow
def test_a_kernel_has_no_code_of_torch_compile(tmp_path: Path) -> None:
    source, target = REPOSITORY / "reference" / "vector_add", tmp_path / "code.py"
    told = profiled(source, target, "vector_add", "--language", "triton", "--device", "cpu")
    assert "torch.compile: is of rungs in torch" in told
    assert not target.exists()


@pytest.mark.gpu
def test_the_code_of_a_gpu_is_triton(tmp_path: Path) -> None:
    target = tmp_path / "v0.py"
    told = profiled(REPOSITORY / "reference" / "transpose", target, "transpose", "v0_torch")
    assert "has the code that it generates, in Triton" in told
    assert "@triton.jit" in target.read_text(encoding="utf-8")
