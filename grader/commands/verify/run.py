"""The command `grade verify`: plan, do the tasks, print the rows and write them to a file.

Exit codes: 0 all agree, 1 something differs, 2 a wrong command line or spec (before any
task starts), 3 the grader failed in a task.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.assignment.catalogue import ASSIGNMENTS, folders_without_spec
from grader.assignment.generated import REFERENCES, write_generated
from grader.assignment.model import Assignment
from grader.assignment.reader import SPEC_FILE
from grader.commands.output import write_text
from grader.commands.verify.judgement import FIRST_LINE
from grader.commands.verify.plan import plan
from grader.commands.verify.row import Row, State
from grader.commands.verify.samples import (
    patched_samples,
    patches_of,
    samples_of,
    write_first_line,
)
from grader.commands.verify.table import print_rows
from grader.commands.verify.tasks import Pool, Task
from grader.errors import ExitCode, UsageError
from grader.grading.plan import Options
from grader.grading.progress import Progress, progress_on
from grader.grading.selection import (
    check_kernels,
    check_languages,
    chosen_device,
    course_assignments,
)
from grader.vocabulary import Device, Language

FORMAT = 1
# On a GPU, a grading runs four tools in parallel, and all gradings share the GPU.
_CORES_PER_GPU_JOB = 4
_MOST_GPU_JOBS = 4


def verify(
    *,
    assignments: tuple[str, ...],
    device: str,
    kernels: tuple[str, ...],
    languages: tuple[str, ...],
    samples: tuple[str, ...],
    jobs: int | None,
    repeat: int,
    seed: int,
    json_path: Path | None,
    update: bool = False,
) -> int:
    """Verify what the command line requests, print the result, and return the exit code.

    With `update`, first write the generated files that are out of date; at last the first lines of
    samples that are proposed. If interrupted, print the rows so far, write no file, and pass it on.
    """
    started_s = time.monotonic()
    chosen = course_assignments(assignments, writes=update)
    check_kernels(kernels, chosen)
    check_languages(map(Language, languages), chosen)
    repository = _repository(chosen)
    if update:
        for assignment in chosen:
            for path in write_generated(assignment, repository):
                print(f"updated {path.relative_to(repository)}")
    if json_path is not None and not json_path.absolute().parent.is_dir():
        raise UsageError(f"--json: there is no folder {json_path.parent}", tip="make it first")
    options = Options(
        gpu=chosen_device(device),
        kernels=frozenset(kernels),
        languages=frozenset(map(Language, languages)),
        public_seed=seed,
        secret_seed=seed,
    )
    jobs = jobs or _usual_jobs(options.device)
    rows: list[Row] = [] if assignments else list(_without_spec(chosen[0].folder.parent))
    tasks: list[Task] = []
    for assignment in chosen:
        known, planned = plan(assignment, repository, options, samples=samples, repeat=repeat)
        rows += known
        tasks += planned
    if samples and not rows and not tasks:
        raise UsageError(
            f"no sample matches {' or '.join(samples)}",
            tip="give a part of VERDICT/NAME/FILE, or a pattern such as 'wrong_answer/*.cu'",
        )
    left = len(tasks)
    try:
        with (
            progress_on(Console(stderr=True)) as progress,
            contextlib.closing(_do(tasks, jobs, progress)) as results,
        ):
            for done in results:
                rows += done
                left -= 1
    finally:
        rows.sort(key=lambda row: (row.assignment, row.subject, row.check))
        wall_s = time.monotonic() - started_s
        where = options.gpu.name if options.gpu else "the CPU"
        title = f"{', '.join(a.name for a in chosen)} on {where}, {jobs} at a time"
        undone = f"{left} of {len(tasks)} steps are left" if left else ""
        print_rows(rows, Console(), title=title, wall_s=wall_s, undone=undone)
    if update:
        for path in _write_first_lines(rows, repository / REFERENCES):
            print(f"updated {path.relative_to(repository)}: verify it again")
    if json_path is not None:
        result = to_json(rows, options, repeat, wall_s)
        text = json.dumps(result, indent=2) + "\n"
        write_text(json_path, text, tip="choose another place for --json")
    return exit_code(rows)


def _write_first_lines(rows: Sequence[Row], references: Path) -> Iterator[Path]:
    """Write the first lines that rows propose, and yield the samples' paths."""
    proposed = {
        (row.assignment, row.subject): row.actual
        for row in rows
        if row.check == FIRST_LINE and " expect: " in row.actual
    }
    for reference in sorted({references / assignment for assignment, _ in proposed}):
        samples = list(samples_of(reference))
        for patch in patches_of(reference):
            with contextlib.suppress(ValueError):  # it does not apply: a row says so
                samples += patched_samples(patch, reference)
        for sample in samples:
            if line := proposed.get((sample.assignment, f"sample {sample.title}")):
                yield write_first_line(sample, line)


def exit_code(rows: Sequence[Row]) -> ExitCode:
    """Return the exit code of the command."""
    states = {row.state for row in rows}
    if State.FAILED in states:
        return ExitCode.GRADER_FAILED
    return ExitCode.of(complete=State.DIFFERS not in states)


def to_json(rows: Sequence[Row], options: Options, repeat: int, wall_s: float) -> dict[str, Any]:
    """Return the result as JSON values; docs/verify.md documents the keys."""
    return {
        "format": FORMAT,
        "device": options.device.value,
        "gpu": options.gpu.name if options.gpu else None,
        "seed": options.secret_seed,
        "repeat": repeat,
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


def _do(
    tasks: Sequence[Task], jobs: int, progress: Progress
) -> Generator[Sequence[Row], None, None]:
    """Do the tasks; yield the rows of each."""
    if not tasks:
        return
    wrong = 0
    with (
        Pool(min(jobs, len(tasks))) as pool,
        progress.step("verify", total=len(tasks)) as step,
    ):
        for task, task_rows in pool.results(
            sorted(tasks, key=lambda task: task.weight, reverse=True)
        ):
            wrong += sum(row.state.wrong for row in task_rows)
            step.advance(f"{task.title}{f' · {wrong} differ' if wrong else ''}")
            yield task_rows


def _without_spec(root: Path) -> Iterator[Row]:
    """Yield a warning for each folder of a course that has files, and no spec."""
    for folder in folders_without_spec(root):
        yield Row(
            assignment=folder.name,
            subject="spec",
            check="is there",
            state=State.WARNING,
            expected=f"every folder in {ASSIGNMENTS}/ is an assignment",
            actual=f"{folder} has no {SPEC_FILE}, so it is left out",
        )


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
