"""Self-checking programs over the language and the runtime API, in both builds."""

from __future__ import annotations

from pathlib import Path

import pytest
from slow import slow_unless

from grader.emulation.cuda_cpp import Mode
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import build, run

# Faults of which programs show the consequences: pinned memory that is written too early, and
# shuffles from lanes that do not take part.
SHOWN = {"host_memory": {("race", 34)}, "absent_lanes": {("barrier", 7), ("barrier", 9)}}
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.cu"))


@pytest.mark.parametrize(
    "source",
    slow_unless(lambda path: path.stem != "standard_headers", PROGRAMS),
    ids=lambda path: path.stem,
)
@pytest.mark.parametrize("mode", slow_unless(Mode.CHECKED.__eq__, Mode), ids=str)
def test_program_meets_its_expectations(source: Path, mode: Mode, tmp_path: Path) -> None:
    program = build(source, mode=mode, folder=tmp_path, runtime=runtime_object(mode))
    assert program.executable, program.diagnostics
    result = run(program, timeout_s=30, capture=True)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    # A program may check that its kernels fail.
    assert not [fault for fault in result.report.faults if fault.signal.startswith("SIG")]
    if source.stem != "runtime_api":
        shown = SHOWN.get(source.stem, set()) if mode is Mode.CHECKED else set()
        assert {(found.kind, found.line) for found in result.report.findings} == shown
    if mode is Mode.CHECKED:
        result = run(program, settings="schedule=interleaved", timeout_s=30, capture=True)
        assert (result.exit_code, result.stdout) == (0, ""), result.stderr
