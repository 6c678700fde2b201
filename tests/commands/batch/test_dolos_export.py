"""`grade batch --export-for dolos`: a folder for each file, and no untouched stub in it."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from classrooms import make_classroom
from click.testing import CliRunner, Result
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
    assert [row["filename"] for row in rows] == ["ada/silu.cu", "bob/silu.cu", "cyd/silu.cu"]
    assert (folder / "ada" / "silu.cu").read_text() == (
        REPOSITORY / "reference/silu/silu.cu"
    ).read_text()
    assert "TODO(student)" in (folder / "stub-silu.cu").read_text()


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
