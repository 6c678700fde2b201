"""The commands for a whole class: what `cli` adds to the command `grade`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.cli import options


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@options.assignments
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Where reports go. What is there and current is not graded again.",
)
@click.option(
    "--csv",
    type=click.Path(path_type=Path),
    help="Write the grade book here, too.",
)
@click.option(
    "--csv-for",
    type=click.Choice(["gradescope", "canvas"]),
    default="gradescope",
    show_default=True,
    help="Whose columns the grade book has.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    help="So many hand-ins at a time. Default: one for each GPU, without one for each core.",
)
@options.device
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    help="Draw the hidden cases from this seed. Default: drawn once for the folder --out.",
)
@click.option(
    "--cluster",
    metavar="local|ADDRESS|slurm",
    help="Grade on Dask: workers on this machine, a scheduler's, or Slurm's (docs/cluster.md).",
)
@options.cluster_tls
@click.option(
    "--patience",
    "patience_s",
    type=click.FloatRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Give a cluster up that has no workers, or does not answer, for so long.",
)
def batch(**arguments: Any) -> None:
    """Grade a class: each hand-in in FOLDER, for each ASSIGNMENT (staff).

    \b
    FOLDER is an export of Gradescope, clones of GitHub Classroom, or holds a
    folder or an archive for each student.

    \b
    grade batch hand-ins/ silu --out graded/
    grade batch hand-ins/ silu --out graded/ --csv grades.csv

    The same command again grades only what is new, changed or could not be
    graded. Exit code 0 if every hand-in has its report, else 1.
    """
    from grader.commands.batch.run import Request
    from grader.commands.batch.run import batch as run

    try:
        sys.exit(run(Request(**arguments)))
    except KeyboardInterrupt:
        click.echo("what is graded stays graded; the same command goes on with the rest", err=True)
        raise


@click.command()
@click.argument("first", type=click.Path(path_type=Path, exists=True), metavar="CPU.json")
@click.argument("second", type=click.Path(path_type=Path, exists=True), metavar="GPU.json")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the one report goes; a folder for two folders. Default: standard output.",
)
def merge(first: Path, second: Path, output: Path | None) -> None:
    """Fill the pending points of a report in from another machine's (staff).

    \b
    grade merge cpu.json gpu.json --output both.json
    grade merge cpu/reports gpu/reports --output both/reports

    Refuses reports of different hand-ins, specs or seeds.
    """
    from grader.commands.merge import run_merge

    sys.exit(run_merge(first, second, output))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page to write.",
)
@click.option("--title", default="Leaderboard", show_default=True, help="What stands above it.")
@click.option(
    "--names",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A CSV of hand-in and pseudonym, for those who chose one.",
)
def leaderboard(folder: Path, output: Path, title: str, names: Path | None) -> None:
    """Show points and speedups of a class as one page, under pseudonyms (staff).

    \b
    grade leaderboard graded/ --output leaderboard.html

    Exit code 0 if every report is on the page, 1 if some cannot be read.
    """
    from rich.console import Console

    from grader.commands.batch.leaderboard import write_leaderboard

    stderr = Console(stderr=True, soft_wrap=True, highlight=False)
    refused: list[str] = []

    def tell(problem: str) -> None:
        refused.append(problem)
        stderr.print(f"{problem}: it is not on the page; grade it again", markup=False)

    count = write_leaderboard(folder, output, title, names, tell)
    click.echo(f"{count} hand-ins in {output}")
    sys.exit(1 if refused else 0)


COMMANDS = (batch, merge, leaderboard)
