"""`grade ci --cluster`: a worker with a pretended GPU fills in a report from the CPU."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import sample_reports
from ci_course import SEED, make_course, surroundings_with_gpu
from classrooms import grade
from clusters import certificates, dask_or_skip, scheduler

from grader.checks.check import KernelFile
from grader.commands.batch.cluster_client import ClusterClient
from grader.commands.batch.job import Answer, Outcome
from grader.commands.ci import run as ci
from grader.commands.ci.cluster import filled_in
from grader.errors import GraderError
from grader.formats import registry
from grader.gpu.nvml import gpus, visible
from grader.grading import score
from grader.grading.check_results import results
from grader.grading.file_state import FileState
from grader.grading.plan import Options
from grader.grading.selection import chosen_assignments
from grader.report.model import Report, to_json
from grader.report.reader import read_report
from grader.sandbox.level import Level
from grader.submission.reader import SourceFile
from grader.vocabulary import Language

Worker = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def dask() -> None:
    dask_or_skip()


@contextlib.contextmanager
def workers(folder: Path) -> Iterator[Worker]:
    """Start workers with `start(address, *options, wrong=…)`, `wrong` as in the pretended GPU."""
    started = []

    def start(address: str, *options: str, wrong: str = "") -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"),
                *("--no-dashboard", "--no-nanny", "--death-timeout", "20", *options),
            ],
            env=surroundings_with_gpu(wrong),
            cwd=folder,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    try:
        yield start
    finally:
        for process in started:
            process.terminate()  # its children end with it
        for process in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    with workers(tmp_path) as start:
        yield start


@pytest.fixture
def address(dask: None, tmp_path: Path) -> Iterator[str]:
    with scheduler(tmp_path) as (_, where):
        yield where


# --- the whole command -----------------------------------------------------------------------

SPY = """
#include <initializer_list>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
extern char** environ;
static void look(const char* path) {
    char text[65536];
    FILE* file = fopen(path, "r");
    if (!file) return;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    for (size_t i = 0; i + 5 < size; ++i)
        if (!memcmp(text + i, "PORT", 4) || !memcmp(text + i, "tls:/", 5)) {
            printf("SAW %s\\n", path);
            return;
        }
    if (strstr(path, ".pem")) printf("SAW %s\\n", path);
}
static void spy() {
    static bool done = false;
    if (done) return;
    done = true;
    for (char** one = environ; *one; ++one)
        if (strstr(*one, "PORT") || strstr(*one, "DASK")) printf("SAW %s\\n", *one);
    char path[64];
    const int here = getpid();
    for (int pid = here > 3000 ? here - 3000 : 1; pid <= here; ++pid) {
        for (const char* file : {"cmdline", "environ"}) {
            if (pid == here) continue;
            snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
            look(path);
        }
    }
    look("KEYS/key.pem");
    look("KEYS/cert.pem");
    printf("looked around\\n");
    fflush(stdout);
}
"""


@pytest.mark.usefixtures("dask")
def test_a_worker_fills_in_a_report_and_no_submission_sees_address_or_keys(
    course: Path, worker: Worker, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    certificates(keys)
    tls = [
        *("--tls-ca-file", str(keys / "ca.pem"), "--tls-cert", str(keys / "cert.pem")),
        *("--tls-key", str(keys / "key.pem")),
    ]
    with scheduler(tmp_path, "--protocol", "tls", *tls) as (_, where):
        assert where.startswith("tls://")
        worker(where, "--resources", "GPU=1", *tls)
        port = where.rpartition(":")[2]
        submission = tmp_path / "submission"
        submission.mkdir()
        right = (course / "submission/silu.cu").read_text()
        spy = SPY.replace("PORT", port).replace("KEYS", str(keys))
        launcher = 'extern "C" void silu('
        assert launcher in right
        start = right.index("{", right.index(launcher)) + 1
        (submission / "silu.cu").write_text(spy + right[:start] + " spy();" + right[start:])
        output, kept = tmp_path / "results.json", tmp_path / "report.json"
        done = grade(
            "ci", "silu", "--from", submission, "--format", "gradescope", "--output", output,
            "--report", kept, "--budget", "300", "--cluster", where, "--cluster-tls", keys,
            cwd=course,
            DASK_SCHEDULER_ADDRESS=where,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = read_report(kept)
    assert (report.score, report.pending, report.max_score) == (90, 0, 90)
    assert "cluster" not in report.environment
    assert report.environment["device"] == "cpu"
    assert "Pretended GPU" in str(report.environment["filled_in_by"])
    by_name = {check.name: check for check in report.kernels[0].checks}
    assert by_name["performance"].message == "1.1 times as fast as torch"
    assert json.loads(output.read_text())["score"] == 90
    printed = by_name["correctness"].evidence.output  # type: ignore[union-attr]
    assert "looked around" in printed
    assert "SAW" not in printed
    assert where not in output.read_text()
    assert str(keys) not in output.read_text()


# --- faults ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_cpu(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The submission's report from this machine's CPU: 15 points are pending."""
    kept = tmp_path_factory.mktemp("processor") / "report.json"
    done = grade(
        "ci", "silu", "--from", course / "submission", "--format", "json", "--output", kept,
        "--device", "cpu", "--seed", str(SEED), cwd=course,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = read_report(kept)
    assert (report.score, report.pending) == (75, 15)
    return report


@pytest.fixture
def run(
    on_cpu: Report, course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Report]:
    """Call `grade ci --cluster` with the grading on this machine replaced; return the report."""
    monkeypatch.chdir(course)

    def graded(*_: object, on_report: Callable[[Report], None]) -> Report:
        on_report(on_cpu)
        return on_cpu

    monkeypatch.setattr(ci, "grade", graded)
    usual = ci.Request(
        assignment="silu",
        source=course / "submission",
        format=registry.GRADESCOPE,
        output=tmp_path / "result",
        level=Level.PARTIAL,
        budget_s=120.0,
        seed=SEED,
        device="auto",
        report_path=tmp_path / "report.json",
        metadata_path=None,
        limit=None,
    )

    def call(where: str, **changes: Any) -> Report:
        request: ci.Request = replace(usual, cluster=where, **changes)
        assert ci.grade_ci(request) == 0
        assert not client_processes()
        report = read_report(tmp_path / "report.json")
        shown = (tmp_path / "result").read_text()
        assert where not in shown
        if request.format is registry.GRADESCOPE:
            assert json.loads(shown)["score"] == report.score
        return report

    return call


def client_processes() -> list[psutil.Process]:
    """Return the client processes that this process has left behind."""
    left = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # the child has ended meanwhile
            left += (
                [child]
                if "grader.commands.batch.cluster_client" in " ".join(child.cmdline())
                else []
            )
    return left


def pending_because(report: Report, words: str) -> bool:
    """True if the points from the CPU stand, the timed ones are pending, and staff see why."""
    assert (report.score, report.pending, report.verdict.value) == (75, 15, "accepted")
    assert "filled_in_by" not in report.environment
    return words in str(report.environment["cluster"])


def test_an_answer_in_time_fills_in(
    address: str, worker: Worker, run: Callable[..., Report]
) -> None:
    worker(address, "--resources", "GPU=1")
    report = run(address)
    assert (report.score, report.pending) == (90, 0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("driver", "the driver does not answer"),
        ("oracle", "the baseline failed"),
        ("busy", "15 points are pending there too: silu: something else uses the GPU"),
        ("spec", "of different specs"),
        ("sandbox", "the worker's sandbox reaches the level none, not partial"),
    ],
)
def test_an_answer_that_cannot_be_used_leaves_points_pending(
    wrong: str,
    words: str,
    address: str,
    worker: Worker,
    run: Callable[..., Report],
    capsys: pytest.CaptureFixture[str],
) -> None:
    worker(address, "--resources", "GPU=1", wrong=wrong)
    assert pending_because(run(address), words)
    assert words in capsys.readouterr().out  # Gradescope's log is for staff


