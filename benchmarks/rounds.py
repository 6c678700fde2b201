"""What a round of timing is made of: where its time goes, and how two equal sides differ.

    python benchmarks/rounds.py [ASSIGNMENT] [--meetings N] [--rounds N]

Torch's own way, by default SiLU's, in two workers, on the same sets in the same order. A meeting
is two workers and their buffers, opened anew; it gives one ratio, the median over its rounds.
What differs from round to round is noise that more rounds make smaller. What differs from meeting
to meeting, beyond that, is not: it stays as long as the workers live.

own       each worker is woken on the core where it was when it was warm
one       the second is woken where the first one was: gradings have both on one core
steps     milliseconds that the judge and a worker take for one burst, step by step

In every meeting both are timed in turn. Inputs stay, so that there is time for many rounds.
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
from grader.checks.performance.timed_worker import StoppedError, TimedWorker, open_timed_worker
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
class Place:
    """Where sides are opened: the built baseline with its server, the case."""

    bench: RunSetup
    case: Case
    sets: int

    @contextmanager
    def field(self, seed: int) -> Iterator[BufferPool]:
        """Allocate the buffers."""
        oracle = Oracle(self.bench.assignment)
        with open_buffer_pool(
            self.bench, oracle, self.case, Language.TRITON, sets=self.sets, seed=seed
        ) as field:
            yield field

    @contextmanager
    def side(self, field: BufferPool, *, trusted: bool = True) -> Iterator[TimedWorker]:
        """Open a worker that runs torch, and warm it."""
        built, server = self.bench.built, self.bench.server
        with open_timed_worker(
            lambda: Session(built, LIMITS, server), built, LIMITS, field, trusted=trusted
        ) as side:
            side.warm_up()
            yield side


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """One meeting: the ratios of its rounds, and seconds of single calls on each side.

    `burst_s` are the first side's seconds, whose core is the same in every way of seating.
    """

    ratios: tuple[float, ...]
    ones: tuple[tuple[float, ...], tuple[float, ...]]
    burst_s: float

    @property
    def median(self) -> float:
        """The figure of the meeting."""
        return statistics.median(self.ratios)

    @property
    def noise(self) -> float:
        """The standard deviation to expect of the median, by the median deviation of its rounds."""
        off = statistics.median(abs(ratio - self.median) for ratio in self.ratios)
        # For normal noise: 1.483 deviations make a sigma, and a median errs by 1.253 of a mean.
        return 1.253 * 1.483 * off / math.sqrt(len(self.ratios))

    @property
    def apart_s(self) -> float:
        """By how much single calls take longer on the first side, in seconds."""
        first, second = map(statistics.median, self.ones)
        return first - second


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A side, and the core that its worker is woken on."""

    side: TimedWorker
    core: int | None

    def took_s(self, field: BufferPool, order: Sequence[int]) -> float:
        """Time a burst on the inputs that are there, in seconds, whatever the outputs hold."""
        session = self.side._session
        with pinned_to(session.pid, self.core):
            prepared = session.prepare(field.calls(order))
        started_s = time.perf_counter()
        outcome = session.run(wall_s=LIMITS.call_s)
        field.sample(order)
        took_s = time.perf_counter() - started_s
        if not (prepared.done and outcome.done):
            sys.exit("torch's worker failed")
        return took_s


def pair(
    seats: Sequence[Seat], field: BufferPool, order: Sequence[int], rng: random.Random
) -> tuple[float, float]:
    """Time a burst on both sides, one after the other as chance has it."""
    took_s = [0.0, 0.0]
    for which in rng.sample((0, 1), 2):
        took_s[which] = seats[which].took_s(field, order)
    return took_s[0], took_s[1]


def meeting(place: Place, seed: int, rounds: int) -> dict[str, Met]:
    """Open two workers and take rounds of them, with each way of seating them in turn."""
    rng = random.Random(seed)
    with (
        place.field(seed) as field,
        place.side(field) as first,
        place.side(field) as second,
    ):
        core, other = (core_of(side._session.pid) for side in (first, second))
        seated = {
            "own": (Seat(side=first, core=core), Seat(side=second, core=other)),
            "one": (Seat(side=first, core=core), Seat(side=second, core=core)),
        }
        ones: dict[str, list[tuple[float, float]]] = {name: [] for name in seated}
        several: dict[str, list[tuple[float, float]]] = {name: [] for name in seated}
        for _ in range(rounds):
            for name in rng.sample(list(seated), 2):
                ones[name].append(pair(seated[name], field, field.order(1), rng))
                several[name].append(pair(seated[name], field, field.order(place.sets), rng))
    return {name: met(several[name], ones[name]) for name in seated}


def met(several: Sequence[tuple[float, float]], ones: Sequence[tuple[float, float]]) -> Met:
    """Return what came of rounds, each with seconds of the first side and of the second."""
    return Met(
        ratios=tuple(first / second for first, second in several),
        ones=(tuple(first for first, _ in ones), tuple(second for _, second in ones)),
        burst_s=statistics.median(first for first, _ in several),
    )


