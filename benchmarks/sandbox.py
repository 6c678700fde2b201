"""The cost of the sandbox for a worker, from start to end, with and without each layer.

    python benchmarks/sandbox.py [--runs N]

The program is the worker for CUDA C++ without a submission: Python starts and ends. The
variants alternate, so that a drift of the machine's speed affects all of them. "bare" has
only limits and a session.
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import chain

import click
from rich.console import Console
from rich.table import Table

from grader.sandbox import spawn
from grader.sandbox.policy import Layers
from grader.sandbox.probe import isolation
from grader.sandbox.scratch_dir import scratch_folder
from grader.system import process_tree

LIMIT_S = 0.15
VARIANTS = {
    "bare": Layers(landlock=False, filter=False, capabilities=True),
    "fence": Layers(filter=False),
    "filter": Layers(landlock=False),
    "fence and filter": Layers(),
    "and a control group": Layers(own_group=True),
    "and a user of its own": Layers(own_user=True, own_group=True),
}


def run(layers: Layers) -> float | None:
    """Return the wall time of one program; None if it cannot run with these layers here."""
    with scratch_folder("grade-benchmark-") as folder:
        started_s = time.monotonic()
        try:
            ended = spawn.run(
                [sys.executable, "-I", "-S", "-c", ""],
                cwd=folder,
                environment=spawn.clean_environment(folder),
                wall_s=60,
                layers=layers,
            )
        except OSError:
            return None
        return time.monotonic() - started_s if ended.ok else None


@click.command()
@click.option("--runs", default=20, show_default=True)
def main(runs: int) -> None:
    """Measure and print the table."""
    process_tree.become_subreaper()
    started_s = time.monotonic()
    found = isolation()
    probe_s = time.monotonic() - started_s
    variants = {name: layers for name, layers in VARIANTS.items() if run(layers) is not None}
    walls: dict[str, list[float]] = {name: [] for name in variants}
    for name in chain.from_iterable(variants for _ in range(runs)):
        wall_s = run(variants[name])
        if wall_s is None:
            sys.exit(f"{name}: it ran once, but not again")
        walls[name].append(wall_s)
    bare_ms = statistics.median(walls["bare"]) * 1000
    table = Table(title=f"one program, {runs} runs each, milliseconds")
    for column in ("layers", "min", "median", "max", "cost", "limit", "met"):
        table.add_column(column, justify="left" if column == "layers" else "right")
    for name, several in walls.items():
        figures = [1000 * f for f in (min(several), statistics.median(several), max(several))]
        cost_ms = figures[1] - bare_ms
        met = "yes" if cost_ms <= LIMIT_S * 1000 else "NO"
        row = [name, *(f"{figure:.0f}" for figure in figures), f"{cost_ms:.0f}"]
        table.add_row(*row, *(("", "") if name == "bare" else (f"{LIMIT_S * 1000:.0f}", met)))
    console = Console(width=100)
    console.print(table)
    for name in set(VARIANTS) - set(variants):
        console.print(f"{name}: does not run here")
    console.print(f"level {found.level} ({found.layers}), probed in {probe_s:.2f} s, once per run")


if __name__ == "__main__":
    main()
