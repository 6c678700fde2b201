"""The time in which processes open a GPU and leave it: with a context's usual queues, and with one.

    python benchmarks/open_gpu.py [--runs N] [--processes N]

A driver makes and removes contexts one process after another, so that many processes at once wait
for each other. The processes here only start, make a context and remove it. The variants alternate,
so that a drift of the machine's speed affects both. The grader runs tools with one queue
(docs/decisions/side-by-side.md).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

import click
from rich.console import Console
from rich.table import Table

from grader.gpu import nvml
from grader.protocol.cuda_driver import Driver

VARIANTS = {"usual": {}, "one": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}
OPEN = "open"


def wall_s(processes: int, environment: dict[str, str]) -> float:
    """Return the seconds until all of the processes, started at once, have ended."""
    command = [sys.executable, __file__, OPEN]
    started_s = time.monotonic()
    running = [
        subprocess.Popen(command, env={**os.environ, **environment}) for _ in range(processes)
    ]
    codes = [one.wait() for one in running]
    if any(codes):
        sys.exit("a process could not open the GPU")
    return time.monotonic() - started_s


@click.command()
@click.option("--runs", default=5, show_default=True)
@click.option("--processes", default=16, show_default=True)
def main(runs: int, processes: int) -> None:
    """Measure and print the table."""
    gpus = nvml.gpus()
    if not gpus:
        sys.exit("this needs a GPU")
    table = Table(title=f"{gpus[0].name}, medians of {runs} runs, seconds")
    for column in ("processes at once", "usual queues", "one queue", "ratio"):
        table.add_column(column, justify="right")
    for count in (1, processes):
        walls: dict[str, list[float]] = {name: [] for name in VARIANTS}
        for _ in range(runs):
            for name, environment in VARIANTS.items():
                walls[name].append(wall_s(count, environment))
        usual_s, one_s = (statistics.median(walls[name]) for name in VARIANTS)
        table.add_row(str(count), f"{usual_s:.2f}", f"{one_s:.2f}", f"{one_s / usual_s:.2f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    if sys.argv[1:] == [OPEN]:
        Driver()  # the context ends with the process
    else:
        main()