def test_a_late_answer_is_not_waited_for(
    address: str, worker: Worker, run: Callable[..., Report]
) -> None:
    worker(address, "--resources", "GPU=1", wrong="late")
    report = run(address, budget_s=15.0)
    assert pending_because(report, f"{address} had not answered when 15 s were over")


def test_an_answer_fills_in_what_this_machine_had_no_time_for(
    address: str,
    worker: Worker,
    run: Callable[..., Report],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assignment = chosen_assignments(("silu",))[0]
    file = KernelFile(
        kernel=assignment.kernels[0], language=Language.CUDA, source=SourceFile(path="silu.cu")
    )
    waiting = results(FileState(file=file), Options(), finished=False)
    begun = score.assemble(
        assignment,
        [score.kernel_result(assignment.kernels[0], Language.CUDA, waiting)],
        filtered=False,
        wall_s=1.0,
        environment={},
    )
    assert (begun.score, begun.pending) == (0, 90)

    def slow(*_: object, on_report: Callable[[Report], None]) -> Report:
        on_report(begun)
        while True:
            time.sleep(1)

    monkeypatch.setattr(ci, "grade", slow)
    worker(address, "--resources", "GPU=1")
    report = run(address, budget_s=25.0)
    assert (report.score, report.pending, report.max_score) == (90, 0, 90)
    names = [check.name for check in report.kernels[0].checks]
    assert names[:3] == ["build", "correctness", "correctness, hidden"]


def test_this_machine_has_no_gpu_to_ask(run: Callable[..., Report], dask: None) -> None:
    if visible(gpus()):
        pytest.skip("there is one")
    assert pending_because(run("local"), "this machine has no usable NVIDIA GPU")


def test_only_staff_see_the_reason(
    run: Callable[..., Report], dask: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    where = f"tcp://127.0.0.1:{port}"
    assert pending_because(run(where), f"the cluster {where} does not answer")
    assert where in capsys.readouterr().out
    run(where, format=registry.AUTOLAB)
    printed = capsys.readouterr()
    assert str(port) not in printed.out + printed.err


def test_a_worker_without_a_gpu_is_refused(
    address: str, worker: Worker, run: Callable[..., Report]
) -> None:
    worker(address)
    assert pending_because(run(address), "offers a GPU")


def test_a_cluster_without_workers_is_given_up_within_the_budget(
    address: str, run: Callable[..., Report]
) -> None:
    report = run(address, budget_s=10.0)
    assert pending_because(report, "no worker joined the cluster")


def test_a_lost_workers_job_goes_to_the_next(
    address: str, worker: Worker, run: Callable[..., Report]
) -> None:
    lost = worker(address, "--resources", "GPU=1", wrong="lost")
    after: list[int] = []

    def replace_it() -> None:
        after.append(lost.wait(100))
        worker(address, "--resources", "GPU=1")

    thread = threading.Thread(target=replace_it)
    thread.start()
    report = run(address)
    thread.join()
    assert after == [-9]
    assert (report.score, report.pending) == (90, 0)


def test_a_lost_worker_that_nobody_replaces_leaves_points_pending(
    address: str, worker: Worker, run: Callable[..., Report]
) -> None:
    worker(address, "--resources", "GPU=1", wrong="lost")
    assert pending_because(run(address, budget_s=40.0), "has no workers")


# --- without a cluster -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "changes", "words"),
    [
        ("tcp://10.1.2.3:8786", {}, "unencrypted"),
        ("tls://head.example.edu:8786", {}, "needs certificates"),
        ("head.example.edu", {}, "is no scheduler's address"),
        ("local", {"device": "cuda"}, "--device is cuda"),
        ("local", {"format": registry.JSON, "budget_s": None}, "--format json has none"),
    ],
)
def test_invalid_options_are_refused(
    where: str, changes: dict[str, Any], words: str, run: Callable[..., Report], tmp_path: Path
) -> None:
    with pytest.raises(GraderError, match=words) as caught:
        run(where, **changes)
    assert caught.value.exit_code == 3
    assert not (tmp_path / "result").exists()


def test_keys_that_submissions_can_read_are_refused(
    run: Callable[..., Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates(tmp_path / "keys")
    sent: list[object] = []
    monkeypatch.setattr(ClusterClient, "send", sent.append)
    readable = Path(sys.prefix, "lib")  # which submissions need
    monkeypatch.setattr(ci, "cluster_job", lambda *_: object())
    with pytest.raises(GraderError, match="a submission can read"):
        run("tls://head.example.edu:8786", cluster_tls=readable, level=Level.NONE)
    assert not sent


def answer(report: Report, **environment: object) -> Answer:
    values = to_json(report)
    values["environment"] = {**values["environment"], "sandbox": "full", **environment}
    return Answer(outcome=Outcome.GRADED, text=json.dumps(values))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "cannot be read: RecursionError"),
        ("not JSON", "cannot be read"),
        ("[]", "the worker's report: `report`"),
        ('{"format": 2}', "`format` is 2"),
    ],
)
def test_an_invalid_report_is_not_used(on_cpu: Report, text: str, words: str) -> None:
    came = Answer(outcome=Outcome.GRADED, text=text)
    assert pending_because(filled_in(on_cpu, came, Level.PARTIAL, "silence"), words)


def test_a_report_of_another_submission_or_seed_is_not_used(on_cpu: Report) -> None:
    for key in ("hand_in_hash", "secret_seed", "public_seed"):
        came = answer(on_cpu, **{key: 5 if "seed" in key else "other"})
        assert pending_because(filled_in(on_cpu, came, Level.FULL, "silence"), "of different")


def test_a_report_without_pending_points_is_unchanged(on_cpu: Report) -> None:
    whole = replace(on_cpu, pending=0.0)
    assert filled_in(whole, None, Level.PARTIAL, "silence") is whole
    failed = replace(sample_reports.grader_error(), environment=on_cpu.environment)
    assert filled_in(failed, answer(on_cpu), Level.PARTIAL, "silence") is failed
