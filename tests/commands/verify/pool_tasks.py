"""Tasks for tests of the pool: they grade nothing, but end or block their process."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from grader.commands.verify.row import Row, State
from grader.errors import GraderError
from grader.pool.state import WorkerState


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Returns its process id; or dies, fails, or sleeps with a child and logs both to a file."""

    what: str
    weight: float = 1.0
    sign: Path | None = None

    @property
    def title(self) -> str:
        return self.what

    @property
    def subject(self) -> tuple[str, str]:
        return "trial", self.what

    def do(self, state: WorkerState) -> tuple[Row, ...]:
        match self.what:
            case "dies":
                os._exit(7)
            case "fails":
                raise GraderError("no more paper")
            case "stumbles":
                raise KeyError("paper")
            case "tells its environment":
                return (self.row(",".join(sorted(os.environ))),)
            case "sleeps":
                assert self.sign is not None
                child = subprocess.Popen(["sleep", "600"])
                self.sign.write_text(f"{os.getpid()} {child.pid}")
                time.sleep(600)
        return (self.row(str(os.getpid())),)

    def row(self, actual: str) -> Row:
        return Row(
            assignment="trial",
            subject=self.what,
            check="done",
            state=State.AGREES,
            expected="",
            actual=actual,
        )
