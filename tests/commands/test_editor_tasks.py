"""The tasks for VS Code in a student's archive: their matchers read what the commands print."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import format_contracts
import pytest
import sample_reports
from click.testing import CliRunner
from paths import REPOSITORY
from rich.console import Console

import grader
from grader.cli.main import cli
from grader.commands import local
from grader.commands.watch import Change
from grader.errors import ExitCode
from grader.formats.terminal import print_report
from grader.report.model import Report

TASKS = Path(grader.__file__).parent / "commands/release/files/editor/dot_vscode/tasks.json"
ALL = json.loads(TASKS.read_text())["tasks"]
MATCHERS = [task["problemMatcher"] for task in ALL]
SAMPLES = REPOSITORY / "reference" / "silu" / "samples"
OVERRUN = """#include <cstdio>
__global__ void fill(int* a) { a[threadIdx.x] = 1; }
int main() { int* a; cudaMalloc(&a, 16); fill<<<1, 5>>>(a); cudaFree(a); return 0; }
"""


def problems(text: str, matcher: dict[str, Any] = MATCHERS[0]) -> list[tuple[str, int, str]]:
    """Return file, line and severity of each line that the matcher matches."""
    pattern = matcher["pattern"]
    found = filter(None, (re.search(pattern["regexp"], line) for line in text.splitlines()))
    return [
        (one[pattern["file"]], int(one[pattern["line"]]), one[pattern["severity"]]) for one in found
    ]


def piped(report: Report) -> str:
    file = io.StringIO()
    print_report(report, Console(file=file), paths={"silu.cu": "home work/silu.cu"})
    return file.getvalue()


def test_all_tasks_have_one_pattern() -> None:
    assert {json.dumps(one["pattern"]) for one in MATCHERS} == {json.dumps(MATCHERS[0]["pattern"])}


def test_the_commands_of_the_tasks_exist() -> None:
    for task in ALL:
        words = re.sub(r'^"\$\{workspaceFolder\}/\.venv/bin/grade" ', "", task["command"])
        command = cli.commands[words.split()[0]]
        known = {option for one in command.params for option in one.opts}
        assert set(re.findall(r"--\w+", words)) <= known
        assert words.endswith("| cat")  # a pipe: lines as a compiler writes them


def test_every_finding_with_a_line_is_a_problem() -> None:
    found = problems(piped(sample_reports.memory_error()))
    assert {path for path, _, _ in found} == {"home work/silu.cu"}
    assert sorted(line for _, line, _ in found) == [14, 15, 17, 21, 24, 26, 31, 40]
    assert [line for _, line, severity in found if severity == "warning"] == [40]


def test_the_columns_of_a_compiler_are_kept() -> None:
    text = piped(sample_reports.compile_error())
    pattern = MATCHERS[0]["pattern"]
    found = [re.search(pattern["regexp"], line) for line in text.splitlines()]
    assert any(one and one[pattern["column"]] for one in found)


def test_a_report_without_findings_has_no_problem() -> None:
    assert problems(piped(sample_reports.accepted())) == []
    assert problems(piped(sample_reports.wrong_answer())) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample", "line"),
    [("compile_error/missing-semicolon", 10), ("memory_error/missing-guard", 10)],
)
def test_a_graded_file_has_a_problem_and_a_result_in_sarif(
    sample: str, line: int, tmp_path: Path
) -> None:
    file = tmp_path / "silu.cu"
    shutil.copy(SAMPLES / sample / "silu.cu", file)
    words = ["local", str(file), "--device", "cpu", "--sarif", str(tmp_path / "silu.sarif")]
    # pytest-xdist's workers have a width, which pages heed.
    result = CliRunner().invoke(cli, words, env={"COLUMNS": None})
    assert (str(file), line, "error") in problems(result.stdout)
    [run] = format_contracts.sarif((tmp_path / "silu.sarif").read_text())["runs"]
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {file.as_uri()}
    assert line in {place["region"]["startLine"] for place in places}


def test_a_program_of_ones_own_has_a_problem_and_a_result_in_sarif(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fill.cu"
    file.write_text(OVERRUN)
    sarif = tmp_path / "fill.sarif"
    done = CliRunner().invoke(cli, ["run", str(file), "--no-counters", "--sarif", str(sarif)])
    assert done.exit_code == 1
    assert problems(done.stdout + capfd.readouterr().out) == [(str(file), 2, "error")]
    [run] = format_contracts.sarif(sarif.read_text())["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["memory/out_of_bounds"]


@pytest.mark.slow
def test_a_program_whose_sarif_cannot_be_written_gives_a_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "main.cu"
    file.write_text("int main() { return 0; }\n")
    done = CliRunner().invoke(cli, ["run", str(file), "--sarif", str(tmp_path / "no" / "x.sarif")])
    assert done.exit_code == 2
    assert "No such file or directory" in done.stderr + capfd.readouterr().err


def test_the_watching_task_knows_when_a_grading_begins_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_save(*_: object) -> Iterator[Change]:
        yield Change(selected=(), paths=("my work/silu.cu",))
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "changes", one_save)
    monkeypatch.setattr(local, "_grade_all", lambda *_: ExitCode.COMPLETE)
    file = tmp_path / "silu.cu"
    file.write_text("// a kernel\n")
    monkeypatch.setenv("GRADE_ASSIGNMENTS", str(REPOSITORY / "assignments"))
    background = next(one["background"] for one in MATCHERS if "background" in one)
    done = CliRunner().invoke(cli, ["local", str(file), "--device", "cpu", "--watch"])
    text = done.stdout.splitlines()
    begins = [n for n, line in enumerate(text) if re.search(background["beginsPattern"], line)]
    ends = [n for n, line in enumerate(text) if re.search(background["endsPattern"], line)]
    # The first grading begins with the task (`activeOnStart`), the second with the save.
    assert background["activeOnStart"]
    assert (len(begins), len(ends)) == (1, 2)
    assert ends[0] < begins[0] < ends[1]
