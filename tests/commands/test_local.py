"""`grade local` in a new process, on correct submissions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import html_pages
import jsonschema
import pytest
from paths import REPOSITORY
from silu_points import KERNEL, MEMORY, PROGRAM, SPEED

GRADE = [sys.executable, "-c", "from grader.__main__ import main; main()"]
SCHEMA = json.loads(resources.files("grader").joinpath("schemas/report.schema.json").read_text())


def grade(*arguments: str | Path, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "100", "CUDACXX": ""}
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
    assert "no main.cu in" in done.stdout
    done = grade("local", "silu", "--device", "cpu", "--kernel", "silu", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_program_alone() -> None:
    for arguments in (("--kernel", "main"), ("--check", "program")):
        done = grade("local", "silu", "--from", "reference", "--device", "cpu", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "main · CUDA C++ · main.cu: accepted, 10 / 10 points" in done.stdout


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


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (("local", "slu"), "did you mean `silu`?"),
        (("local", "silu", "--kernel", "sillu"), "did you mean `silu`?"),
        (("local", "silu", "--from", "no/such/folder"), "there is no submission at no/such/folder"),
        (("local", "silu", "--language", "rust"), "'rust' is not one of"),
        (("local", "silu", "--json", "no/such/folder/x.json"), "there is no folder"),
        (("local", "silu", "--html", "no/such/folder/x.html"), "--html: there is no folder"),
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
