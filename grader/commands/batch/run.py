"""`grade batch`: which hand-ins are not graded yet, grade them, sum the class up.

    hand-ins ──→ jobs that have no current report ──→ pool, or a cluster
                                                        │ answers, in any order
    OUT/reports ←── one process writes ─────────────────┘

Exit codes: 0 every hand-in has its report, 1 some could not be graded (they are
listed, and the next run tries them again); 2 a wrong command line; 3 the grader
failed as a whole, as with a full disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.console import Console

from grader.assignment.model import Assignment
from grader.commands.batch.gpu_slots import Places, gpu_slots
from grader.commands.batch.gradebook import write_gradebook
from grader.commands.batch.job import PATIENCE_S, Answer, Job, Key, Outcome, Terms, failed
from grader.commands.batch.store import Store, open_store
from grader.commands.batch.submissions import Class, asked_in, find_hand_ins
from grader.commands.batch.summary import print_summary, summarise
from grader.errors import GraderError, UsageError
from grader.grading.progress import Step, progress_on
from grader.grading.selection import chosen_assignments, chosen_device
from grader.pool.process_pool import Pool
from grader.submission.reader import read_submission
from grader.vocabulary import Device

EXIT_UNGRADED = 1
# A grader error is often the machine's mood; three in a row are not.
MOST_ATTEMPTS = 3


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
    cluster: str | None = None
    cluster_tls: Path | None = None
    patience_s: float = 600.0


class Engine(Protocol):
    """Whatever does jobs: the pool of this machine, or a cluster."""

    @property
    def given_up(self) -> tuple[str, ...]:
        """Why GPUs are used no more, a sentence for each."""

    def add(self, task: Job) -> None:
        """Have a job done once more, last."""

    def results(self, tasks: Sequence[Job]) -> Iterator[tuple[Job, Answer]]:
        """Yield each job with its answer as it is done."""


def batch(request: Request) -> int:
    """Grade what is not graded yet, tell, and return the exit code."""
    started_s = time.monotonic()
    found = find_hand_ins(request.folder, request.out)
    assignments = chosen_assignments(request.assignments)
    if not request.assignments:
        assignments = asked_in(found, assignments)
    _check_csv(request.csv)
    with open_store(request.out) as store, _engine(request) as (device, engine):
        secret_seed = store.secret_seed(request.seed)
        terms = Terms(device=device, public_seed=0, secret_seed=secret_seed)
        jobs = list(missing(store, found, assignments, terms))
        total = len(found.places) * len(assignments)
        with progress_on(Console(stderr=True)) as progress:
            if jobs:
                title = f"grade {len(jobs)} of {total}"
                with progress.step(title, total=len(jobs)) as step:
                    run_jobs(engine, store, jobs, step)
        summary = summarise(
            store, found, assignments, graded_now=len(jobs), given_up=engine.given_up
        )
        store.write(store.folder / "summary.json", summary.text())
        if request.csv is not None:
            write_gradebook(request.csv, request.csv_for, store, found, assignments)
    print_summary(summary, Console(), wall_s=time.monotonic() - started_s)
    return EXIT_UNGRADED if summary.ungraded else 0


def missing(
    store: Store, found: Class, assignments: Sequence[Assignment], terms: Terms
) -> Iterator[Job]:
    """Yield a job for each hand-in whose report is absent or of something else."""
    for assignment in assignments:
        for place in found.places:
            job = Job(
                name=place.name,
                source=place.source.absolute(),
                assignment=assignment.folder.absolute(),
                terms=terms,
            )
            try:
                submission = read_submission(place.source, assignment)
            except GraderError as error:
                answer = Answer(outcome=Outcome.UNREADABLE, problem=error.message)
                store.keep(assignment.name, place.name, answer)
                continue
            key = Key.of(assignment, submission, terms)
            if not store.is_current(assignment.name, place.name, key):
                yield job


def run_jobs(engine: Engine, store: Store, jobs: Sequence[Job], step: Step) -> None:
    """Do the jobs and keep each answer as it comes; a failed one is tried again."""
    for job, answer in engine.results(jobs):
        if answer.outcome is Outcome.FAILED and job.attempt < MOST_ATTEMPTS:
            engine.add(dataclasses.replace(job, attempt=job.attempt + 1))
            continue
        store.keep(job.assignment.name, job.name, answer)
        step.advance(_pace(step, job))


def _pace(step: Step, job: Job) -> str:
    """Say how fast it goes and how long it will, once this one is counted."""
    done, total = step.done + 1, step.total or 0
    elapsed_s = max(time.monotonic() - step.started_at, 1e-3)
    left_s = elapsed_s / done * (total - done)
    return f"{60 * done / elapsed_s:.1f} a minute · {duration(left_s)} left · {job.title}"


def duration(seconds: float) -> str:
    """Return a time for people: 45 s, 12 min, 3 h 20 min."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@contextlib.contextmanager
def _engine(request: Request) -> Iterator[tuple[Device, Engine]]:
    """Connect to the cluster, or make the pool; say where kernels run."""
    if request.cluster is not None:
        # It imports Dask, which the package does without otherwise.
        from grader.commands.batch import cluster

        asked = cluster.Request(
            where=request.cluster,
            tls=request.cluster_tls,
            workers=request.jobs,
            device=request.device,
            patience_s=request.patience_s,
        )
        with cluster.Cluster(asked) as connected:
            yield connected.device, connected
        return
    device = Device.CPU if chosen_device(request.device) is None else Device.CUDA
    slots = gpu_slots() if device is Device.CUDA else ()
    jobs = request.jobs or len(slots) or len(os.sched_getaffinity(0))
    pool: Pool[Job, Answer] = Pool(
        jobs,
        "grader.commands.batch.job:do",
        failed,
        deaths_end=False,
        patience_s=PATIENCE_S,
        slots=tuple(slots[number % len(slots)] for number in range(jobs)) if slots else (),
        unusable=Places().unusable,
    )
    with pool:
        yield device, pool


def _check_csv(path: Path | None) -> None:
    """Refuse a place that cannot take the grade book before the work is done."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise UsageError(f"--csv: {path} is no file in a folder that is there")
