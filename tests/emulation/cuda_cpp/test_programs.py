"""Self-checking programs over the language and the runtime API, in both builds."""

from __future__ import annotations

from pathlib import Path

import pytest
from slow import slow_unless

from grader.emulation.cuda_cpp import Mode
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import build, run

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.cu"))


@pytest.mark.parametrize(
    "source",
    slow_unless(lambda path: path.stem != "standard_headers", PROGRAMS),
    ids=lambda path: path.stem,
)
@pytest.mark.parametrize("mode", slow_unless(Mode.CHECKED.__eq__, Mode), ids=str)
def test_program_meets_its_expectations(source: Path, mode: Mode, tmp_path: Path) -> None:
    if source.stem == "absent_lanes" and mode is Mode.CHECKED:
        pytest.skip("the checked build gives undefined values that a GPU does not")
    program = build(source, mode=mode, folder=tmp_path, runtime=runtime_object(mode))
    assert program.executable, program.diagnostics
    result = run(program, timeout_s=30, capture=True)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    # A program may check that its kernels fail.
    assert not [fault for fault in result.report.faults if fault.signal.startswith("SIG")]
    if source.stem != "runtime_api":
        # This program shows what becomes of pinned memory that is written too early.
        early = {("race", 34)} if (source.stem, mode) == ("host_memory", Mode.CHECKED) else set()
        assert {(found.kind, found.line) for found in result.report.findings} == early
    if mode is Mode.CHECKED:
        result = run(program, settings="schedule=interleaved", timeout_s=30, capture=True)
        assert (result.exit_code, result.stdout) == (0, ""), result.stderr
