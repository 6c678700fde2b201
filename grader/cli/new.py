"""The command `grade new`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.assignment.catalogue import ASSIGNMENTS
from grader.assignment.reader import read_course
from grader.commands.scaffold.draft import DRAFTED, EXAMPLE, make_draft, parse_argument
from grader.commands.scaffold.files import course_folder, gaps, write_files
from grader.errors import UsageError
from grader.text.did_you_mean import did_you_mean

_WORDS = [str(word) for word in DRAFTED]


@click.command()
@click.argument("name")
@click.option("--title", help="The name that people read. Default: derived from NAME.")
@click.option(
    "--language",
    "languages",
    multiple=True,
    type=click.Choice(_WORDS),
    help="A language of the assignment (repeatable). Default: the course's, or both.",
)
@click.option(
    "--argument",
    "arguments",
    multiple=True,
    metavar="ARGUMENT",
    help="An argument of the function, in order (repeatable): NAME:TYPE[EXTENTS]:ROLE for an "
    "array (in, out, inout; in without it), NAME:TYPE for a scalar.",
)
@click.option(
    "--entry",
    "entries",
    multiple=True,
    metavar="NAME(ARGUMENTS)",
    help="A function of a file with several (repeatable), instead of --argument: its name, and its "
    "arguments between commas.",
)
@click.option(
    "--types",
    metavar="NAME=TYPE,…",
    help="A type that arguments name and cases choose, such as T=float32,float16 for x:T[n]:in.",
)
@click.option(
    "--kernel",
    is_flag=True,
    help="Students write the bare kernel (__global__, @triton.jit), and the grader launches it.",
)
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="FILE.cuh",
    help="A header in CUDA C++ that students write as well (repeatable).",
)
@click.option(
    "--given",
    multiple=True,
    metavar="FILE.cuh",
    help="A header in CUDA C++ that students get and cannot change (repeatable).",
)
@click.option(
    "--course",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The course's folder. Default: the nearest one with assignments/, else this folder.",
)
def new(
    name: str,
    title: str | None,
    languages: tuple[str, ...],
    arguments: tuple[str, ...],
    entries: tuple[str, ...],
    types: str | None,
    kernel: bool,
    headers: tuple[str, ...],
    given: tuple[str, ...],
    course: Path | None,
) -> None:
    """Write the files of a new assignment, which works at once.

    \b
    grade new vector_add                   asks for the rest
    grade new scale --language cuda --argument "x:float32[n]:in" \\
        --argument "y:float32[n]:out" --argument n:int32
    grade new silu --entry "forward(x:float32[n]:in, y:float32[n]:out, n:int32)" \\
        --entry "backward(x:float32[n]:in, dx:float32[n]:out, n:int32)"

    Nothing is overwritten. The parts to fill in are listed at the end.
    """
    folder = course or course_folder(Path.cwd())
    shared = read_course(folder / ASSIGNMENTS)
    languages = languages or tuple(shared.languages)
    if arguments and entries:
        raise UsageError(
            "--argument and --entry exclude each other", tip="write the arguments into each --entry"
        )
    if not arguments and not entries:
        make_draft(name, title, languages, EXAMPLE.replace("--argument ", "").split())
        title, languages, arguments = _ask(name, title, languages, types)
    draft = make_draft(
        name, title, languages, arguments, entries=entries, types=types, kernel=kernel,
        headers=headers, given=given,
    )  # fmt: skip
    files = write_files(draft, folder, shared.handout)
    click.echo(f"made in {folder}:")
    for file in files:
        click.echo(f"  {file}")
    click.echo("\nto fill in (stubs are generated from the solved files):")
    for file, line, text in gaps(files, folder):
        click.echo(f"  {file}:{line}: {text}")
    click.echo(
        "\nIt works already, with a placeholder formula. After each change, prove it, which also\n"
        "writes stubs, headers and the tables of the handout:\n"
        f"  grade verify {name} --update\n"
        "What to write in each file: docs/instructors.md"
    )


def _ask(
    name: str, title: str | None, languages: tuple[str, ...], types: str | None
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Ask for the values that no option gives."""
    try:
        title = title or click.prompt("Title", default=name.replace("_", " ").capitalize())
        if not languages:
            words = click.prompt("Languages", default=" ".join(_WORDS))
            languages = tuple(words.replace(",", " ").split())
            for word in languages:
                if word not in _WORDS:
                    meant = did_you_mean(word, _WORDS)
                    raise UsageError(
                        f"`{word}` is no language{meant}", tip=f"known: {', '.join(_WORDS)}"
                    )
        click.echo(
            "Arguments in order, one per line; an empty line ends the list:\n"
            "  input:float32[rows, cols]:in   output:float32[rows]:out   rows:int32"
        )
        arguments: list[str] = []
        known = [types.partition("=")[0].strip()] if types else []
        while text := click.prompt("Argument", default="", show_default=False):
            try:
                parse_argument(text, known)
            except UsageError as error:
                click.echo(f"  {error.message}; {error.tip or ''}")
            else:
                arguments.append(text)
    except click.Abort:
        raise UsageError(
            "the input ended before the last question", tip=f"or use options: {EXAMPLE}"
        ) from None
    return str(title), languages, tuple(arguments)
