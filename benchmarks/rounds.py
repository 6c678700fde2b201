"""What a round of timing is made of: where its time goes, and how two equal sides differ.

    python benchmarks/rounds.py [ASSIGNMENT] [--meetings N] [--rounds N] [--variant V]...

Torch's own way, by default SiLU's, in two workers, in the same bursts. A meeting is two workers and
their buffers, opened anew; it gives one ratio, the median over its rounds. What differs from
round to round is noise that more rounds make smaller. What differs from meeting to
meeting, beyond that, is not: it stays as long as the workers live.

free      as a grading does it: each worker stays on the core that it began on
core      before each of its bursts the second worker is woken on the core where the first is
kept      the second worker always comes after the first and gets the inputs that are there:
          nothing need be drawn for it, if the mean ratio is 1 all the same
long      with twice as many sets of buffers, and as many calls more
steps     milliseconds that the judge and a worker take for one burst, step by step

Supports docs/decisions/rounds.md. `--device cpu --size n=100000` only shows that it runs.
"""

from __future__ import annotations

import math
import os
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

from grader import family  # noqa: E402
from grader.build.baseline import build_baseline  # noqa: E402
from grader.check.field import Field, open_field  # noqa: E402
from grader.check.side import Side, StoppedError, open_side  # noqa: E402
from grader.check.speed import sets_for  # noqa: E402
from grader.check.stage import Bench  # noqa: E402
from grader.gpu import gpus, visible  # noqa: E402
from grader.judge.buffers import open_gpu  # noqa: E402
from grader.judge.oracle import Oracle  # noqa: E402
from grader.judge.outcome import Outcome  # noqa: E402
from grader.judge.server import PythonServer  # noqa: E402
from grader.judge.session import Session  # noqa: E402
from grader.spec import Case, Limits  # noqa: E402
from grader.spec_reader import read_assignment  # noqa: E402
from grader.words import Device, Language  # noqa: E402

