"""The time of `grade local silu`, and the grader's own part of it.

    python benchmarks/grade_local.py [--runs N] [--device cpu|cuda] [--only WORD]...

Wall-clock time of whole processes with warm caches (one run of each before counting). The
commands alternate, so that a drift of the machine's speed affects all of them. "imports"
is the unavoidable part: `import torch` for CUDA C++, torch and triton for Triton, each in
a separate process; "rest" is the difference. On a GPU, "answers" is the time with only
`--check correctness`; the whole run has compute-sanitizer's four tools and the timing, too.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).resolve().parent.parent
GRADE = "from grader.__main__ import main; main()"
REST_LIMIT_S = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command to time; `imports` names the command with its unavoidable part."""

    argv: list[str]
    imports: str = ""
    wall_limit_s: float | None = None
    rest_limit_s: float | None = None


def commands(device: str) -> dict[str, Command]:
    """Return the commands by name, in the order of the table."""
    grade = [sys.executable, "-c", GRADE, "local", "silu", "--from", "reference"]
    grade += ["--device", device]
    cuda, triton = [*grade, "--language", "cuda"], [*grade, "--language", "triton"]
    answers = ["--check", "correctness"]
    bare, full = "import torch", "import torch, triton"
    found = {
        bare: Command(argv=[sys.executable, "-c", "import torch"]),
        full: Command(argv=[sys.executable, "-c", "import torch, triton.language"]),
    }
    if device == "cpu":
        limits = {"wall_limit_s": 5.0, "rest_limit_s": REST_LIMIT_S}
        found["grade, CUDA C++"] = Command(argv=cuda, imports=bare, **limits)
        found["grade, Triton"] = Command(argv=triton, imports=full, **limits)
    else:
        found["answers, CUDA C++"] = Command(argv=[*cuda, *answers], imports=bare, wall_limit_s=6)
        found["answers, Triton"] = Command(argv=[*triton, *answers], imports=full, wall_limit_s=6)
        found["grade, CUDA C++"] = Command(argv=cuda, imports=bare, wall_limit_s=12)
        found["grade, Triton"] = Command(argv=triton, imports=full, wall_limit_s=15)
    found["grade, both"] = Command(argv=grade, imports=full)
    return found


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
@click.option("--only", "words", multiple=True, help="Only rows with this word (repeatable).")
def main(runs: int, device: str, words: tuple[str, ...]) -> None:
    """Measure and print the table."""
    todo = {
        name: command
        for name, command in commands(device).items()
        if not command.imports or not words or any(word in name for word in words)
    }
    for command in todo.values():
        run(command.argv)
    walls: dict[str, list[float]] = {name: [] for name in todo}
    for _ in range(runs):
        for name, command in todo.items():
            walls[name].append(run(command.argv))
    median = {name: statistics.median(several) for name, several in walls.items()}
    table = Table(title=f"grade local silu, {device}, {runs} runs each, seconds")
    table.add_column("command")
    for column in ("min", "median", "max", "imports", "rest", "÷ imports", "limit", "met"):
        table.add_column(column, justify="right")
    all_met = True
    for name, several in walls.items():
        row = [name, *(f"{value:.2f}" for value in (min(several), median[name], max(several)))]
        command = todo[name]
        if command.imports:
            imports_s = median[command.imports]
            rest_s = median[name] - imports_s
            row += [f"{imports_s:.2f}", f"{rest_s:.2f}", f"{median[name] / imports_s:.2f}"]
            pairs = ((median[name], command.wall_limit_s), (rest_s, command.rest_limit_s))
            met = all(seconds <= limit for seconds, limit in pairs if limit is not None)
            limits = " / ".join(f"{limit:g}" for _, limit in pairs if limit is not None)
            row += [limits, ("yes" if met else "NO") if limits else ""]
            all_met = all_met and met
        table.add_row(*row)
    Console(width=100).print(table)
    sys.exit(0 if all_met else 1)


if __name__ == "__main__":
    main()
