"""The commands for a whole class: what `cli` adds to the command `grade`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("assignments", nargs=-1, metavar="[ASSIGNMENT]...")
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
@click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "cpu"]),
    default="auto",
    show_default=True,
    help="Where kernels run: the GPUs (cuda), the processor (cpu), the GPUs if there are any.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Draw the hidden cases from this seed. Default: drawn once for the folder --out.",
)
@click.option(
    "--cluster",
    metavar="local|ADDRESS|slurm",
    help="Grade on Dask: workers on this machine, a scheduler's, or Slurm's (docs/cluster.md).",
)
@click.option(
    "--cluster-tls",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder with ca.pem, cert.pem and key.pem for a cluster beyond this machine.",
)
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
    from grader.batch.run import Request
    from grader.batch.run import batch as run

    sys.exit(run(Request(**arguments)))


COMMANDS = (batch,)
