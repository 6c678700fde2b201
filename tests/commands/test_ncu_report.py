"""`grade profile --ncu-rep`: ncu's report is fetched from the worker's folder, under a fake ncu."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from paths import REPOSITORY
from sanitizer_stand_in import built_for

from grader.assignment.reader import read_assignment
from grader.checks.common.case_run import RunSetup
from grader.checks.common.tool_run import Prepared
from grader.cli.main import cli
from grader.commands.profile.ncu import whole_report
from grader.judge.oracle import Oracle
from grader.system.toolchain import Tool
from grader.vocabulary import Device, Language

pytestmark = pytest.mark.usefixtures("unfenced")  # the fake is a file of the test

FAKE = """\
#!{python}
import pathlib, subprocess, sys
words = sys.argv[1:]
subprocess.run(words[words.index("--export") + 2 :], close_fds=False)
{body}
"""
WRITES = """\
stem = words[words.index("--export") + 1]
pathlib.Path(stem + ".ncu-rep").write_bytes(b"NVR\\x00" + words[words.index("--set") + 1].encode())
"""
REFUSES = """\
log = pathlib.Path(words[words.index("--log-file") + 1])
log.write_text("==ERROR== ERR_NVGPUCTRPERM - no permission to access GPU performance counters")
"""


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> tuple[bytes, str]:
    """Return the report of SiLU's reference under a fake that executes `body` at the end."""
    monkeypatch.setenv("CUDACXX", "")
    program = tmp_path / "ncu"
    program.write_text(FAKE.format(python=sys.executable, body=body))
    program.chmod(0o755)
    ncu = Tool(name="ncu", path=program, version="2025.3")
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    built = built_for(assignment, REPOSITORY / "reference" / "silu")
    setup = RunSetup(assignment=assignment, built=built, server=None, driver=None, private=False)
    case = assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=0, secret_seed=0)[0]
    prepared: Prepared = case, Oracle(assignment).data(case, Language.CUDA)
    return whole_report(setup, ncu, prepared)


def test_the_report_is_what_ncu_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(tmp_path, monkeypatch, WRITES) == (b"NVR\x00full", "")


def test_without_a_report_the_reason_is_in_ncus_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, reason = run(tmp_path, monkeypatch, REFUSES)
    assert report == b""
    assert reason == "only administrators may read the GPU's counters here (ERR_NVGPUCTRPERM)"


@pytest.mark.gpu
@pytest.mark.parametrize("language", ["cuda", "triton"])
def test_ncu_writes_a_report_of_a_kernel_on_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.chdir(REPOSITORY)
    file = tmp_path / "silu.ncu-rep"
    result = CliRunner().invoke(
        cli,
        ["profile", "silu", "--from", "reference", "--language", language, "--ncu-rep", str(file)],
    )
    assert result.exit_code == 0
    if "only administrators" in result.output or "ncu is not installed" in result.output:
        pytest.skip("ncu may not read the counters here")
    assert (tmp_path / f"silu-{language}.ncu-rep").stat().st_size > 1000