LIMITS = Limits(call_s=60, load_s=60, memory_mib=1 << 20)
ASSIGNMENTS = sorted(p.parent.name for p in REPOSITORY.glob("assignments/*/assignment.toml"))
VARIANTS = ("free", "core", "kept", "long")
STEPS = ("refresh", "arm", "sample", "judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where sides are opened: the built baseline with its server, the case."""

    bench: Bench
    case: Case
    sets: int

    @contextmanager
    def field(self, seed: int) -> Iterator[Field]:
        """Allocate the buffers."""
        oracle = Oracle(self.bench.assignment)
        with open_field(
            self.bench, oracle, self.case, Language.TRITON, sets=self.sets, seed=seed
        ) as field:
            yield field

    @contextmanager
    def side(self, field: Field, *, trusted: bool = True) -> Iterator[Side]:
        """Open a worker that runs torch, and warm it."""
        built, server = self.bench.built, self.bench.server
        with open_side(
            lambda: Session(built, LIMITS, server), built, LIMITS, field, trusted=trusted
        ) as side:
            side.warm_up()
            yield side


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """One meeting: the ratios of its rounds, and seconds of single calls on each side.

    `one_core` is the share of rounds after which both workers were on the same core.
    """

    ratios: tuple[float, ...]
    ones: tuple[tuple[float, ...], tuple[float, ...]]
    burst_s: float
    one_core: float

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
    def apart(self) -> float:
        """By how much single calls take longer on the first side, as a share of a burst."""
        first, second = map(statistics.median, self.ones)
        return (first - second) / self.burst_s


def process(side: Side) -> psutil.Process:
    """Return the side's worker."""
    return psutil.Process(side._session._program.pid)


@contextmanager
def waking_beside(side: Side, other: Side) -> Iterator[None]:
    """Have a worker that is woken in the block wake up on the core where the other ran last.

    A sleeping process is moved only when it wakes, hence the block. Afterwards it may run
    anywhere again, and so may all threads that it starts then.
    """
    pid, core = process(side).pid, process(other).cpu_num()
    allowed = os.sched_getaffinity(pid)
    os.sched_setaffinity(pid, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(pid, allowed)


def join(side: Side, other: Side) -> None:
    """From now on have the side's worker prepare its bursts on the other's core."""
    prepare = side._session.prepare

    def beside(calls: bytes) -> Outcome:
        with waking_beside(side, other):
            return prepare(calls)

    side._session.prepare = beside  # type: ignore[method-assign] # a trial, no part of it


def bare(side: Side, field: Field, order: Sequence[int]) -> float:
    """Time a burst on the inputs that are there, in seconds, whatever the outputs hold."""
    prepared = side._session.prepare(field.calls(order))
    started_s = time.perf_counter()
    outcome = side._session.run(wall_s=LIMITS.call_s)
    field.sample(order)
    took_s = time.perf_counter() - started_s
    if not (prepared.done and outcome.done):
        sys.exit("torch's worker failed")
    return took_s


def meeting(place: Place, seed: int, rounds: int, variant: str) -> Met:
    """Open two workers and take rounds of them."""
    chooser = random.Random(seed)
    ratios: list[float] = []
    ones: tuple[list[float], list[float]] = ([], [])
    bursts: list[float] = []
    shared = 0
    with (
        place.field(seed) as field,
        place.side(field) as first,
        place.side(field) as second,
    ):
        sides = first, second
        if variant == "core":
            join(second, first)
        for _ in range(rounds):
            for which, kept in enumerate(ones):
                kept.append(sides[which].timed(field.order(1)).took_s)
            order = field.order(place.sets)
            took_s = [0.0, 0.0]
            if variant == "kept":
                took_s = [first.timed(order).took_s, bare(second, field, order)]
            else:
                for which in chooser.sample((0, 1), 2):
                    took_s[which] = sides[which].timed(order).took_s
            ratios.append(took_s[0] / took_s[1])
            bursts += took_s
            shared += process(first).cpu_num() == process(second).cpu_num()
    return Met(
        ratios=tuple(ratios),
        ones=(tuple(ones[0]), tuple(ones[1])),
        burst_s=statistics.median(bursts),
        one_core=shared / rounds,
    )


def noise_table(found: dict[str, list[Met]]) -> Table:
    """Show what meetings differ by, and how much of it the rounds explain."""
    table = Table(title="torch against torch, by meeting", box=None, title_justify="left")
    for column in ("", "meetings", "burst ms", "mean ratio", "deviation", "by the rounds",
                   "at most off", "with single calls", "one core"):  # fmt: skip
        table.add_column(column)
    for name, met in found.items():
        medians = [one.median for one in met]
        deviation = statistics.stdev(medians)
        aparts = [one.apart for one in met]
        together = statistics.correlation(medians, aparts) if deviation else float("nan")
        table.add_row(
            name,
            str(len(met)),
            f"{statistics.median(one.burst_s for one in met) * 1e3:.2f}",
            f"{statistics.mean(medians):.4f}",
            f"{deviation:.2%}",
            f"{statistics.mean(one.noise**2 for one in met) ** 0.5:.2%}",
            f"{max(abs(median - 1) for median in medians):.2%}",
            f"{together:+.2f}, {statistics.stdev(aparts):.2%}",
            f"{statistics.mean(one.one_core for one in met):.0%}",
        )
    return table


def told(name: str, met: Sequence[Met], console: Console) -> None:
    """Print the meetings one by one."""
    console.print(f"{name}: ratio (by single calls), each meeting")
    console.print(", ".join(f"{one.median:.4f} ({1 + one.apart:.4f})" for one in met))


def steps(place: Place, field: Field, rounds: int, *, trusted: bool) -> dict[str, list[float]]:
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
            burst = side.timed(field.order(place.sets))
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
            table.caption = f"{side}: {stopped.sentence.message}"
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
@click.option("--meetings", type=click.IntRange(2, 100), default=8, show_default=True)
@click.option("--rounds", type=click.IntRange(6, 400), default=20, show_default=True)
@click.option("--size", "sizes", multiple=True, callback=size_of, help="NAME=N, else the spec's.")
@click.option("--variant", "variants", multiple=True, type=click.Choice(VARIANTS))
@click.option("--device", type=click.Choice([d.value for d in Device]), default="cuda")
def main(
    name: str,
    meetings: int,
    rounds: int,
    sizes: dict[str, int],
    variants: tuple[str, ...],
    device: str,
) -> None:
    """Measure, print each meeting, and the two tables last."""
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    benchmark = assignment.benchmarks[0]
    if unknown := sizes.keys() - benchmark.sizes.keys():
        sys.exit(f"error: {name} has no size {min(unknown)}, but {', '.join(benchmark.sizes)}")
    benchmark = replace(benchmark, sizes={**benchmark.sizes, **sizes})
    console = Console()
    family.become_subreaper()  # the server's workers are ours when it dies
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
            bench = Bench(
                assignment=assignment, built=built, server=server, driver=driver, private=False
            )

            def place(times: int = 1) -> Place:
                sets = sets_for(assignment, benchmark, Language.TRITON, free, host_free)
                return Place(bench=bench, case=benchmark.case(1), sets=times * sets)

            found: dict[str, list[Met]] = {}
            for variant in variants or VARIANTS:
                times = 2 if variant == "long" else 1
                found[variant] = [
                    meeting(place(times), seed, max(6, rounds // times), variant)
                    for seed in range(meetings)
                ]
                told(variant, found[variant], console)
            console.print(steps_table(place(), rounds))
            console.print(noise_table(found))
    finally:
        server.close()


if __name__ == "__main__":
    main()
