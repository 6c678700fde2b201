"""`grade batch --cluster`: the same jobs on Dask, which may lose workers or stop answering."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import clusters
import pytest
from ci_course import surroundings_with_gpu
from classrooms import grade, surroundings
from clusters import dask_or_skip
from paths import REPOSITORY
from silu_points import KERNEL

from grader.commands.batch import job_codec
from grader.commands.batch.cluster import Cluster, ClusterRequest, _security
from grader.commands.batch.job import Job, Outcome
from grader.commands.batch.run import run_jobs
from grader.commands.batch.store import open_store
from grader.commands.batch.submissions import find_submissions
from grader.errors import GraderError, UsageError
from grader.grading.progress import Progress
from grader.pool.state import WorkerState
from grader.vocabulary import Device


def request(where: str, **changes: Any) -> ClusterRequest:
    usual: dict[str, Any] = {"tls": None, "workers": None, "device": "cpu", "patience_s": 60.0}
    return ClusterRequest(where=where, **{**usual, **changes})


def jobs_of(folder: Path) -> list[Job]:
    assignment = REPOSITORY / "assignments" / "silu"
    return [
        Job(
            name=place.name,
            source=place.source,
            assignment=assignment,
            device=Device.CPU,
            secret_seed=7,
        )
        for place in find_submissions(folder).submissions
    ]


# Without Dask.


@pytest.mark.slow
def test_a_job_travels_as_json_and_is_graded_from_it(classroom: Path, state: WorkerState) -> None:
    data = job_codec.pack_job(next(job for job in jobs_of(classroom) if job.name == "cyd"))
    assert json.loads(data)["files"][0]["path"] == "silu.cu"
    assert str(classroom).encode() not in data
    answer = job_codec.unpack_answer(job_codec.do(data, state))
    assert answer.outcome is Outcome.GRADED
    report = json.loads(answer.text)
    assert (report["score"], report["verdict"]) == (0, "wrong_answer")
    assert report["environment"]["secret_seed"] == 7


def test_a_worker_of_another_version_does_not_grade(classroom: Path, state: WorkerState) -> None:
    data = job_codec.pack_job(jobs_of(classroom)[0])
    other = json.dumps({**json.loads(data), "grader": "0.0.0"}).encode()
    answer = job_codec.unpack_answer(job_codec.do(other, state))
    assert answer.outcome is Outcome.FAILED
    assert "not 0.0.0" in answer.problem


def test_an_assignment_is_unpacked_into_its_own_folder_only(
    classroom: Path, state: WorkerState
) -> None:
    values = json.loads(job_codec.pack_job(jobs_of(classroom)[0]))
    values["folder"]["../outside"] = ""
    answer = job_codec.unpack_answer(job_codec.do(json.dumps(values).encode(), state))
    assert "../outside is outside the assignment's folder" in answer.problem


def test_what_the_course_shares_travels_too(
    classroom: Path, state: WorkerState, tmp_path: Path
) -> None:
    values = json.loads(job_codec.pack_job(jobs_of(classroom)[0]))
    assert values["course"] == ""
    (tmp_path / "course.toml").write_text("[lat]\n", encoding="utf-8")
    values["course"] = job_codec._course(tmp_path)
    answer = job_codec.unpack_answer(job_codec.do(json.dumps(values).encode(), state))
    assert "course.toml:1: `lat` is no known key" in answer.problem


@pytest.mark.parametrize(
    "answer", [pickle.dumps("report"), "text", None, b"{}", b'{"outcome": "graded", "text": ""}']
)
def test_an_invalid_answer_is_a_failure(answer: object) -> None:
    assert job_codec.unpack_answer(answer).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("tcp://10.1.2.3:8786", "unencrypted"),
        ("tcp://head.example.edu:8786", "unencrypted"),
        ("tls://head.example.edu:8786", "needs certificates"),
        ("slurm", "needs certificates"),
        ("head.example.edu", "is no scheduler's address"),
    ],
)
def test_connections_to_other_machines_are_encrypted(where: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _security(request(where), None)


@pytest.mark.parametrize("where", ["local", "tcp://127.0.0.1:8786", "tcp://[::1]:8786"])
def test_on_this_machine_no_certificates_are_needed(where: str) -> None:
    assert _security(request(where), None) is None


def test_a_missing_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    with pytest.raises(UsageError, match=r"there is no .*cert\.pem"):
        _security(request("slurm", tls=tmp_path), None)


# With Dask.


@pytest.fixture
def dask() -> None:
    dask_or_skip()


@pytest.fixture
def scheduler(dask: None, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A scheduler on this machine, and its address."""
    with clusters.scheduler(tmp_path) as started:
        yield started


