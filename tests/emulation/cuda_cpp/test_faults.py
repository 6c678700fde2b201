"""Planted faults are found at their lines; correct kernels give no finding.

A fault's line ends in `// FAULT kind` (an error) or `// FAULT kind warning`. The first
line of each file names the GPU tool for such faults; a `// gpu:` line says why that tool
may disagree, also in correct kernels.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from slow import slow_unless

from grader.emulation.cuda_cpp import Mode
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import Program, build, run, run_in_orders

HERE = Path(__file__).parent
FAULTS = sorted((HERE / "faults").glob("*.cu"))
CORRECT = sorted((HERE / "correct").glob("*.cu"))
MARK = re.compile(r"// FAULT (\w+)( warning)?$")


def expected(source: Path) -> set[tuple[str, str, str, int]]:
    found = set()
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        if match := MARK.search(line):
            severity = "warning" if match[2] else "error"
            found.add((severity, match[1], source.name, number))
    return found


@pytest.fixture(scope="session")
def runtime() -> Path:
    return runtime_object(Mode.CHECKED)


def compiled(source: Path, folder: Path, runtime: Path) -> Program:
    program = build(source, mode=Mode.CHECKED, folder=folder, runtime=runtime)
    assert program.executable, program.diagnostics
    return program


def findings(
    program: Program, source: Path, settings: str = ""
) -> set[tuple[str, str, str | None, int | None]]:
    call = run if settings else run_in_orders
    result = call(program, settings=settings, timeout_s=20, capture=True)
    assert result.exit_code == 0, (result.stdout, result.stderr, result.report.faults)
    marked = {line for *_, line in expected(source)}
    return {
        # A race is between two lines: either may have the mark.
        (f.severity, f.kind, f.file, f.other_line if f.other_line in marked else f.line)
        for f in result.report.findings
    }


@pytest.mark.parametrize(
    "source", slow_unless(FAULTS[::6].__contains__, FAULTS), ids=lambda path: path.stem
)
def test_planted_fault_is_found(source: Path, tmp_path: Path, runtime: Path) -> None:
    assert expected(source), "the file marks no fault"
    assert findings(compiled(source, tmp_path, runtime), source) == expected(source)


@pytest.mark.parametrize(
    "source", slow_unless(CORRECT[::6].__contains__, CORRECT), ids=lambda path: path.stem
)
def test_correct_kernel_has_no_finding(source: Path, tmp_path: Path, runtime: Path) -> None:
    program = compiled(source, tmp_path, runtime)
    for schedule in ("forward", "reverse", "random"):
        assert findings(program, source, f"schedule={schedule} seed=7") == set(), schedule


# Options that Ubuntu's g++ sets by default; the first one makes memcpy an unchecked call.
UBUNTU = "-D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -pie"


@pytest.mark.parametrize(
    "copy",
    [
        "memcpy(to, from, bytes)",
        "memset(to, 1, bytes)",
        "bcopy(from, to, bytes)",
        "bzero(to, bytes)",
        "__builtin_memcpy(to, from, bytes)",
        "__builtin_memmove(to, from, bytes)",
        "__builtin_memset(to, 1, bytes)",
        "__builtin___memcpy_chk(to, from, bytes, ~0ul)",
    ],
)
def test_copies_are_checked_in_any_spelling(copy: str, tmp_path: Path, runtime: Path) -> None:
    ubuntu = tmp_path / "g++"
    ubuntu.write_text(f'#!/bin/sh\nexec g++ {UBUNTU} "$@"\n')
    ubuntu.chmod(0o755)
    text = (HERE / "faults" / "memcpy_past_the_end.cu").read_text()
    text = text.replace("../memory.cuh", str(HERE / "memory.cuh"))
    source = tmp_path / "copies.cu"
    source.write_text(text.replace("memcpy(to, from, bytes)", copy))
    folder = tmp_path / "build"
    folder.mkdir()
    program = build(source, mode=Mode.CHECKED, folder=folder, runtime=runtime, compiler=str(ubuntu))
    assert program.executable, program.diagnostics
    assert findings(program, source) == expected(source)


def test_enough_of_both() -> None:
    assert len(FAULTS) >= 30
    assert len(CORRECT) >= 30
