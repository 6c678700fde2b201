"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli import completion
from grader.vocabulary import Language

_LANGUAGES = click.Choice([str(word) for word in Language])

assignment = click.argument("assignment", shell_complete=completion.assignments)
assignments = click.argument(
    "assignments",
    nargs=-1,
    metavar="[ASSIGNMENT]...",
    shell_complete=completion.assignments,
)
device = click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "cpu"]),
    default="auto",
    show_default=True,
    help="Run kernels on the GPU (cuda), on the CPU (cpu), or on the GPU if there is one (auto).",
)
kernels = click.option(
    "--kernel",
    "kernels",
    multiple=True,
    shell_complete=completion.kernels,
    help="Only this kernel (repeatable).",
)
language = click.option("--language", type=_LANGUAGES, help="Only this language.")
languages = click.option(
    "--language",
    "languages",
    multiple=True,
    type=_LANGUAGES,
    help="Only this language (repeatable).",
)
cluster_tls = click.option(
    "--cluster-tls",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder with ca.pem, cert.pem and key.pem for a cluster beyond this machine.",
)
