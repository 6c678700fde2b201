"""`grade ci --try gradescope`: the archive runs here as on the platform."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from classrooms import grade
from click.testing import CliRunner
from paths import REPOSITORY

from grader.cli.main import cli
from grader.commands.ci.gradescope_metadata import read_metadata
from grader.commands.ci.trial import SAMPLE
from grader.errors import UsageError

SHIPPED = REPOSITORY / "grader" / "commands" / "release" / "files" / "trial" / SAMPLE


@pytest.mark.slow
def test_the_archive_grades_a_submission_in_a_folder(tmp_path: Path) -> None:
    solved = REPOSITORY / "reference/silu/silu.cu"
    output = tmp_path / "results.json"
    done = grade("ci", "silu", "--from", solved, "--try", "gradescope", "--output", output)
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text(encoding="utf-8"))
    assert done.stdout.splitlines()[0] == f"score {result['score']}"
    assert "silu · CUDA C++ · correctness" in done.stdout


def test_the_sample_of_metadata_is_read() -> None:
    assert read_metadata(SHIPPED) is not None
    page = (REPOSITORY / "docs/ci.md").read_text(encoding="utf-8")
    shown = page.partition("```json\n")[2].partition("```")[0]
    assert json.loads(shown) == json.loads(SHIPPED.read_text(encoding="utf-8"))


def test_what_cannot_be_copied_is_named(tmp_path: Path) -> None:
    for words, phrase in (
        (["--from", str(tmp_path / "none")], "--from: cannot copy"),
        (["--from", str(tmp_path), "--metadata", str(tmp_path / "none")], "--metadata: cannot"),
    ):
        found = CliRunner().invoke(cli, ["ci", "silu", *words, "--try", "gradescope"]).exception
        assert isinstance(found, UsageError)
        assert phrase in found.message
