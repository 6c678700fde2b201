"""`grade local` in a new process, on correct submissions."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path

import html_pages
import jsonschema
import pytest
import sample_reports
from paths import REPOSITORY
from rich.console import Console
from silu_points import KERNEL, MEMORY, PROGRAM, SPEED

from grader.commands import listing, local
from grader.grading import pipeline
from grader.grading.selection import chosen_assignments
from grader.report.model import Report
from grader.report.verdict import Verdict

GRADE = [sys.executable, "-c", "from grader.__main__ import main; main()"]
SCHEMA = json.loads(resources.files("grader").joinpath("schemas/report.schema.json").read_text())


def grade(
    *arguments: str | Path, cwd: Path = REPOSITORY, columns: str = "100"
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "COLUMNS": columns, "CUDACXX": ""}
    return subprocess.run(
        [*GRADE, *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, text=True
    )


def test_the_reference_is_accepted_in_both_languages(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = grade("local", "silu", "--from", "reference", "--device", "cpu", "--json", file)
    assert done.returncode == 0, done.stdout + done.stderr
    pending = f"{SPEED:g} pending: speed is measured on a GPU"
    result = f"accepted · {KERNEL + PROGRAM:g} / 100 points · {pending} · 2 of 2 handed in"
    assert result in done.stdout
    assert "\nPending points are neither won nor lost: a GPU has to time the kernel" in done.stdout
    report = json.loads(file.read_text())
    jsonschema.validate(report, SCHEMA)
    assert [kernel["name"] for kernel in report["kernels"]] == ["silu", "silu", "main"]
    assert [kernel["language"] for kernel in report["kernels"]] == ["cuda", "triton", "cuda"]
    assert [kernel["verdict"] for kernel in report["kernels"]] == ["accepted"] * 3
    assert [kernel["counted"] for kernel in report["kernels"]] == [True, False, True]
    assert report["environment"]["device"] == "cpu"
    assert not report["filtered"]


@pytest.mark.slow
def test_one_language_is_a_partial_run(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = grade(
        "local", "silu", "--from", "reference", "--device", "cpu", "--language", "cuda",
        "--json", file,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    assert [(kernel["name"], kernel["language"]) for kernel in report["kernels"]] == [
        ("silu", "cuda"),
        ("main", "cuda"),
    ]
    assert report["filtered"]


def test_the_check_build_alone_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = grade(
        "local", "silu", "--from", "reference", "--device", "cpu", "--check", "build",
        "--json", file,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    assert {check["check"] for kernel in report["kernels"] for check in kernel["checks"]} == {
        "build"
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "reachable", "pending"),
    [
        (("--check", "memory"), MEMORY, MEMORY),
        (("--kernel", "silu"), KERNEL + SPEED, SPEED),
        (("--check", "correctness"), KERNEL - MEMORY, 0),
    ],
)
def test_a_partial_run_with_pending_points_says_so(
    asked: tuple[str, str], reachable: float, pending: float, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    shutil.copy(REPOSITORY / "reference" / "silu" / "silu.cu", tmp_path)
    done = grade("local", "silu", "--from", tmp_path, "--device", "cpu", *asked, "--json", file)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    assert (report["filtered"], report["pending"]) == (True, pending)
    assert report["score"] + report["pending"] == reachable
    waits = "its points wait for the correctness check" in done.stdout
    assert waits is (asked[1] == "memory")


@pytest.mark.slow
def test_a_seed_draws_other_cases_and_is_in_the_report(tmp_path: Path) -> None:
    sizes: list[list[int]] = []
    for seed in ("1", "2", "1"):
        file = tmp_path / f"{len(sizes)}.json"
        done = grade(
            "local", "silu", "--from", "reference", "--device", "cpu", "--language", "cuda",
            "--seed", seed, "--json", file,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(file.read_text())
        assert report["environment"]["secret_seed"] == int(seed)
        hidden = [c for c in report["kernels"][0]["checks"] if c["visibility"] == "hidden"]
        sizes.append(
            [case["sizes"]["n"] for check in hidden for case in check["evidence"]["cases"]]
        )
    assert sizes[0] == sizes[2]
    assert sizes[0] != sizes[1]


@pytest.mark.slow
def test_a_folder_takes_a_report_for_each_assignment(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in ("silu", "copy_first_column"):
        (source / name).mkdir(parents=True)
        for file in (f"{name}.cu", "main.cu"):
            shutil.copy(REPOSITORY / "reference" / name / file, source / name)
    pages = tmp_path / "pages"
    command = ("local", "--from", source, "--device", "cpu", "--json", tmp_path, "--html", pages)
    done = grade(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "copy_first_column.json").is_file()
    assert {page.name for page in pages.iterdir()} == {"copy_first_column.html", "silu.html"}
    html_pages.inert((pages / "silu.html").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((tmp_path / "silu.json").read_text()), SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["flat", "nested"])
def test_the_current_folder_is_the_submission(tmp_path: Path, layout: str) -> None:
    folder = tmp_path / "silu" if layout == "nested" else tmp_path
    folder.mkdir(exist_ok=True)
    for file in ("silu.cu", "main.cu"):
        shutil.copy(REPOSITORY / "reference" / "silu" / file, folder)
    done = grade("local", "silu", "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 handed in" in done.stdout


@pytest.mark.slow
def test_a_kernel_without_the_program_is_a_partial_run(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "reference" / "silu" / "silu.cu", tmp_path)
    done = grade("local", "silu", "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"accepted · {KERNEL:g} / 100 points · {SPEED:g} pending" in done.stdout
    assert "1 of 2 handed in" in done.stdout
    assert "not submitted, 0 / 10 points: no main.cu" in done.stdout
    done = grade("local", "silu", "--device", "cpu", "--kernel", "silu", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_program_alone() -> None:
    for arguments in (("--kernel", "main"), ("--check", "program")):
        done = grade("local", "silu", "--from", "reference", "--device", "cpu", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "main · CUDA C++ · main.cu: accepted, 10 / 10 points" in done.stdout


@pytest.mark.slow
def test_in_the_repository_the_stubs_are_the_submission() -> None:
    done = grade("local", "silu", "--device", "cpu")
    assert done.returncode == 1
    assert "not submitted" in done.stdout
    assert "the stub as handed out" in done.stdout


@pytest.mark.slow
def test_output_has_no_colour_codes_when_it_is_not_a_terminal() -> None:
    done = grade("local", "silu", "--from", "reference", "--device", "cpu", "--language", "cuda")
    assert "\x1b" not in done.stdout + done.stderr


def test_list_names_kernels_files_and_points() -> None:
    done = grade("list")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    silu = rows.index(["silu", "silu", "silu.cu", "silu.py", f"{KERNEL + SPEED:g}"])
    assert rows[silu + 1] == ["main", "main.cu", "10"]


def test_list_of_one_assignment_has_points_cases_and_tiers() -> None:
    done = grade("list", "gemm")
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    assert "v2_tiled 23 14 5 4 v3_optimized 24 10 4 6 4" in text
    assert "m=1 n=1 k=1, m=1 n=35 k=17" in text
    assert "4 more cases are hidden" in text
    assert "v4_autotuned in CUDA C++: 4.8 at 0.55 or 45 %, 8 at 0.75 or 60 %" in text
    assert "stubs: student_template/gemm handout: assignments/gemm/README.md" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_list_cuts_no_name(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    file = io.StringIO()
    monkeypatch.chdir(REPOSITORY)
    listing.list_all(chosen_assignments(()), Console(file=file))
    names = {"copy_first_column.cu", "rms_norm_matrix.py", "v3_shared_tile.py", "v4_autotuned"}
    assert names <= set(file.getvalue().split())
    assert max(map(len, file.getvalue().splitlines())) <= width


def request(**changes: object) -> local.Request:
    usual: dict[str, object] = {
        "assignments": ("gemm",),
        "source": REPOSITORY / "reference",
        "device": "cpu",
        "kernels": (),
        "languages": (),
        "checks": (),
        "seed": 0,
        "json_path": None,
    }
    return local.Request(**(usual | changes))  # type: ignore[arg-type]


def test_ctrl_c_prints_and_stores_what_has_been_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = sample_reports.accepted()
    first, second = whole.kernels
    waiting = tuple(
        replace(check, verdict=Verdict.NOT_MEASURED, message="not graded yet", waiting=True)
        for check in second.checks
    )

    def interrupted(*_: object, on_report: Callable[[Report], None]) -> Report:
        on_report(replace(whole, kernels=(first, replace(second, checks=waiting))))
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "grade", interrupted)
    monkeypatch.chdir(REPOSITORY)
    with pytest.raises(KeyboardInterrupt):
        local.grade_local(request(json_path=f"{tmp_path}/new/"))
    text = capsys.readouterr().out
    assert "9 of 9 cases are right" in text
    assert "not graded: interrupted" in text
    assert (tmp_path / "new" / "silu.json").is_file()


@pytest.mark.slow
def test_first_ends_at_the_first_failure(tmp_path: Path) -> None:
    for name in ("v1_simple.cu", "v2_tiled.cu"):
        shutil.copy(REPOSITORY / "reference" / "gemm" / name, tmp_path)
    (tmp_path / "v1_simple.cu").write_text("int gemm = 1\n")
    file = tmp_path / "report.json"
    done = grade("local", "gemm", "--from", tmp_path, "--device", "cpu", "--first", "--json", file)
    assert done.returncode == 1, done.stderr
    assert (
        "v2_tiled.cu: not measured, 0 / 23 points, 23 pending: not graded: a check" in done.stdout
    )
    kernels = {kernel["name"]: kernel for kernel in json.loads(file.read_text())["kernels"]}
    assert kernels["v1_simple"]["verdict"] == "compile_error"
    assert {check["verdict"] for check in kernels["v2_tiled"]["checks"]} == {"not_measured"}


@pytest.mark.slow
def test_in_a_pipe_an_error_begins_its_line_with_the_path_as_typed(tmp_path: Path) -> None:
    folder = tmp_path / "home work"
    folder.mkdir()
    sample = REPOSITORY / "reference" / "silu" / "samples" / "compile_error" / "missing-semicolon"
    shutil.copy(sample / "silu.cu", folder)
    done = grade("local", "home work/silu.cu", "--device", "cpu", cwd=tmp_path, columns="")
    assert "\nhome work/silu.cu:10:52: error: " in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (("local", "slu"), "did you mean `silu`?"),
        (("local", "silu", "--kernel", "sillu"), "did you mean `silu`?"),
        (("local", "silu", "--from", "no/such/folder"), "there is no submission at no/such/folder"),
        (("local", "silu", "--language", "rust"), "'rust' is not one of"),
        (("local", "silu", "--json", "no/such/folder/x.json"), "there is no folder"),
        (("local", "silu", "--json", "README.md/"), "is a file, not a folder"),
        (("local", "silu", "--html", "no/such/folder/x.html"), "--html: there is no folder"),
        (("local", "silu", "--sarif", "no/such/folder/x.sarif"), "--sarif: there is no folder"),
        (("lokal",), "No such command"),
    ],
)
def test_a_wrong_command_line_gives_a_sentence_and_exit_code_2(
    arguments: tuple[str, ...], phrase: str
) -> None:
    done = grade(*arguments)
    assert done.returncode == 2
    assert phrase in done.stderr
    assert "Traceback" not in done.stderr


def test_files_are_written_even_if_nobody_reads_the_output(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    reader, writer = os.pipe()
    os.close(reader)
    words = ["local", "vector_add", "--device", "cpu", "--json", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "CUDACXX": ""}
    subprocess.run([*GRADE, *words], cwd=REPOSITORY, env=environment, stdout=writer, check=False)
    os.close(writer)
    assert json.loads(file.read_text())["verdict"] == "not_submitted"
