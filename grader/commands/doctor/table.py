"""Prints the diagnosis: a line for each component, its cost and its fix.

Commands are printed unwrapped, so that they can be copied. Colour only repeats words.
"""

from __future__ import annotations

import textwrap

from rich.console import Console
from rich.text import Text

from grader.commands.doctor.ability import Ability
from grader.commands.doctor.rows import Row, RowState

_STYLES = {
    RowState.OK: "green",
    RowState.NOTE: "cyan",
    RowState.MISSING: "yellow",
    RowState.BROKEN: "bold red",
    RowState.MISMATCHED: "bold red",
}
_STATE_WIDTH = max(len(state) for state in RowState) + 2


def print_rows(rows: tuple[Row, ...], console: Console) -> None:
    """Print every row, with its cost and fix below."""
    thing_width = max(len(row.thing) for row in rows) + 2
    indent = _STATE_WIDTH + thing_width
    for row in rows:
        head = Text(f"{row.state:<{_STATE_WIDTH}}", style=_STYLES[row.state])
        head.append(f"{row.thing:<{thing_width}}", style="bold")
        _print_beside(head, row.found, indent, console)
        if row.cost:
            head = Text(" " * indent + "costs  ", style="dim")
            _print_beside(head, row.cost, indent + 7, console)
        if row.fix:
            line = Text(" " * indent).append("fix    ", style="dim").append(row.fix)
            console.print(line, soft_wrap=True, highlight=False)


def print_ability(ability: Ability, console: Console) -> None:
    """Print what this machine grades, a line for each language."""
    devices = {
        "CUDA C++": _devices(gpu=ability.cuda_on_gpu, cpu=ability.cuda_on_cpu),
        "Triton": _devices(gpu=ability.triton_on_gpu, cpu=ability.triton_on_cpu),
    }
    console.print()
    for language, where in devices.items():
        console.print(Text(f"{language:<10}").append(where or "cannot be graded here"))
    timed = ability.cuda_on_gpu or ability.triton_on_gpu
    if ability.anything and not timed:
        console.print("Performance is not measured here: its points stay pending.")


def _devices(*, gpu: bool, cpu: bool) -> str:
    names = [name for name, there in (("the GPU", gpu), ("the CPU", cpu)) if there]
    return f"is graded on {' and '.join(names)}" if names else ""


def _print_beside(head: Text, words: str, indent: int, console: Console) -> None:
    """Print words after a head, with aligned continuation lines."""
    # Keep paths in one piece, so that they can be copied.
    first, *lines = textwrap.wrap(
        words, max(console.width - indent, 20), break_long_words=False, break_on_hyphens=False
    )
    console.print(head + Text(first), soft_wrap=True, highlight=False)
    for line in lines:
        console.print(Text(" " * indent + line), soft_wrap=True, highlight=False)
