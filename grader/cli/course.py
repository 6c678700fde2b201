"""The commands for a whole class: `grade batch`, `grade merge` and `grade leaderboard`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.cli import options
from grader.errors import ExitCode, UsageError


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@options.assignments
@click.option(
    "--out",
    "--output",
    "out",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for reports. Submissions with a current report are not graded again.",
)
@click.option(
    "--csv",
    type=click.Path(path_type=Path),
    help="Also write the grade book here.",
)
@click.option(
    "--csv-for",
    type=click.Choice(["gradescope", "canvas"]),
    default="gradescope",
    show_default=True,
    help="The system whose columns the grade book has.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    help="Grade this many submissions at a time. Default: one per GPU, else one per core.",
)
@options.device
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    help="Draw the hidden cases from this seed. Default: drawn once for the folder --out.",
)
@click.option(
    "--latest",
    is_flag=True,
    help="Of several submissions of a student (NAME-1, NAME-2, or by Gradescope's metadata) grade "
    "only the last.",
)
@click.option(
    "--cluster",
    metavar="local|ADDRESS|slurm",
    help="Grade on Dask workers of this machine, of a scheduler or of Slurm (docs/cluster.md).",
)
@options.cluster_tls
@click.option(
    "--patience",
    "patience_s",
    type=click.FloatRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Give up on a cluster that has no workers or does not answer for this long.",
)
@click.option(
    "--export-for",
    "export_for",
    nargs=2,
    type=(click.Choice(["dolos"]), click.Path(path_type=Path)),
    metavar="dolos DIR",
    help="Grade nothing: write the files for a similarity tool into a new folder.",
)
def batch(export_for: tuple[str, Path] | None, out: Path | None, **arguments: Any) -> None:
    """Grade a class: each submission in a folder.

    \b
    FOLDER is a Gradescope export, a folder of GitHub Classroom clones, or holds
    a folder or an archive for each student.

    \b
    grade batch hand-ins/ silu --out graded/
    grade batch hand-ins/ silu --out graded/ --csv grades.csv

    grade batch hand-ins/ silu --export-for dolos similar/

    Run again, it grades only submissions that are new, changed or could not be
    graded. Exit code 0 if every submission has its report, else 1.
    """
    from grader.commands.batch.run import Request, run_export
    from grader.commands.batch.run import batch as run

    if export_for is not None:
        folder, latest = arguments["folder"], arguments["latest"]
        sys.exit(run_export(folder, arguments["assignments"], export_for[1], latest=latest))
    if out is None:
        raise UsageError("--out is missing: the folder for reports", tip="grade batch --help")
    try:
        sys.exit(run(Request(out=out, **arguments)))
    except KeyboardInterrupt:
        click.echo("finished reports are kept; run the same command to grade the rest", err=True)
        raise


@click.command()
@click.argument("first", type=click.Path(path_type=Path, exists=True), metavar="CPU.json")
@click.argument("second", type=click.Path(path_type=Path, exists=True), metavar="GPU.json")
@click.option(
    "--output",
    "--out",
    "output",
    type=click.Path(path_type=Path),
    help="Write the merged report here; a folder for two folders. Default: standard output.",
)
def merge(first: Path, second: Path, output: Path | None) -> None:
    """Fill in pending points from another machine's report.

    \b
    grade merge cpu.json gpu.json --output both.json
    grade merge cpu/reports gpu/reports --output both/reports

    Refuses reports of different submissions, specs or seeds.
    """
    from grader.commands.merge import run_merge

    sys.exit(run_merge(first, second, output))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--output",
    "--out",
    "output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page to write.",
)
@click.option("--title", default="Leaderboard", show_default=True, help="The page's title.")
@click.option(
    "--names",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A CSV of submission and pseudonym, for students who chose one.",
)
def leaderboard(folder: Path, output: Path, title: str, names: Path | None) -> None:
    """Show points and speedups of a class, under pseudonyms.

    \b
    grade leaderboard graded/ --output leaderboard.html

    Exit code 0 if every report is on the page, 1 if some cannot be read.
    """
    from rich.console import Console

    from grader.commands.batch.leaderboard import write_leaderboard

    stderr = Console(stderr=True, soft_wrap=True, highlight=False)
    refused: list[str] = []

    def report_problem(problem: str) -> None:
        refused.append(problem)
        stderr.print(f"{problem}: not on the page; grade this submission again", markup=False)

    count = write_leaderboard(folder, output, title, names, report_problem)
    click.echo(f"{count} submissions in {output}")
    sys.exit(ExitCode.of(complete=not refused))


COMMANDS = (batch, merge, leaderboard)