def noise_table(found: Sequence[dict[str, Met]]) -> Table:
    """Show what meetings differ by, and how much of it the rounds explain."""
    table = Table(title="torch against torch, by meeting", box=None, title_justify="left")
    for column in ("cores", "meetings", "burst ms", "mean ratio", "deviation", "by the rounds",
                   "at most off", "1 call apart, us", "deviation, us"):  # fmt: skip
        table.add_column(column)
    for name in found[0]:
        here = [each[name] for each in found]
        medians = [one.median for one in here]
        aparts_us = [one.apart_s * 1e6 for one in here]
        table.add_row(
            name,
            str(len(here)),
            f"{statistics.median(one.burst_s for one in here) * 1e3:.2f}",
            f"{statistics.mean(medians):.4f}",
            f"{statistics.stdev(medians):.2%}",
            f"{statistics.mean(one.noise**2 for one in here) ** 0.5:.2%}",
            f"{max(abs(median - 1) for median in medians):.2%}",
            f"{statistics.mean(aparts_us):+.0f}",
            f"{statistics.stdev(aparts_us):.0f}",
        )
    return table


def told(found: Sequence[dict[str, Met]], console: Console) -> None:
    """Print the meetings one by one."""
    for name in found[0]:
        console.print(f"{name}: ratio, and ms of the first side's burst, each meeting")
        each = (f"{one[name].median:.4f} {one[name].burst_s * 1e3:.2f}" for one in found)
        console.print(", ".join(each))


def steps(place: Place, field: BufferPool, rounds: int, *, trusted: bool) -> dict[str, list[float]]:
    """Return milliseconds of each step of bursts, and how many calls they had.

    Raises StoppedError if torch has no way to write where a hand-in has to.
    """
    on_gpu = place.bench.built.device is Device.CUDA
    taken: dict[str, list[float]] = {step: [] for step in (*STEPS, "run", "burst", "calls")}

    def watched(step: str, what: Callable[..., object]) -> Callable[..., object]:
        def run(*given: object) -> object:
            started_s = time.perf_counter()
            result = what(*given)
            if on_gpu:
                torch.cuda.synchronize()  # what was asked for is this step's own
            taken[step].append((time.perf_counter() - started_s) * 1e3)
            return result

        return run

    with place.side(field, trusted=trusted) as side:
        for step in STEPS:
            setattr(field, step, watched(step, getattr(field, step)))
        for _ in range(rounds):
            started_s = time.perf_counter()
            burst = side.timed_burst(field.order(place.sets))
            taken["burst"].append((time.perf_counter() - started_s) * 1e3)
            taken["run"].append(burst.took_s * 1e3)
            taken["calls"].append(burst.calls)
    return taken


def steps_table(place: Place, rounds: int) -> Table:
    """Show where the time of a burst goes, on a side that is trusted and on one that is not."""
    table = Table(title="one burst, milliseconds (median)", box=None, title_justify="left")
    for column in ("side", *STEPS, "run", "burst", "calls"):
        table.add_column(column)
    for trusted in (True, False):
        side = "torch" if trusted else "hand-in"
        try:
            with place.field(1) as field:
                taken = steps(place, field, rounds, trusted=trusted)
        except StoppedError as stopped:
            table.caption = f"{side}: {stopped.diagnosis.message}"
        else:
            medians = [f"{statistics.median(each):.1f}" if each else "" for each in taken.values()]
            table.add_row(side, *medians)
    return table


def size_of(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    """Return sizes from NAME=N."""
    try:
        return {name: int(count) for name, _, count in (each.partition("=") for each in given)}
    except ValueError:
        raise click.BadParameter("wanted NAME=N, as in n=1000") from None


@click.command()
@click.argument("name", metavar="[ASSIGNMENT]", default="silu", type=click.Choice(ASSIGNMENTS))
@click.option("--meetings", type=click.IntRange(2, 100), default=14, show_default=True)
@click.option("--rounds", type=click.IntRange(6, 400), default=30, show_default=True)
@click.option("--size", "sizes", multiple=True, callback=size_of, help="NAME=N, else the spec's.")
@click.option("--device", type=click.Choice([d.value for d in Device]), default="cuda")
def main(
    name: str,
    meetings: int,
    rounds: int,
    sizes: dict[str, int],
    device: str,
) -> None:
    """Measure, print each meeting, and the two tables last."""
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    benchmark = assignment.benchmarks[0]
    if unknown := sizes.keys() - benchmark.sizes.keys():
        sys.exit(f"error: {name} has no size {min(unknown)}, but {', '.join(benchmark.sizes)}")
    benchmark = replace(benchmark, sizes={**benchmark.sizes, **sizes})
    console = Console(width=110)
    process_tree.become_subreaper()  # the server's workers are ours when it dies
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
            place = Place(bench=bench, case=benchmark.case(1), sets=sets)
            found = [meeting(place, seed, rounds) for seed in range(meetings)]
            told(found, console)
            console.print(steps_table(place, rounds))
            console.print(noise_table(found))
    finally:
        server.close()


if __name__ == "__main__":
    main()
