"""`grade batch --cluster slurm`, where a Slurm answers: over TLS, with certificates of its own."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from classrooms import GRADE, surroundings
from paths import REPOSITORY
from silu_points import KERNEL


def certificates(folder: Path) -> None:
    """Make an authority, and a certificate that it signed."""
    folder.mkdir(mode=0o700)
    for command in (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=course -keyout ca.key -out ca.pem",
        "req -newkey rsa:2048 -nodes -subj /CN=grader -keyout key.pem -out cert.csr",
        "x509 -req -days 2 -in cert.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)


def slurm_answers() -> bool:
    if shutil.which("sinfo") is None:
        return False
    try:
        asked = subprocess.run(
            ["sinfo", "--noheader"], capture_output=True, text=True, timeout=10, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return asked.returncode == 0 and "idle" in asked.stdout


def slurm_or_skip() -> None:
    pytest.importorskip("dask_jobqueue", reason="the extra `cluster` is not installed")
    if not slurm_answers():
        pytest.skip("no Slurm with an idle node here")


def jobqueue(folder: Path, environment: Mapping[str, str], **changes: object) -> Path:
    """Make dask-jobqueue's settings: `changes` to them, variables that its jobs have."""
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


def test_a_class_is_graded_by_jobs_of_slurm(classroom: Path, tmp_path: Path) -> None:
    slurm_or_skip()
    certificates(tmp_path / "tls")
    settings = jobqueue(tmp_path, {"PYTHONPATH": surroundings()["PYTHONPATH"]})
    done = subprocess.run(
        [
            *(*GRADE, "batch", str(classroom), "silu", "--out", str(tmp_path / "out")),
            *("--device", "cpu", "--cluster", "slurm", "--cluster-tls", str(tmp_path / "tls")),
            *("--jobs", "1", "--patience", "60"),
        ],
        cwd=REPOSITORY,
        env={**surroundings(), "DASK_CONFIG": str(settings)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = (tmp_path / "out/reports/silu").glob("*.json")
    assert {path.stem: json.loads(path.read_text())["score"] for path in found} == {
        "ada": KERNEL, "bob": KERNEL, "cyd": 0, "dee": 0,
    }  # fmt: skip
