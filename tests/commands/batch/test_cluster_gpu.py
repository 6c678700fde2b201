"""Workers with a real GPU measure a container's pending points, and grade a class on all GPUs."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ci_course import make_course
from classrooms import GRADE, make_classroom, surroundings
from clusters import scheduler
from paths import REPOSITORY

from grader.gpu.nvml import Gpu, gpus, visible
from grader.report.reader import read_report
from grader.report.verdict import Verdict

pytestmark = [pytest.mark.gpu, pytest.mark.slow]
pytest.importorskip("distributed", reason="the extra `cluster` is not installed")


def with_gpus(uuids: str) -> dict[str, str]:
    """Return the environment of a machine with these GPUs, and with nvcc."""
    environment = {**surroundings(), "CUDA_VISIBLE_DEVICES": uuids}
    del environment["CUDACXX"]  # empty: as if there was none
    return environment


@contextlib.contextmanager
def gpu_worker(address: str, gpu: Gpu, folder: Path) -> Iterator[None]:
    """Start a worker as docs/cluster.md does."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"),
            *("--no-dashboard", "--no-nanny", "--resources", "GPU=1"),
        ],
        env=with_gpus(gpu.uuid),
        cwd=folder,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def test_a_gpu_worker_fills_in_what_a_container_leaves_pending(
    first_gpu: Gpu, tmp_path: Path
) -> None:
    course = make_course(tmp_path / "course")
    kept = tmp_path / "report.json"
    with scheduler(tmp_path) as (_, where), gpu_worker(where, first_gpu, tmp_path):
        done = subprocess.run(
            [
                *(*GRADE, "ci", "silu", "--from", "submission", "--format", "gradescope"),
                *("--output", str(tmp_path / "results.json"), "--report", str(kept)),
                *("--budget", "300", "--cluster", where),
            ],
            cwd=course,
            env=with_gpus(""),
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    report = read_report(kept)
    assert report.environment["device"] == "cpu"
    assert first_gpu.name in str(report.environment["filled_in_by"])
    assert (report.score, report.pending) == (90, 0), done.stdout


def test_a_class_on_this_machines_gpus(first_gpu: Gpu, tmp_path: Path) -> None:
    all_gpus = ",".join(gpu.uuid for gpu in visible(gpus()))
    out = tmp_path / "out"
    done = subprocess.run(
        [
            *(*GRADE, "batch", str(make_classroom(tmp_path / "class")), "silu"),
            *("--out", str(out), "--cluster", "local", "--device", "cuda"),
        ],
        cwd=REPOSITORY,
        env=with_gpus(all_gpus),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name, verdict in (("ada", Verdict.ACCEPTED), ("cyd", Verdict.WRONG_ANSWER)):
        report = read_report(out / "reports" / "silu" / f"{name}.json")
        assert report.environment["gpu"] == first_gpu.name
        assert report.kernels[0].verdict is verdict
