"""Measures the noise of timing rounds with torch against torch, and the time of each step.

    python benchmarks/rounds.py [ASSIGNMENT] [--trials N] [--rounds N]

Two workers time torch's expression (by default SiLU's) on the same buffer sets in the same order. A
trial starts two workers with new buffers, and gives one ratio, the median over its rounds. More
rounds reduce the noise between rounds, but not further differences between trials, which last as
long as the workers live.

own       each worker is woken on its own core
one       the second worker is woken on the core of the first, as in gradings
steps     milliseconds of each step of a burst, in the judge and in a worker

Every trial times both placements alternately. Inputs are not renewed, to save time for more rounds.
Supports docs/decisions/rounds.md. `--device cpu --size n=100000` only shows that it runs.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click
import psutil
import torch
from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from grader.assignment.cases import Case
from grader.assignment.model import Limits
from grader.assignment.reader import read_assignment
from grader.build.baseline import build_baseline
from grader.checks.common.case_run import RunSetup
from grader.checks.performance.benchmarks import sets_for
from grader.checks.performance.buffer_pool import BufferPool, open_buffer_pool
from grader.checks.performance.timed_worker import StoppedError, Timed, TimedWorker, loaded_session
from grader.gpu.nvml import gpus, visible
from grader.judge.buffers import open_gpu
from grader.judge.cpu_affinity import core_of, pinned_to
from grader.judge.oracle import Oracle
from grader.judge.python_server import PythonServer
from grader.judge.session import Session
from grader.system import process_tree
from grader.vocabulary import Device, Language

LIMITS = Limits(call_s=60, load_s=60, memory_mib=1 << 20)
ASSIGNMENTS = sorted(p.parent.name for p in REPOSITORY.glob("assignments/*/assignment.toml"))
STEPS = ("refresh", "arm", "sample", "judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The built baseline with its server, and the case."""

    bench: RunSetup
    case: Case
    sets: int

    @contextmanager
    def buffer_pool(self, seed: int) -> Iterator[BufferPool]:
        """Allocate the buffers."""
        oracle = Oracle(self.bench.assignment)
        with open_buffer_pool(self.bench, oracle, self.case, sets=self.sets, seed=seed) as pool:
            yield pool

    @contextmanager
    def worker(self, pool: BufferPool, *, trusted: bool = True) -> Iterator[TimedWorker]:
        """Start a worker that runs torch, and warm it up."""
        built, server = self.bench.built, self.bench.server
        with loaded_session(
            Timed(built, LIMITS, lambda: Session(built, LIMITS, server))
        ) as session:
            worker = TimedWorker(session, built, LIMITS, pool, trusted=trusted)
            worker.warm_up()
            yield worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial: the ratios of its rounds, and the times of single calls of each worker.

    `burst_s` is the time of the first worker, whose core is the same in both placements.
    """

    ratios: tuple[float, ...]
    ones: tuple[tuple[float, ...], tuple[float, ...]]
    burst_s: float

    @property
    def median(self) -> float:
        """The ratio of the trial."""
        return statistics.median(self.ratios)

    @property
    def noise(self) -> float:
        """The expected standard deviation of the median, from the rounds' median deviation."""
        deviation = statistics.median(abs(ratio - self.median) for ratio in self.ratios)
        # For normal noise: sigma is 1.483 median deviations, a median's error 1.253 of a mean's.
        return 1.253 * 1.483 * deviation / math.sqrt(len(self.ratios))

    @property
    def difference_s(self) -> float:
        """How much longer single calls take in the first worker than in the second."""
        first, second = map(statistics.median, self.ones)
        return first - second


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedWorker:
    """A worker, and the core on which it is woken."""

    worker: TimedWorker
    core: int | None

    def took_s(self, pool: BufferPool, order: Sequence[int]) -> float:
        """Return the time of a burst on the current inputs, without checking the outputs."""
        session = self.worker._session
        with pinned_to(session.pid, self.core):
            prepared = session.prepare(pool.calls(order))
        started_s = time.perf_counter()
        outcome = session.run(wall_s=LIMITS.call_s)
        pool.sample(order)
        took_s = time.perf_counter() - started_s
        if not (prepared.done and outcome.done):
            sys.exit("torch's worker failed")
        return took_s


