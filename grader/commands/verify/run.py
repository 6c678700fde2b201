"""The command `grade verify`: plan, do the tasks, print the rows and write them to a file.

Exit codes: 0 all agree, 1 something differs, 2 a wrong command line or spec (before any
task starts), 3 the grader failed in a task.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.assignment.generated import REFERENCES
from grader.assignment.model import Assignment
from grader.commands.verify.plan import Choice, plan
from grader.commands.verify.row import Row, State
from grader.commands.verify.table import print_rows
from grader.commands.verify.tasks import Pool, Task
from grader.errors import ExitCode, GraderError, UsageError
from grader.grading.progress import Progress, progress_on
from grader.grading.selection import check_kernels, chosen_assignments, chosen_device
from grader.vocabulary import Device, Language

FORMAT = 1
# On a GPU, a grading runs four tools in parallel, and all gradings share the GPU.
_CORES_PER_GPU_JOB = 4
_MOST_GPU_JOBS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `grade verify`."""

    assignments: tuple[str, ...]
    device: str
    kernels: tuple[str, ...]
    languages: tuple[str, ...]
    samples: tuple[str, ...]
    jobs: int | None
    repeat: int
    seed: int
    json_path: Path | None


def verify(request: Request) -> int:
    """Verify what is requested, print the result, and return the exit code."""
    started_s = time.monotonic()
    assignments = chosen_assignments(request.assignments)
    repository = _repository(assignments)
    check_kernels(request.kernels, assignments)
    if request.json_path is not None and not request.json_path.absolute().parent.is_dir():
        raise UsageError(
            f"--json: there is no folder {request.json_path.parent}", tip="make it first"
        )
    choice = Choice(
        gpu=chosen_device(request.device),
        kernels=frozenset(request.kernels),
        languages=frozenset(map(Language, request.languages)),
        samples=request.samples,
        repeat=request.repeat,
        seed=request.seed,
    )
    jobs = request.jobs or _usual_jobs(choice.device)
    plans = [plan(assignment, repository, choice) for assignment in assignments]
    rows = [row for planned in plans for row in planned.rows]
    tasks = [task for planned in plans for task in planned.tasks]
    if choice.samples and not rows and not tasks:
        raise UsageError(
            f"no sample matches {' or '.join(choice.samples)}",
            tip="give a part of VERDICT/NAME/FILE, or a pattern such as 'wrong_answer/*.cu'",
        )
    with progress_on(Console(stderr=True)) as progress:
        rows += _do(tasks, jobs, progress)
    rows.sort(key=lambda row: (row.assignment, row.subject, row.check))
    wall_s = time.monotonic() - started_s
    where = choice.gpu.name if choice.gpu else "the CPU"
    title = f"{', '.join(a.name for a in assignments)} on {where}, {jobs} at a time"
    print_rows(rows, Console(), title=title, wall_s=wall_s)
    if request.json_path is not None:
        _write(request.json_path, to_json(rows, choice, wall_s))
    return exit_code(rows)


def exit_code(rows: Sequence[Row]) -> ExitCode:
    """Return the exit code of the command."""
    states = {row.state for row in rows}
    if State.FAILED in states:
        return ExitCode.GRADER_FAILED
    return ExitCode.of(complete=State.DIFFERS not in states)


def to_json(rows: Sequence[Row], choice: Choice, wall_s: float) -> dict[str, Any]:
    """Return the result as JSON values; docs/verify.md documents the keys."""
    return {
        "format": FORMAT,
        "device": choice.device.value,
        "gpu": choice.gpu.name if choice.gpu else None,
        "seed": choice.seed,
        "repeat": choice.repeat,
        "agrees": not any(row.state.wrong for row in rows),
        "wall_s": round(wall_s, 3),
        "rows": [
            {
                **asdict(row),
                "state": row.state.name.lower(),
                "verdicts": dict(row.verdicts),
                "wall_s": round(row.wall_s, 3),
            }
            for row in rows
        ],
    }


def _do(tasks: Sequence[Task], jobs: int, progress: Progress) -> list[Row]:
    rows: list[Row] = []
    if not tasks:
        return rows
    with (
        Pool(min(jobs, len(tasks))) as pool,
        progress.step("verify", total=len(tasks)) as step,
    ):
        for task, task_rows in pool.results(
            sorted(tasks, key=lambda task: task.weight, reverse=True)
        ):
            rows += task_rows
            wrong = sum(row.state.wrong for row in rows)
            step.advance(f"{task.title}{f' · {wrong} differ' if wrong else ''}")
    return rows


def _repository(assignments: Sequence[Assignment]) -> Path:
    repository = assignments[0].folder.parent.parent
    if not (repository / REFERENCES).is_dir():
        raise UsageError(
            f"there is no {REFERENCES}/ in {repository}: verify needs the solved kernels and the "
            "samples, which only staff have",
            tip="run it in the course's own repository",
        )
    return repository


def _usual_jobs(device: Device) -> int:
    cores = len(os.sched_getaffinity(0))
    if device is Device.CPU:
        return cores
    return max(1, min(_MOST_GPU_JOBS, cores // _CORES_PER_GPU_JOB))


def _write(path: Path, result: dict[str, Any]) -> None:
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise GraderError(
            f"cannot write {path}: {error.strerror or error}", tip="choose another place for --json"
        ) from error
