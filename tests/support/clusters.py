"""Schedulers for `--cluster`: certificates, a Dask scheduler on this machine, Slurm's settings."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from classrooms import surroundings


def certificates(folder: Path) -> None:
    """Make a certificate authority and a certificate that it signed."""
    folder.mkdir(mode=0o700)
    for command in (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=course -keyout ca.key -out ca.pem",
        "req -newkey rsa:2048 -nodes -subj /CN=grader -keyout key.pem -out cert.csr",
        "x509 -req -days 2 -in cert.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)


def dask_or_skip() -> None:
    """Skip the test if Dask is not installed."""
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")


@contextlib.contextmanager
def scheduler(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start a scheduler on this machine; yield its process and its address."""
    file = folder / "scheduler.json"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"),
            *("--port", "0", "--no-dashboard", "--scheduler-file", str(file), *options),
        ],
        env=surroundings(),
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline_s = time.monotonic() + 60
        while not (file.is_file() and file.stat().st_size) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        yield process, str(json.loads(file.read_text())["address"])
    finally:
        process.kill()
        process.wait()


def slurm_or_skip() -> None:
    """Skip the test if dask-jobqueue is not installed or Slurm has no idle node."""
    pytest.importorskip("dask_jobqueue", reason="the extra `cluster` is not installed")
    if not _slurm_answers():
        pytest.skip("no Slurm with an idle node here")


def _slurm_answers() -> bool:
    if shutil.which("sinfo") is None:
        return False
    try:
        asked = subprocess.run(
            ["sinfo", "--noheader"], capture_output=True, text=True, timeout=10, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return asked.returncode == 0 and "idle" in asked.stdout


def jobqueue(folder: Path, environment: Mapping[str, str], **changes: object) -> Path:
    """Write dask-jobqueue's settings, with `changes` and the jobs' environment variables."""
    settings = {
        "cores": 1,
        "memory": "2GB",
        "walltime": "00:10:00",
        "log-directory": str(folder),
        "local-directory": str(folder),
        "job-script-prologue": [
            f"export {key}={shlex.quote(value)}" for key, value in environment.items()
        ],
        **changes,
    }
    (folder / "dask").mkdir(exist_ok=True)
    (folder / "dask" / "jobqueue.yaml").write_text(json.dumps({"jobqueue": {"slurm": settings}}))
    return folder / "dask"
