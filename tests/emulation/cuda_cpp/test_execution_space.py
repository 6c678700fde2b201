"""Calls between host and device code that nvcc refuses are found without nvcc."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from grader.emulation import cuda_cpp
from grader.system import toolchain

HERE = Path(__file__).parent / "spaces"
MARK = re.compile(r"// WRONG (.+)$")


def marks(source: Path) -> dict[int, str]:
    lines = enumerate(source.read_text().splitlines(), start=1)
    return {number: match[1] for number, line in lines if (match := MARK.search(line))}


def found(source: Path, folder: Path) -> dict[int, list[str]]:
    text = cuda_cpp.rewrite(source.read_text(), file=source.name).text
    (folder / source.name).write_text(text)
    command = cuda_cpp.object_command(
        compiler="g++",
        mode=cuda_cpp.Mode.FAST,
        source=Path(source.name),
        output=Path("object"),
        include_dirs=(folder,),
    )
    subprocess.run(command, cwd=folder, check=True)
    dump = (folder / cuda_cpp.DUMP).read_text()
    calls = cuda_cpp.wrong_calls(dump, texts={source.name: text})
    by_line: dict[int, list[str]] = {}
    for call in calls:
        by_line.setdefault(call.line, []).append(call.message)
    return by_line


def test_wrong_calls_are_found_at_their_lines(tmp_path: Path) -> None:
    wrong = found(HERE / "wrong.cu", tmp_path)
    expected = marks(HERE / "wrong.cu")
    assert set(wrong) == set(expected)
    for line, part in expected.items():
        assert any(part in message for message in wrong[line]), (line, part, wrong[line])


def test_right_calls_are_accepted(tmp_path: Path) -> None:
    assert found(HERE / "right.cu", tmp_path) == {}


@pytest.mark.slow
@pytest.mark.skipif(toolchain.find_nvcc() is None, reason="nvcc is not installed")
@pytest.mark.parametrize("name", ["wrong.cu", "right.cu"])
def test_nvcc_refuses_no_other_lines(name: str, tmp_path: Path) -> None:
    nvcc = toolchain.find_nvcc()
    assert nvcc is not None
    source = HERE / name
    refused: set[int] = set()
    text = source.read_text()
    kernels = re.sub(r"\nint main\(\) \{.*", "\n", text, flags=re.S)
    # nvcc stops after the first kind of error, which the host's side can have.
    for mode, part in (("-c", text), ("-cubin", kernels)):
        (tmp_path / name).write_text(part)
        command = [str(nvcc.path), "-std=c++17", "-arch=sm_80", mode, "-o", "out", name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        errors = re.findall(rf"^{name}\((\d+)\): error", done.stderr, flags=re.M)
        assert bool(errors) is (name == "wrong.cu")
        refused |= {int(line) for line in errors}
    assert refused <= set(marks(source))
