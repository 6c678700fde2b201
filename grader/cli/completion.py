"""Shell completion for the names of assignments and kernels.

A shell runs this at each press of Tab and shows whatever is printed. So nothing here
imports torch, and a file that cannot be read gives no names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from grader.assignment import catalogue
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.errors import GraderError

_TIMED = ("calibrate", "profile")


def assignments(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the assignments that start with `begun`, without those already given."""
    given = context.params.get(parameter.name or "")
    taken = set(given) if isinstance(given, tuple) else set()
    names = [folder.name for folder in _folders()]
    return [name for name in names if name.startswith(begun) and name not in taken]


def assignments_and_files(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Return the assignments that start with `begun`; if none does, let the shell find files."""
    names = assignments(context, parameter, begun)
    return [CompletionItem(name) for name in names] or [CompletionItem(begun, type="file")]


def kernels(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the kernels that start with `begun`, from the given assignments or from all."""
    taken = context.params.get(parameter.name or "")
    # main.cu is only graded, never timed or profiled.
    timed = context.info_name in _TIMED
    names = {
        part.name: None
        for assignment in _given_or_all(context)
        for part in (assignment.kernels if timed else assignment.parts)
    }
    return [n for n in names if n.startswith(begun) and n not in (taken or ())]


def _given_or_all(context: click.Context) -> Iterator[Assignment]:
    single = context.params.get("assignment")
    # After an option without its value, click has not sorted the arguments yet.
    names = {single} if single else {*(context.params.get("assignments") or ()), *context.args}
    folders = _folders()
    meant = [folder for folder in folders if folder.name in names]
    for folder in meant or folders:
        try:
            yield read_assignment(folder)
        except GraderError:
            continue


def _folders() -> tuple[Path, ...]:
    try:
        root = catalogue.assignment_root(Path.cwd())
    except (GraderError, OSError):
        return ()
    return catalogue.find_assignments(root) if root else ()
