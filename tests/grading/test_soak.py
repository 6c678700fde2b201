"""Many submissions in one process, good and hostile, leave nothing behind."""

from __future__ import annotations

import subprocess
import sys

import pytest
from paths import REPOSITORY


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_short_soak_leaks_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/soak.py", "--submissions", "25", "--minutes", "2"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "leaked: nothing" in done.stdout
