"""`grade verify` in a process: exit codes, output, Ctrl-C."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest
from course import CUDA, Course
from paths import REPOSITORY


def environment() -> dict[str, str]:
    # Without nvcc, which would take a second for each file.
    return {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "CUDACXX": "",
        "COLUMNS": "120",  # a row of the table is one line
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "grader", "verify", "--device", "cpu", *arguments]


def verify(course: Course, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=course.root, env=environment(), capture_output=True, text=True
    )


@pytest.mark.slow
def test_all_agrees(course: Course) -> None:
    done = verify(course, "--repeat", "2", "--json", "result.json")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("affine on the CPU")
    assert "agree" in lines[-1] and "1 not on this device" in lines[-1]
    assert "difference" not in done.stdout
    result = json.loads((course.root / "result.json").read_text())
    assert result["agrees"] is True and result["device"] == "cpu" and result["repeat"] == 2
    rows = {(row["subject"], row["check"]): row for row in result["rows"]}
    for file in ("v0_torch.py", "v1_simple.cu"):
        for check in ("accepted, seed 0", "accepted, seed 1"):
            assert rows[f"reference {file}", check]["verdicts"]["correctness"] == "accepted"
        assert rows[f"stub {file}", "touched"]["actual"] == "wrong answer with 0 points"
        assert rows[f"trivial {file}", "writes zeros"]["actual"] == "wrong answer with 0 points"
    assert rows["stub of v0_torch", "untouched"]["actual"] == "not submitted with 0 points"
    slow = rows["sample too_slow/one-thread/v1_simple.cu", "verdict"]
    assert (slow["state"], slow["note"]) == ("elsewhere", "on cuda only: one thread does it all")
    keys = "assignment subject check state expected actual note verdicts wall_s"
    assert set(slow) == set(keys.split())


@pytest.mark.slow
def test_differences_come_first(course: Course) -> None:
    folder = course.reference / "samples" / "accepted" / "planted"
    folder.mkdir()
    (folder / "v1_simple.cu").write_text(CUDA.replace("2.0f", "3.0f"))
    done = verify(course, "--sample", "planted", "--sample", "block-of-32")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[2:6] == [
        "1 difference",
        "  affine · sample accepted/planted/v1_simple.cu · verdict",
        "    expected  accepted",
        "    actual    wrong answer",
    ]
    assert lines[-1].startswith("1 of 2 differ")
    assert any("planted/v1_simple.cu" in line and "DIFFERS" in line for line in lines)


@pytest.mark.slow
def test_wrong_requests_are_sentences(course: Course) -> None:
    for arguments, phrase in (
        (("--sample", "nonesuch"), "no sample matches nonesuch"),
        (("--language", "numba"), "affine has no file in Numba"),
        (("--kernel", "v1_simpel"), "there is no kernel `v1_simpel`; did you mean `v1_simple`?"),
        (("afine",), "there is no assignment `afine`; did you mean `affine`?"),
        (("--repeat", "0"), "0 is not in the range"),
        (("--json", "nowhere/x.json"), "there is no folder nowhere"),
    ):
        done = verify(course, *arguments)
        assert done.returncode == 2, done.stderr
        assert phrase in " ".join(done.stderr.split())
    shutil.rmtree(course.root / "reference")
    done = verify(course)
    assert done.returncode == 2
    assert "there is no reference/" in done.stderr and "only staff have" in done.stderr


@pytest.mark.slow
def test_a_failure_of_the_grader_is_its_own_exit_code(course: Course) -> None:
    course.edit("assignments/affine/oracle.py", "    x, w =", "    1 / 0\n    x, w =")
    done = verify(course, "--sample", "block-of-32")
    assert done.returncode == 3
    assert "1 grader error" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 could not be judged")


@pytest.mark.slow
def test_ctrl_c_leaves_no_process_behind(course: Course) -> None:
    folder = course.reference / "samples" / "wrong_answer" / "endless"
    folder.mkdir()
    (folder / "v1_simple.cu").write_text(
        CUDA.replace("    // end", "    while (n > 0) output[0] = 1;")
    )
    process = subprocess.Popen(
        command("--sample", "endless"),
        cwd=course.root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Below the pool worker, the program that runs the submission.
    deadline_s = time.monotonic() + 60
    family: list[psutil.Process] = []
    while not any(_name(p) == "cuda_worker" for p in family):
        assert process.poll() is None and time.monotonic() < deadline_s
        family = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "1 of 1 steps are left" in output.splitlines()[-1]  # what was done is printed
    assert errors.strip().endswith("interrupted")
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.Error:
        return ""
