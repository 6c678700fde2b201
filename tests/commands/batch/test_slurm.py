"""`grade batch --cluster slurm` on a machine with Slurm: over TLS, with test certificates."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from classrooms import GRADE, surroundings
from clusters import certificates, jobqueue, slurm_or_skip
from paths import REPOSITORY
from silu_points import KERNEL


@pytest.mark.slow
def test_a_class_is_graded_by_slurm_jobs(classroom: Path, tmp_path: Path) -> None:
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
