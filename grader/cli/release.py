"""The command `grade release`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli import options
from grader.errors import GraderError, UsageError

if TYPE_CHECKING:
    from grader.assignment.model import Assignment

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
    type=click.Path(path_type=Path, dir_okay=False),
    help="The archive: FILE.zip, FILE.tar or FILE.tar.gz.",
)
@click.option(
    "--output-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Instead of --output: a folder, for an archive of each assignment, named after it.",
)
@click.option("--all", "every", is_flag=True, help="All assignments, with --output-dir.")
@options.show
def release(
    target: str,
    assignments: tuple[str, ...],
    output: Path | None,
    output_dir: Path | None,
    every: bool,
    shown: str | None,
) -> None:
    """Write an archive for students or for a platform.

    \b
    grade release student --output course.zip           all assignments
    grade release gradescope silu --output silu.zip     upload as the autograder
    grade release gradescope --all --output-dir zips    an archive of each one
    grade release prairielearn silu --output silu.zip   folders of a course
    grade release prairielearn --output course.zip      the same, all assignments
    grade release autolab silu --output silu.tar        a lab's autograder
    grade release github silu --output silu.zip         for GitHub Classroom

    No archive holds a solved file; no archive for students holds hidden cases.
    """
    from grader.assignment.catalogue import course_root
    from grader.commands.release.readiness import not_ready, refuse_outdated
    from grader.grading.selection import course_assignments

    if shown and target in FOR_STUDENTS:
        raise UsageError(f"--show is for graders: an archive for {target} has no hidden cases")
    if (output is None) == (output_dir is None):
        raise UsageError(
            "name the archive with --output FILE, or a folder for several with --output-dir DIR",
            tip=f"grade release {target} --all --output-dir DIR",
        )
    if output_dir is not None and every == bool(assignments):
        raise UsageError(
            "--output-dir needs the names of assignments, or --all",
            tip=f"grade release {target} --all --output-dir {output_dir}",
        )
    if every and output_dir is None:
        raise UsageError(
            "--all makes an archive of each assignment: name their folder with --output-dir"
        )
    folder = output_dir if output is None else output.parent
    assert folder is not None
    existing = folder if output is not None or folder.exists() else folder.parent
    if not existing.is_dir():
        name = "--output-dir" if output is None else "--output"
        raise UsageError(f"{name}: there is no folder {existing}", tip="make it first")
    if output is not None:
        _check_ending(target, output)
    chosen = course_assignments(assignments)
    repository = chosen[0].folder.parent.parent
    if course_root(Path.cwd()) is None:
        click.echo(f"note: {Path.cwd()} is in no course: of {repository}", err=True)
    wanted = {output: chosen} if output else {_file(folder, target, one): [one] for one in chosen}
    # All of them, before the first is written.
    made = [_archive(target, some, repository, file, shown or "") for file, some in wanted.items()]
    stubs = target in (*FOR_STUDENTS, "prairielearn")
    refuse_outdated(chosen, repository, with_stubs=stubs)
    for file, data, line in made:
        _write(file, data)
        click.echo(line)
    click.echo(f"next: {_GRADESCOPE_NEXT if target == 'gradescope' else _NEXT}")
    if stubs:
        for sentence in not_ready(chosen, repository, with_specs=target in FOR_STUDENTS):
            click.echo(f"warning: {sentence}", err=True)


def _check_ending(target: str, output: Path) -> None:
    from grader.commands.release.pack import ENDINGS

    if not output.name.endswith(ENDINGS):
        raise UsageError(f"--output {output}: it must end in {', '.join(ENDINGS)}")
    if target == "gradescope" and not output.name.endswith(".zip"):
        raise UsageError(f"--output {output}: Gradescope takes a zip", tip="name it FILE.zip")


def _file(folder: Path, target: str, assignment: Assignment) -> Path:
    return folder / f"{assignment.name}{'.tar' if target == 'autolab' else '.zip'}"


def _archive(
    target: str, assignments: list[Assignment], repository: Path, file: Path, show: str
) -> tuple[Path, bytes, str]:
    """Return file and content of an archive, and the line about it."""
    from grader.commands.release.pack import packed
    from grader.commands.release.targets import entries_of

    entries = entries_of(target, assignments, repository, show)
    data = packed(entries, file.name)
    names = ", ".join(assignment.name for assignment in assignments)
    return file, data, f"{file}: {target}, {names}; {len(entries)} files, {len(data) / 1e6:.1f} MB"


def _write(file: Path, data: bytes) -> None:
    try:
        file.parent.mkdir(exist_ok=True)  # that of --output-dir
        file.write_bytes(data)
    except OSError as error:
        raise GraderError(f"cannot write {file}: {error.strerror or error}") from error
