"""The command `grade release`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli import options
from grader.errors import GraderError, UsageError

TARGETS = ("student", "gradescope", "prairielearn", "autolab", "github")
# Targets that students get, with handouts and stubs.
FOR_STUDENTS = ("student", "github")
# Gradescope unpacks the archive itself: staff would never see a README in it.
_GRADESCOPE_NEXT = (
    "upload it below Configure Autograder, with an Ubuntu 22.04 image, "
    "and test it with a solved file"
)
_NEXT = "unpack it; its README.md says how to set it up"


@click.command()
@click.argument("target", type=click.Choice(TARGETS))
@options.assignments
@click.option(
    "--output",
    "--out",
    "output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The archive: FILE.zip, FILE.tar or FILE.tar.gz.",
)
def release(target: str, assignments: tuple[str, ...], output: Path) -> None:
    """Write an archive for students or for a grading system (staff).

    \b
    grade release student --output course.zip            all assignments
    grade release gradescope silu --output silu.zip      upload it as the autograder
    grade release prairielearn silu --output silu.zip    folders of a course
    grade release autolab silu --output silu.tar         a lab's autograder
    grade release github silu --output silu.zip          a template for GitHub Classroom

    No archive holds a solved file; no archive for students holds hidden cases.
    """
    from grader.commands.release.pack import ENDINGS, packed
    from grader.commands.release.readiness import not_ready, refuse_outdated
    from grader.commands.release.targets import entries_of
    from grader.grading.selection import chosen_assignments

    if not output.name.endswith(ENDINGS):
        raise UsageError(f"--output {output}: it must end in {', '.join(ENDINGS)}")
    if target == "gradescope" and not output.name.endswith(".zip"):
        raise UsageError(f"--output {output}: Gradescope takes a zip", tip="name it FILE.zip")
    if not output.absolute().parent.is_dir():
        raise UsageError(f"--output: there is no folder {output.parent}", tip="make it first")
    chosen = chosen_assignments(assignments)
    repository = chosen[0].folder.parent.parent
    entries = entries_of(target, chosen, repository)
    refuse_outdated(chosen, repository, with_stubs=target in FOR_STUDENTS)
    data = packed(entries, output.name)
    try:
        output.write_bytes(data)
    except OSError as error:
        raise GraderError(f"cannot write {output}: {error.strerror or error}") from error
    names = ", ".join(assignment.name for assignment in chosen)
    click.echo(f"{output}: {target}, {names}; {len(entries)} files, {len(data) / 1e6:.1f} MB")
    click.echo(f"next: {_GRADESCOPE_NEXT if target == 'gradescope' else _NEXT}")
    if target in FOR_STUDENTS:
        for sentence in not_ready(chosen, repository):
            click.echo(f"warning: {sentence}", err=True)
