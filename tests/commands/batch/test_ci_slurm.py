"""`grade ci --cluster slurm` on a machine with Slurm: the job runs, ends and leaves the queue."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ci_course import SEED, make_course, surroundings_with_gpu
from classrooms import grade
from clusters import certificates, jobqueue, slurm_or_skip

from grader.report.model import Report
from grader.report.reader import read_report

pytestmark = pytest.mark.slow

NAME = "grade-test"
_START_S = 60.0  # for a job to run


def queue(state: str = "") -> list[str]:
    """Return these tests' jobs in Slurm's queue, or only those in one state."""
    asked = ["squeue", "--noheader", "--format=%i", f"--name={NAME}"]
    found = subprocess.run(
        [*asked, *([f"--states={state}"] if state else [])],
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.split()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Report]:
    """Grade on the CPU and in a Slurm job; `wrong` is the fault of the pretended GPU."""
    slurm_or_skip()
    certificates(tmp_path / "tls")
    course = make_course(tmp_path / "course")

    def call(wrong: str = "", *directives: str, budget_s: int = 100) -> Report:
        variables = surroundings_with_gpu(wrong)
        settings = jobqueue(
            tmp_path,
            {name: variables[name] for name in ("PYTHONPATH", "GRADE_TEST_GPU")},
            **{"name": NAME, "job-extra-directives": [f"--job-name={NAME}", *directives]},
        )
        output, kept = tmp_path / "results.json", tmp_path / "report.json"
        done = grade(
            "ci", "silu", "--from", course / "submission", "--format", "gradescope",
            "--output", output, "--report", kept, "--budget", str(budget_s), "--device", "auto",
            "--seed", str(SEED), "--cluster", "slurm", "--cluster-tls", tmp_path / "tls",
            cwd=course, DASK_CONFIG=str(settings), CUDA_VISIBLE_DEVICES="",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        report = read_report(kept)
        assert json.loads(output.read_text())["score"] == report.score
        until_s = time.monotonic() + 10  # Slurm takes a moment to remove a job
        while queue() and time.monotonic() < until_s:
            time.sleep(0.2)
        assert not queue(), "a job was left to Slurm"
        return report

    return call


def pending_because(report: Report, words: str) -> bool:
    assert (report.score, report.pending, report.verdict.value) == (75, 15, "accepted")
    return words in str(report.environment["cluster"])


def test_a_job_of_slurm_fills_in(run: Callable[..., Report]) -> None:
    report = run()
    assert (report.score, report.pending) == (90, 0)
    assert "Pretended GPU" in str(report.environment["filled_in_by"])


def test_a_job_that_is_too_late_is_cancelled(run: Callable[..., Report]) -> None:
    report = run("late", budget_s=50)
    # A slow machine may not have reached its own memory check in that time.
    assert report.pending >= 15
    assert "had not answered when 50 s were over" in str(report.environment["cluster"])


@pytest.mark.timeout(300)  # two jobs, and the wait until the first is given up
def test_a_cancelled_job_is_submitted_again(run: Callable[..., Report], tmp_path: Path) -> None:
    met = tmp_path / "met"
    cancelled: list[str] = []

    def cancel() -> None:
        until_s = time.monotonic() + _START_S
        while not met.exists() and time.monotonic() < until_s:
            time.sleep(0.1)
        cancelled.extend(queue("RUNNING"))
        subprocess.run(["scancel", *cancelled], check=True)

    thread = threading.Thread(target=cancel)
    thread.start()
    report = run(f"late once, {met}", budget_s=200)
    thread.join()
    assert cancelled
    assert (report.score, report.pending) == (90, 0)


def test_a_job_that_never_starts_is_cancelled(run: Callable[..., Report]) -> None:
    report = run("", "--begin=now+1hour", budget_s=30)
    assert pending_because(report, "no worker joined the cluster slurm")


def test_a_refused_job_is_reported(run: Callable[..., Report]) -> None:
    report = run("", "--partition=of-no-cluster", budget_s=60)
    assert pending_because(report, "invalid partition")
