"""How long a student waits for `grade local silu`, and how much of it is ours.

    python benchmarks/grade_local.py [--runs N] [--device cpu|cuda]

Whole processes, wall clock, caches warm (one run of each before counting). The
commands take turns, so that a drift of the machine's speed meets them all.
"imports" is what cannot be had for less: `import torch` for CUDA C++, torch
and triton for Triton, each in a process of its own; "rest" is the difference.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).resolve().parent.parent
GRADE = "from grader.__main__ import main; main()"
WALL_LIMIT_S = {"cpu": 5.0, "cuda": 6.0}
REST_LIMIT_S = 2.5


def commands(device: str) -> dict[str, list[str]]:
    grade = [
        sys.executable,
        "-c",
        GRADE,
        "local",
        "silu",
        "--from",
        "reference",
        "--device",
        device,
    ]
    return {
        "import torch": [sys.executable, "-c", "import torch"],
        "import torch, triton": [sys.executable, "-c", "import torch, triton.language"],
        "grade, CUDA C++": [*grade, "--language", "cuda"],
        "grade, Triton": [*grade, "--language", "triton"],
        "grade, both": grade,
    }


def run(argv: list[str]) -> float:
    """Return the wall time of one run, which must succeed."""
    started_s = time.monotonic()
    done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True)
    wall_s = time.monotonic() - started_s
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return wall_s


@click.command()
@click.option("--runs", default=5, show_default=True)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
def main(runs: int, device: str) -> None:
    """Measure and print the table."""
    todo = commands(device)
    for argv in todo.values():
        run(argv)
    walls: dict[str, list[float]] = {name: [] for name in todo}
    for _ in range(runs):
        for name, argv in todo.items():
            walls[name].append(run(argv))
    median = {name: statistics.median(several) for name, several in walls.items()}
    imports = {
        "grade, CUDA C++": median["import torch"],
        "grade, Triton": median["import torch, triton"],
        "grade, both": median["import torch, triton"],
    }
    table = Table(title=f"grade local silu, {device}, {runs} runs each, seconds")
    for column in (
        "command",
        "min",
        "median",
        "max",
        "imports",
        "rest",
        "÷ imports",
        "limit",
        "met",
    ):
        table.add_column(column, justify="left" if column == "command" else "right")
    for name, several in walls.items():
        row = [name, *(f"{value:.2f}" for value in (min(several), median[name], max(several)))]
        if name in imports:
            rest_s = median[name] - imports[name]
            met = median[name] <= WALL_LIMIT_S[device] and rest_s <= REST_LIMIT_S
            limit = "" if name == "grade, both" else f"{WALL_LIMIT_S[device]:g} / {REST_LIMIT_S:g}"
            row += [f"{imports[name]:.2f}", f"{rest_s:.2f}", f"{median[name] / imports[name]:.2f}"]
            row += [limit, ("yes" if met else "NO") if limit else ""]
        table.add_row(*row)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
