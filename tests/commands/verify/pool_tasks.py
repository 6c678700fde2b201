"""Tasks for tests of the pool: they grade nothing, but end or block their process."""

from __future__ import annotations

import os
import subprocess
import time
from functools import partial
from pathlib import Path

from grader.commands.verify.row import Row, State
from grader.commands.verify.tasks import Task
from grader.errors import GraderError
from grader.pool.state import WorkerState


def trial(what: str, weight: float = 1.0, sign: Path | None = None) -> Task:
    """Return a task that returns its process id; or dies, fails, or sleeps with a child.

    A sleeping one logs both process ids to the file `sign`.
    """
    return Task(assignment="trial", subject=what, weight=weight, do=partial(_do, what, sign))


def _do(what: str, sign: Path | None, state: WorkerState) -> tuple[Row, ...]:
    actual = str(os.getpid())
    match what:
        case "dies":
            os._exit(7)
        case "fails":
            raise GraderError("no more paper")
        case "stumbles":
            raise KeyError("paper")
        case "tells its environment":
            actual = ",".join(sorted(os.environ))
        case "sleeps":
            assert sign is not None
            child = subprocess.Popen(["sleep", "600"])
            sign.write_text(f"{os.getpid()} {child.pid}")
            time.sleep(600)
    return (
        Row(
            assignment="trial",
            subject=what,
            check="done",
            state=State.AGREES,
            expected="",
            actual=actual,
        ),
    )
