"""`grade batch`: grade the submissions that have no current report, then summarise the class.

    submissions ──→ jobs without a current report ──→ worker pool, or a cluster
                                                        │ answers, in any order
    OUT/reports ←── one process writes ─────────────────┘

Exit codes: 0 every submission has its report; 1 some could not be graded (they are
listed, and the next run tries them again); 2 a wrong command line; 3 the grader
failed as a whole, for example with a full disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.console import Console

from grader.assignment.model import Assignment
from grader.commands.batch.class_page import PAGE, write_pages
from grader.commands.batch.cluster import Cluster, ClusterRequest
from grader.commands.batch.dolos_export import export
from grader.commands.batch.gpu_slots import GpuHealth, gpu_slots
from grader.commands.batch.gradebook import write_gradebook
from grader.commands.batch.job import PATIENCE_S, Answer, Job, Outcome, failure, report_key
from grader.commands.batch.store import Store, open_store
from grader.commands.batch.submissions import (
    ClassFolder,
    find_submissions,
    latest_only,
    submitted_assignments,
)
from grader.commands.batch.summary import print_summary, summarise
from grader.errors import ExitCode, GraderError, UsageError
from grader.grading.progress import Step, progress_on
from grader.grading.selection import chosen_assignments, chosen_device
from grader.pool.process_pool import Pool
from grader.submission.reader import read_submission
from grader.vocabulary import Device

MOST_ATTEMPTS = 3  # a grader error is often transient


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `grade batch`."""

    folder: Path
    out: Path
    assignments: tuple[str, ...]
    csv: Path | None
    csv_for: str
    jobs: int | None
    device: str
    seed: int | None
    latest: bool = False
    cluster: str | None = None
    cluster_tls: Path | None = None
    patience_s: float = 600.0


class Engine(Protocol):
    """Does jobs: the worker pool of this machine, or a cluster."""

    @property
    def given_up(self) -> tuple[str, ...]:
        """The reasons why GPUs are no longer used."""

    def add(self, task: Job) -> None:
        """Append a job for another attempt."""

    def results(self, tasks: Sequence[Job]) -> Iterator[tuple[Job, Answer]]:
        """Yield each job with its answer as it is done."""


def batch(request: Request) -> ExitCode:
    """Grade submissions without a current report, summarise the class, return the exit code."""
    started_s = time.monotonic()
    folder = find_submissions(request.folder, request.out)
    if request.latest:
        folder = latest_only(folder)
    assignments = chosen_assignments(request.assignments)
    if not request.assignments:
        assignments = submitted_assignments(folder, assignments)
    _check_csv(request.csv)
    with open_store(request.out) as store, _engine(request) as (device, engine):
        secret_seed = store.secret_seed(request.seed)
        jobs = list(missing(store, folder, assignments, device, secret_seed))
        total = len(folder.submissions) * len(assignments)
        with progress_on(Console(stderr=True)) as progress:
            if jobs:
                title = f"grade {len(jobs)} of {total}"
                with progress.step(title, total=len(jobs)) as step:
                    run_jobs(engine, store, jobs, step)
        summary = summarise(
            store, folder, assignments, graded_now=len(jobs), given_up=engine.given_up
        )
        store.write(store.folder / "summary.json", summary.text())
        write_pages(store, folder, assignments, summary)
        if request.csv is not None:
            write_gradebook(request.csv, request.csv_for, store, folder, assignments)
    wall_s = time.monotonic() - started_s
    print_summary(summary, Console(), wall_s=wall_s, page=request.out / PAGE)
    return ExitCode.of(complete=not summary.ungraded)