def pair(
    workers: Sequence[PlacedWorker], pool: BufferPool, order: Sequence[int], rng: random.Random
) -> tuple[float, float]:
    """Return the times of a burst in both workers, which run in random order."""
    took_s = [0.0, 0.0]
    for which in rng.sample((0, 1), 2):
        took_s[which] = workers[which].took_s(pool, order)
    return took_s[0], took_s[1]


def run_trial(setup: Setup, seed: int, rounds: int) -> dict[str, Trial]:
    """Start two workers and time rounds with each placement alternately."""
    rng = random.Random(seed)
    with (
        setup.buffer_pool(seed) as pool,
        setup.worker(pool) as first,
        setup.worker(pool) as second,
    ):
        core, other = (core_of(worker._session.pid) for worker in (first, second))
        one = PlacedWorker(worker=first, core=core)
        placements = {
            "own": (one, PlacedWorker(worker=second, core=other)),
            "one": (one, PlacedWorker(worker=second, core=core)),
        }
        ones: dict[str, list[tuple[float, float]]] = {name: [] for name in placements}
        several: dict[str, list[tuple[float, float]]] = {name: [] for name in placements}
        for _ in range(rounds):
            for name in rng.sample(list(placements), 2):
                workers = placements[name]
                ones[name].append(pair(workers, pool, pool.order(1), rng))
                several[name].append(pair(workers, pool, pool.order(setup.sets), rng))
    return {name: trial_of(several[name], ones[name]) for name in placements}


def trial_of(several: Sequence[tuple[float, float]], ones: Sequence[tuple[float, float]]) -> Trial:
    """Return the trial with these rounds; each has the times of the first and second worker."""
    return Trial(
        ratios=tuple(first / second for first, second in several),
        ones=(tuple(first for first, _ in ones), tuple(second for _, second in ones)),
        burst_s=statistics.median(first for first, _ in several),
    )


def noise_table(found: Sequence[dict[str, Trial]]) -> Table:
    """Show the deviation between trials, and how much of it the rounds explain."""
    table = Table(title="torch against torch, by trial", box=None, title_justify="left")
    for column in ("cores", "trials", "burst ms", "mean ratio", "deviation", "from rounds",
                   "largest error", "1 call: difference, us", "deviation, us"):  # fmt: skip
        table.add_column(column)
    for name in found[0]:
        here = [each[name] for each in found]
        medians = [one.median for one in here]
        differences_us = [one.difference_s * 1e6 for one in here]
        table.add_row(
            name,
            str(len(here)),
            f"{statistics.median(one.burst_s for one in here) * 1e3:.2f}",
            f"{statistics.mean(medians):.4f}",
            f"{statistics.stdev(medians):.2%}",
            f"{statistics.mean(one.noise**2 for one in here) ** 0.5:.2%}",
            f"{max(abs(median - 1) for median in medians):.2%}",
            f"{statistics.mean(differences_us):+.0f}",
            f"{statistics.stdev(differences_us):.0f}",
        )
    return table


def print_trials(found: Sequence[dict[str, Trial]], console: Console) -> None:
    """Print each trial."""
    for name in found[0]:
        console.print(f"{name}: ratio, and ms of the first worker's burst, for each trial")
        each = (f"{one[name].median:.4f} {one[name].burst_s * 1e3:.2f}" for one in found)
        console.print(", ".join(each))


