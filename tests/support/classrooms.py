"""A small class of SiLU submissions, and the command `grade` in a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from paths import REPOSITORY

GRADE = [sys.executable, "-c", "from grader.__main__ import main; main()"]


def make_classroom(folder: Path) -> Path:
    """Make two correct submissions, one wrong one and an empty one."""
    for name in ("ada", "bob"):
        (folder / name).mkdir(parents=True)
        shutil.copy(REPOSITORY / "reference/silu/silu.cu", folder / name)
    shutil.copytree(REPOSITORY / "reference/silu/samples/wrong_answer/zeros", folder / "cyd")
    (folder / "dee").mkdir()
    return folder


def grade(
    *arguments: str | Path, cwd: Path = REPOSITORY, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a new process."""
    return subprocess.run(
        [*GRADE, *map(str, arguments)],
        cwd=cwd,
        env={**surroundings(), **variables},
        capture_output=True,
        text=True,
    )


def surroundings() -> dict[str, str]:
    """Return the environment for `grade` in a new process."""
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "120", "CUDACXX": ""}
