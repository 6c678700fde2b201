"""aarch64: cross-compiled, run under qemu, with the same findings.

Needs `apt-get install g++-aarch64-linux-gnu qemu-user`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from grader.emulation.cuda_cpp import Mode, Report, read_report, symbolize
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import build

HERE = Path(__file__).parent
COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64"
MISSING = [tool for tool in (COMPILER, EMULATOR) if shutil.which(tool) is None]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}")


def emulated(source: Path, folder: Path, mode: Mode) -> Report:
    """Cross-compile and run a program, which must exit with 0; return its report."""
    runtime = runtime_object(mode, compiler=COMPILER)
    program = build(source, mode=mode, folder=folder, runtime=runtime, compiler=COMPILER)
    assert program.executable, program.diagnostics
    records = folder / "records.jsonl"
    with records.open("w") as report:
        done = subprocess.run(
            [EMULATOR, "-L", "/usr/aarch64-linux-gnu", program.executable],
            env={**os.environ, "GRADER_HOST_REPORT_FD": str(report.fileno())},
            pass_fds=[report.fileno()],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, (done.stdout, done.stderr)
    locate = partial(
        symbolize,
        program.executable,
        files=program.sources,
        addr2line="aarch64-linux-gnu-addr2line",
    )
    return read_report(records.read_text(), locate=locate, sources=program.sources)


@pytest.mark.parametrize("mode", list(Mode), ids=str)
@pytest.mark.parametrize(
    "program",
    [
        "correct/early_return_before_a_barrier",
        "correct/reduction_with_barriers",
        "correct/shuffle_reduction",
        "correct/double_buffering",  # floats are live across a fiber switch
        "programs/shared_forms",
        "programs/warps",
    ],
)
def test_programs_end_well(program: str, mode: Mode, tmp_path: Path) -> None:
    report = emulated(HERE / f"{program}.cu", tmp_path, mode)
    assert report.findings == ()
    assert (report.accesses > 0) == (mode is Mode.CHECKED)


@pytest.mark.parametrize(
    ("fault", "kind", "line"),
    [
        ("divergent_barrier", "barrier", 7),
        ("memcpy_past_the_end", "out_of_bounds", 5),
        ("histogram_without_atomics", "race", 7),
        ("uninitialized_accumulator", "uninitialized", 4),
        ("misaligned_float4", "misaligned", 4),
    ],
)
def test_faults_are_found_at_their_lines(fault: str, kind: str, line: int, tmp_path: Path) -> None:
    report = emulated(HERE / "faults" / f"{fault}.cu", tmp_path, Mode.CHECKED)
    assert [(f.kind, f.line) for f in report.findings] == [(kind, line)]