def steps(setup: Setup, pool: BufferPool, rounds: int, *, trusted: bool) -> dict[str, list[float]]:
    """Return the milliseconds of each step of the bursts, and their numbers of calls.

    Raises StoppedError if torch cannot write to the memory that submissions write to.
    """
    on_gpu = setup.bench.built.device is Device.CUDA
    taken: dict[str, list[float]] = {step: [] for step in (*STEPS, "run", "burst", "calls")}

    def watched(step: str, what: Callable[..., object]) -> Callable[..., object]:
        def run(*given: object) -> object:
            started_s = time.perf_counter()
            result = what(*given)
            if on_gpu:
                torch.cuda.synchronize()  # the work that this step launched
            taken[step].append((time.perf_counter() - started_s) * 1e3)
            return result

        return run

    with setup.worker(pool, trusted=trusted) as worker:
        for step in STEPS:
            setattr(pool, step, watched(step, getattr(pool, step)))
        for _ in range(rounds):
            started_s = time.perf_counter()
            burst = worker.timed_burst(pool.order(setup.sets))
            taken["burst"].append((time.perf_counter() - started_s) * 1e3)
            taken["run"].append(burst.took_s * 1e3)
            taken["calls"].append(burst.calls)
    return taken


def steps_table(setup: Setup, rounds: int) -> Table:
    """Show the time of each step of a burst, in a trusted and in an untrusted worker."""
    table = Table(title="one burst, milliseconds (median)", box=None, title_justify="left")
    for column in ("worker", *STEPS, "run", "burst", "calls"):
        table.add_column(column)
    for trusted in (True, False):
        name = "torch" if trusted else "submission"
        try:
            with setup.buffer_pool(1) as pool:
                taken = steps(setup, pool, rounds, trusted=trusted)
        except StoppedError as stopped:
            table.caption = f"{name}: {stopped.diagnosis.message}"
        else:
            medians = [f"{statistics.median(each):.1f}" if each else "" for each in taken.values()]
            table.add_row(name, *medians)
    return table


def size_of(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    """Return sizes from NAME=N."""
    try:
        return {name: int(count) for name, _, count in (each.partition("=") for each in given)}
    except ValueError:
        raise click.BadParameter("expected NAME=N, such as n=1000") from None


@click.command()
@click.argument("name", metavar="[ASSIGNMENT]", default="silu", type=click.Choice(ASSIGNMENTS))
@click.option("--trials", type=click.IntRange(2, 100), default=14, show_default=True)
@click.option("--rounds", type=click.IntRange(6, 400), default=30, show_default=True)
@click.option("--size", "sizes", multiple=True, callback=size_of, help="NAME=N, else the spec's.")
@click.option("--device", type=click.Choice([d.value for d in Device]), default="cuda")
def main(
    name: str,
    trials: int,
    rounds: int,
    sizes: dict[str, int],
    device: str,
) -> None:
    """Measure, print each trial, then the two tables."""
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    benchmark = assignment.benchmarks[0]
    if unknown := sizes.keys() - benchmark.sizes.keys():
        sys.exit(f"error: {name} has no size {min(unknown)}, but {', '.join(benchmark.sizes)}")
    benchmark = replace(benchmark, sizes={**benchmark.sizes, **sizes})
    console = Console(width=110)
    process_tree.become_subreaper()  # of the server's workers
    where = Device(device)
    if where is Device.CUDA and not visible(gpus()):
        sys.exit("error: there is no NVIDIA GPU here; --device cpu shows that it runs")
    driver = open_gpu()[0] if where is Device.CUDA else None
    host_free = psutil.virtual_memory().available
    free = torch.cuda.mem_get_info()[0] if driver else host_free
    server = PythonServer(where)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            built = build_baseline(assignment, where, Path(scratch))
            bench = RunSetup(
                assignment=assignment, built=built, server=server, driver=driver, private=False
            )
            sets = sets_for(assignment, benchmark, Language.TRITON, free, host_free)
            setup = Setup(bench=bench, case=benchmark.case(1), sets=sets)
            found = [run_trial(setup, seed, rounds) for seed in range(trials)]
            print_trials(found, console)
            console.print(steps_table(setup, rounds))
            console.print(noise_table(found))
    finally:
        server.close()


if __name__ == "__main__":
    main()
