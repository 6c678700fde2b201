"""`grade batch --export-for dolos`: a folder for each file, and no untouched stub in it."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from classrooms import make_classroom
from click.testing import CliRunner, Result
from language_bench import checked_silu, inlined
from paths import REPOSITORY

from grader.cli.main import cli
from grader.errors import UsageError


def export(folder: Path, out: Path, tool: str = "dolos") -> Result:
    command = ["batch", str(folder), "silu", "--export-for", tool, str(out)]
    return CliRunner().invoke(cli, command)


def test_dolos_gets_the_files_that_were_worked_on_and_the_stub(tmp_path: Path) -> None:
    classroom = make_classroom(tmp_path / "class")
    (classroom / "eve").mkdir()
    shutil.copy(REPOSITORY / "student_template/silu/silu.cu", classroom / "eve")
    (classroom / "broken.zip").write_bytes(b"no archive")
    result = export(classroom, tmp_path / "out")
    assert result.exit_code == 1
    assert "left out: broken: " in result.output
    folder = tmp_path / "out" / "silu" / "silu.cu"
    assert "dolos run -l cpp -i stub-silu.cu info.csv" in result.output
    with (folder / "info.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    files = ["ada/silu.cu", "bob/silu.cu", "cyd/silu.cu", "stub-silu.cu"]
    assert [(row["filename"], row["ignored"]) for row in rows] == [
        *((file, "") for file in files[:3]),
        (files[3], "true"),
    ]
    assert (folder / "ada" / "silu.cu").read_text() == (
        REPOSITORY / "reference/silu/silu.cu"
    ).read_text()
    assert "TODO(student)" in (folder / "stub-silu.cu").read_text()


def test_of_inline_cuda_the_cuda_source_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To Dolos a string is one token: all files of inline CUDA were alike.
    checked_silu(tmp_path)
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/silu_inline.py").write_text(inlined("__global__ void mine() {}\n"))
    (tmp_path / "class/bob").mkdir()
    (tmp_path / "class/bob/silu_inline.py").write_text("CUDA = no_call_of_load_inline\n")
    monkeypatch.chdir(tmp_path)
    result = export(tmp_path / "class", tmp_path / "out")
    assert "dolos run -l cpp info.csv" in result.output
    folder = tmp_path / "out/silu/silu_inline.py"
    mine = (folder / "ada/silu_inline.py").read_text()
    assert "__global__ void mine() {}" in mine
    assert "load_inline" not in mine
    assert (folder / "bob/silu_inline.py").read_text() == "CUDA = no_call_of_load_inline\n"


def test_one_submission_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "class/ada").mkdir(parents=True)
    shutil.copy(REPOSITORY / "reference/silu/silu.cu", tmp_path / "class/ada")
    result = export(tmp_path / "class", tmp_path / "out")
    assert result.exit_code == 0
    assert "1 submission, nothing to compare" in result.output
    assert "dolos run" not in result.output


def test_a_folder_with_files_is_not_overwritten(tmp_path: Path) -> None:
    classroom = make_classroom(tmp_path / "class")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("work")
    refused = export(classroom, tmp_path / "out").exception
    assert isinstance(refused, UsageError)
    assert "exists and is not overwritten" in refused.message


def test_another_tool_and_no_folder_are_refused(tmp_path: Path) -> None:
    classroom = make_classroom(tmp_path / "class")
    assert "'moss' is not 'dolos'" in export(classroom, tmp_path / "out", "moss").output
    refused = CliRunner().invoke(cli, ["batch", str(classroom), "silu"]).exception
    assert isinstance(refused, UsageError)
    assert "--out is missing" in refused.message
