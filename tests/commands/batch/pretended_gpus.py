"""The task of a pool worker in tests of several GPUs: checks and timings that only wait.

The pool, its slots and the GPU locks are real. Each check and each timing is recorded,
with the GPU and the times, in `log` in the parent of the submission's folder. A GPU that
the file `lost` there names fails every job.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fake_nvml import FakeGpu, FakeNvml

from grader.commands.batch.gpu_slots import GpuHealth
from grader.commands.batch.job import Answer, Job, Outcome, failure
from grader.gpu import lock, nvml
from grader.pool.process_pool import Pool

CHECK_S = 0.05
TIMING_S = 0.15
_START_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of a GPU by a process for a submission; times of the monotonic clock."""

    uuid: str
    what: str  # check, timing, failure
    name: str
    begin_s: float
    end_s: float


def uuids(count: int) -> tuple[str, ...]:
    """Return names for `count` GPUs."""
    return tuple(f"GPU-{letter * 8}" for letter in "abcdefgh"[:count])


def do(job: Job, _: object) -> Answer:
    """Check and time on the GPU that is visible to this process."""
    uuid, folder = os.environ["CUDA_VISIBLE_DEVICES"], job.source.parent
    lock.FOLDER = folder
    _assemble(folder, uuid)
    if uuid in (folder / "lost").read_text().split():
        _note(folder, uuid, "failure", job.name, time.monotonic())
        return failure("this machine has no usable NVIDIA GPU")
    with lock.shared_use(uuid):
        begin_s = time.monotonic()
        time.sleep(CHECK_S)
        _note(folder, uuid, "check", job.name, begin_s)
        with lock.exclusive_use(uuid):
            begin_s = time.monotonic()
            time.sleep(TIMING_S)
            _note(folder, uuid, "timing", job.name, begin_s)
    return Answer(outcome=Outcome.GRADED, text=job.name)


def _assemble(folder: Path, uuid: str) -> None:
    """Wait until each GPU's first process has started: some machines are slow."""
    (folder / f"here-{uuid}").touch()
    until_s = time.monotonic() + _START_S
    wanted = int((folder / "gpus").read_text())
    while len(list(folder.glob("here-*"))) < wanted and time.monotonic() < until_s:
        time.sleep(0.01)


def _note(folder: Path, uuid: str, what: str, name: str, begin_s: float) -> None:
    line = json.dumps([uuid, what, name, begin_s, time.monotonic()]) + "\n"
    with (folder / "log").open("a") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        log.write(line)


def used(folder: Path) -> list[Use]:
    """Read the log."""
    lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    return [
        Use(uuid=uuid, what=what, name=name, begin_s=begin_s, end_s=end_s)
        for uuid, what, name, begin_s, end_s in lines
    ]


def prepare(folder: Path, count: int) -> None:
    """Make a folder for submissions that are graded on `count` GPUs."""
    folder.mkdir(parents=True)
    (folder / "gpus").write_text(str(count))
    (folder / "lost").touch()


def pool(folder: Path, count: int) -> Pool[Job, Answer]:
    """Return a pool as in `grade batch`: a worker's slot is a GPU."""

    def state() -> nvml.State:
        lost = (folder / "lost").read_text().split()
        left = [FakeGpu(uuid=uuid) for uuid in uuids(count) if uuid not in lost]
        return nvml.state(FakeNvml(*left))

    slots: tuple[Mapping[str, str], ...] = tuple(
        {"CUDA_VISIBLE_DEVICES": uuid} for uuid in uuids(count)
    )
    unusable: Callable[[Mapping[str, str], Answer], str] = GpuHealth(state).unusable
    return Pool(
        count,
        "pretended_gpus:do",
        lambda _, problem: failure(problem),
        deaths_end=False,
        slots=slots,
        unusable=unusable,
    )