@pytest.mark.usefixtures("dask")
def test_a_class_is_graded_on_a_local_cluster(classroom: Path, tmp_path: Path) -> None:
    done = grade(
        "batch", classroom, "silu", "--out", tmp_path / "out", "--device", "cpu",
        "--cluster", "local",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = (tmp_path / "out/reports/silu").glob("*.json")
    assert {path.stem: json.loads(path.read_text())["score"] for path in found} == {
        "ada": KERNEL, "bob": KERNEL, "cyd": 0, "dee": 0,
    }  # fmt: skip


@pytest.mark.usefixtures("dask")
def test_two_local_clusters_have_no_port_in_common() -> None:
    with Cluster(request("local", workers=1)), Cluster(request("local", workers=1)):
        pass  # a warning of Dask's would be an error here


@pytest.mark.usefixtures("dask")
def test_a_lost_workers_jobs_go_to_another(classroom: Path, tmp_path: Path) -> None:
    with (
        Cluster(request("local", workers=2)) as cluster,
        open_store(tmp_path / "out") as store,
        Progress().step("test") as step,
    ):
        lost = next(iter(cluster._client.run(os.getpid).values()))

        class Losing:
            add = cluster.add
            given_up = ()

            def results(self, tasks: Any) -> Any:
                for number, answer in enumerate(cluster.results(tasks)):
                    if number == 0:
                        os.kill(lost, signal.SIGKILL)
                    yield answer

        run_jobs(Losing(), store, jobs_of(classroom), step)
        assert step.done == 4
        assert all(store.report("silu", name) for name in ("ada", "bob", "cyd", "dee"))


def test_a_worker_whose_gpu_is_lost_leaves_its_jobs_to_another(
    scheduler: tuple[subprocess.Popen[bytes], str], classroom: Path, tmp_path: Path
) -> None:
    def worker(**environment: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "distributed.cli.dask_worker", scheduler[1]),
                *("--nthreads", "1", "--no-dashboard", "--no-nanny", "--resources", "GPU=1"),
            ],
            env=environment,
            cwd=tmp_path,
            stderr=subprocess.PIPE,
        )

    lost = worker(**surroundings_with_gpu("driver"), CUDA_VISIBLE_DEVICES="GPU-lost")
    good = worker(**surroundings_with_gpu())
    try:
        with Cluster(request(scheduler[1], device="cuda")) as cluster:
            while len(cluster._workers()) < 2:
                time.sleep(0.1)
            jobs = [replace(job, device=Device.CUDA) for job in jobs_of(classroom)]
            answers = {job.name: answer for job, answer in cluster.results(jobs)}
        assert {name: answer.outcome for name, answer in answers.items()} == dict.fromkeys(
            ("ada", "bob", "cyd", "dee"), Outcome.GRADED
        )
        output = lost.communicate(timeout=60)[1].decode()
        assert "leaves the cluster: the GPU GPU-lost was lost" in output
        assert good.poll() is None
    finally:
        for process in (lost, good):
            process.kill()
            process.communicate()


@pytest.mark.usefixtures("dask")
def test_a_cluster_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(GraderError, match="does not answer"),
            Cluster(request(where, patience_s=2.0)),
        ):
            pass


def test_a_cluster_without_workers_is_given_up(
    scheduler: tuple[subprocess.Popen[bytes], str],
) -> None:
    with (
        pytest.raises(GraderError, match="no worker joined"),
        Cluster(request(scheduler[1], patience_s=2.0)),
    ):
        pass


def test_a_scheduler_that_dies_ends_the_run_and_keeps_what_is_there(
    scheduler: tuple[subprocess.Popen[bytes], str], classroom: Path, tmp_path: Path
) -> None:
    process, address = scheduler
    worker = subprocess.Popen(
        [
            *(sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"),
            *("--no-dashboard", "--no-nanny", "--death-timeout", "2"),
        ],
        env=surroundings(),
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    try:
        with (
            open_store(tmp_path / "out") as store,
            pytest.raises(GraderError, match="no answer for") as caught,
            Cluster(request(address, patience_s=20.0)) as cluster,
        ):
            for job, answer in cluster.results(jobs_of(classroom)):
                store.keep("silu", job.name, answer)
                process.kill()
                cluster._request = request(address, patience_s=1.0)
        assert "are kept" in (caught.value.tip or "")
        assert list((tmp_path / "out/reports/silu").glob("*.json"))
    finally:
        worker.kill()
        worker.wait()
