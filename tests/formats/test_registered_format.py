"""An output format that is registered from outside the package works like the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sample_reports
from click.testing import CliRunner

from grader.cli.main import cli
from grader.formats import registry
from grader.formats.output_format import NO_EXTRAS, Extras, OutputFormat
from grader.report.model import Report, json_text, to_json


class OneLine(OutputFormat):
    """Shows only the points."""

    name = "one-line"

    def file(self, report: Report, extras: Extras = NO_EXTRAS) -> str | None:
        return f"{report.assignment}: {report.score:g} of {report.max_score:g}\n"


@pytest.fixture
def one_line() -> Iterator[OutputFormat]:
    form = OneLine()
    registry.register(form)
    yield form
    registry.unregister(form)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json_text(to_json(sample_reports.accepted())), encoding="utf-8")
    return path


@pytest.mark.usefixtures("one_line")
def test_a_registered_format_is_one_of_the_commands(report: Path, tmp_path: Path) -> None:
    output = tmp_path / "result.txt"
    command = ["report", str(report), "--format", "one-line", "--output", str(output)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    accepted = sample_reports.accepted()
    assert output.read_text() == f"silu: {accepted.score:g} of {accepted.max_score:g}\n"
    assert "one-line" in CliRunner().invoke(cli, ["ci", "--help"]).output


def test_a_format_that_is_not_registered_is_refused(report: Path) -> None:
    result = CliRunner().invoke(cli, ["report", str(report), "--format", "one-line"])
    assert result.exit_code == 2
    assert "'one-line' is not one of terminal, gradescope" in result.output
