"""The commands `grade ci` and `grade report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.cli import options


def _formats() -> list[str]:
    # Formats import all checks: import them only when a format is needed, to start fast.
    from grader.formats.registry import formats

    return [form.name for form in formats()]


@click.command()
@options.assignment
@click.option(
    "--from",
    "source",
    required=True,
    type=click.Path(path_type=Path),
    help="The submission: a folder (or zip or tar) with the assignment's files or its folder.",
)
@click.option(
    "--format",
    "form",
    type=options.Registered(_formats),
    help="The platform whose result file to write.",
)
@click.option(
    "--output",
    "--out",
    "output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the result here; the file is complete and valid at every moment.",
)
@click.option(
    "--require-sandbox",
    "level",
    type=click.Choice(["full", "partial", "none"]),
    default="partial",
    show_default=True,
    help="Refuse to grade where the sandbox is weaker than this.",
)
@click.option(
    "--budget",
    "budget_s",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds for the whole run, below the platform's limit. Default: 540 for gradescope, "
    "25 for prairielearn, 50 for autolab, none for the others.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Draw the hidden cases of an earlier run again."
)
@options.device
@click.option(
    "--cluster",
    metavar="local|ADDRESS|slurm",
    help="Grade on this machine's CPU, then let a GPU worker of this Dask cluster measure the "
    "pending checks; those it does not finish within the budget stay pending (docs/cluster.md).",
)
@options.cluster_tls
@click.option(
    "--report",
    "report_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the full report: for staff only, it shows the hidden cases and the seed.",
)
@click.option(
    "--metadata",
    "metadata_path",
    envvar="GRADE_GRADESCOPE_METADATA",
    type=click.Path(path_type=Path),
    help="Gradescope's metadata. Default: /autograder/submission_metadata.json if it is there.",
)
@click.option(
    "--rate-limit",
    type=click.IntRange(min=1),
    help="Gradescope: grade at most this many submissions of a student in --rate-window hours.",
)
@click.option(
    "--rate-window",
    "window_h",
    type=click.FloatRange(min=0, min_open=True),
    default=24.0,
    show_default=True,
    help="The length of the period for --rate-limit, in hours.",
)
@click.option(
    "--try",
    "platform",
    type=click.Choice(["gradescope"]),
    help="Run the archive of `grade release` here as the platform would, with a sample of its "
    "metadata (or --metadata), and show the result; --output is optional.",
)
@options.show
def ci(
    form: str | None,
    platform: str | None,
    output: Path | None,
    level: str,
    rate_limit: int | None,
    window_h: float,
    shown: str | None,
    **arguments: Any,
) -> None:
    """Grade a submission on a course's platform.

    \b
    grade ci silu --from submission --format gradescope --output results.json
    grade ci silu --from . --format github --output classroom.json
    grade ci silu --from ann/ --format json --output ann.json --seed 17
    grade ci silu --from homework --try gradescope
    grade ci silu --from submission --format gradescope --output results.json \\
        --cluster tls://head.example.edu:8786 --cluster-tls tls/

    Exit code 0 if a valid result was written, 3 if none was written.
    """
    from grader.commands.ci.gradescope_metadata import RateLimit
    from grader.commands.ci.run import Request, grade_ci
    from grader.formats.registry import named
    from grader.sandbox.level import Level

    if platform is not None:
        from grader.commands.ci.trial import try_gradescope

        name, source = arguments["assignment"], arguments["source"]
        sys.exit(try_gradescope(name, source, output, arguments["metadata_path"]))
    for option, value in (("--format", form), ("--output", output)):
        if value is None:
            raise click.UsageError(f"Missing option '{option}'.")
    assert form is not None
    assert output is not None
    limit = None if rate_limit is None else RateLimit(count=rate_limit, window_h=window_h)
    asked = Request(
        format=named(form),
        level=Level(level),
        limit=limit,
        shown=options.shown_visibilities(shown),
        output=output,
        **arguments,
    )
    sys.exit(grade_ci(asked))


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=options.Registered(lambda: ["terminal", *_formats()]),
    default="terminal",
    show_default=True,
    help="The format to show it in.",
)
@click.option(
    "--output",
    "--out",
    "output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the result here. Default: standard output.",
)
@options.show
def report(file: Path, form: str, output: Path | None, shown: str | None) -> None:
    """Show a stored report, also in another format.

    \b
    grade report report.json                           as at a terminal
    grade report report.json --format html --output report.html
    grade report report.json --format junit > report.xml

    FILE is from --json, or from grade ci --format json.
    """
    from grader.commands.ci.delivery import show_again
    from grader.formats.registry import named

    visibilities = options.shown_visibilities(shown)
    show_again(file, None if form == "terminal" else named(form), output, visibilities)