def run_export(folder: Path, names: tuple[str, ...], out: Path, *, latest: bool) -> ExitCode:
    """Write the submissions for Dolos, print the commands, and return the exit code.

    With `latest` those that are not the last of their student are left out.
    """
    found = find_submissions(folder, out)
    if latest:
        found = latest_only(found)
    assignments = chosen_assignments(names)
    if not names:
        assignments = submitted_assignments(found, assignments)
    exported, unreadable = export(found, assignments, out)
    console = Console(soft_wrap=True, highlight=False)
    for one in exported:
        if one.command:
            console.print(f"{one.count} submissions in {one.folder}", markup=False)
            console.print(f"  cd {shlex.quote(str(one.folder))} && {one.command}", markup=False)
        else:
            console.print(f"1 submission, nothing to compare, in {one.folder}", markup=False)
    for problem in (*found.passed_over, *unreadable):
        console.print(f"left out: {problem}", markup=False)
    if not exported:
        raise UsageError(f"no submission in {folder} has a file that was worked on")
    return ExitCode.of(complete=not unreadable)


def missing(
    store: Store,
    folder: ClassFolder,
    assignments: Sequence[Assignment],
    device: Device,
    secret_seed: int,
) -> Iterator[Job]:
    """Yield a job for each submission without a current report; store unreadable ones."""
    for assignment in assignments:
        for entry in folder.submissions:
            try:
                submission = read_submission(entry.source, assignment)
            except GraderError as error:
                answer = Answer(outcome=Outcome.UNREADABLE, problem=error.message)
                store.keep(assignment.name, entry.name, answer)
                continue
            key = report_key(assignment, submission, device, secret_seed)
            if not store.is_current(assignment.name, entry.name, key):
                yield Job(
                    name=entry.name,
                    source=entry.source.absolute(),
                    assignment=assignment.folder.absolute(),
                    device=device,
                    secret_seed=secret_seed,
                )


def run_jobs(engine: Engine, store: Store, jobs: Sequence[Job], step: Step) -> None:
    """Do the jobs and store each answer as it comes; try a failed job again."""
    for job, answer in engine.results(jobs):
        if answer.outcome is Outcome.FAILED and job.attempt < MOST_ATTEMPTS:
            engine.add(dataclasses.replace(job, attempt=job.attempt + 1))
            continue
        store.keep(job.assignment.name, job.name, answer)
        step.advance(_pace(step, job))


def _pace(step: Step, job: Job) -> str:
    """Return the speed and the time left, with this job counted as done."""
    done, total = step.done + 1, step.total or 0
    elapsed_s = max(time.monotonic() - step.started_at, 1e-3)
    left_s = elapsed_s / done * (total - done)
    return f"{60 * done / elapsed_s:.1f} a minute · {_duration(left_s)} left · {job.title}"


def _duration(seconds: float) -> str:
    """Return a time for people: 45 s, 12 min, 3 h 20 min."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@contextlib.contextmanager
def _engine(request: Request) -> Iterator[tuple[Device, Engine]]:
    """Connect to the cluster or make the pool; yield the device of the workers, and the engine."""
    if request.cluster is not None:
        wanted = ClusterRequest(
            where=request.cluster,
            tls=request.cluster_tls,
            workers=request.jobs,
            device=request.device,
            patience_s=request.patience_s,
        )
        with Cluster(wanted) as cluster:
            yield cluster.device, cluster
        return
    device = Device.CPU if chosen_device(request.device) is None else Device.CUDA
    slots = gpu_slots() if device is Device.CUDA else ()
    jobs = request.jobs or len(slots) or len(os.sched_getaffinity(0))
    pool: Pool[Job, Answer] = Pool(
        jobs,
        "grader.commands.batch.job:do",
        lambda _, problem: failure(problem),
        deaths_end=False,
        patience_s=PATIENCE_S,
        slots=tuple(slots[number % len(slots)] for number in range(jobs)) if slots else (),
        unusable=GpuHealth().unusable,
    )
    with pool:
        yield device, pool


def _check_csv(path: Path | None) -> None:
    """Raise UsageError before grading if the grade book cannot be written there."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise UsageError(f"--csv: {path} is a folder, or its folder does not exist")
