"""Prints the diagnosis: what can be graded, then each component with its effect and its fix.

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
_BELOW = 4  # columns before what does not fit beside a row's head


def print_rows(rows: tuple[Row, ...], console: Console) -> None:
    """Print every row, with its effect and fix below."""
    thing_width = max(len(row.thing) for row in rows) + 2
    for row in rows:
        head = Text(f"{row.state:<{_STATE_WIDTH}}", style=_STYLES[row.state])
        head.append(f"{row.thing:<{thing_width}}", style="bold")
        _print_beside(head, row.found, console)
        if row.cost:
            _print_beside(Text(" " * _BELOW).append("effect  ", style="dim"), row.cost, console)
        if row.fix:
            line = Text(" " * _BELOW).append("fix     ", style="dim").append(row.fix)
            console.print(line, soft_wrap=True, highlight=False)


def print_ability(ability: Ability, console: Console) -> None:
    """Print what this machine grades, a line for each language."""
    devices = {
        "CUDA C++": _devices(gpu=ability.cuda_on_gpu, cpu=ability.cuda_on_cpu),
        "Triton": _devices(gpu=ability.triton_on_gpu, cpu=ability.triton_on_cpu),
    }
    for language, where in devices.items():
        console.print(Text(f"{language:<10}").append(where or "cannot be graded here"))
    timed = ability.cuda_on_gpu or ability.triton_on_gpu
    if ability.anything and not timed:
        console.print("Performance is not measured here: its points stay pending.")
    console.print()


def _devices(*, gpu: bool, cpu: bool) -> str:
    names = [name for name, there in (("the GPU", gpu), ("the CPU", cpu)) if there]
    return f"is graded on {' and '.join(names)}" if names else ""


def _print_beside(head: Text, words: str, console: Console) -> None:
    """Print words after a head if they fit on its line, else below it."""
    indent = len(head.plain)
    if indent + len(words) > console.width and indent > 3 * _BELOW:
        head.rstrip()
        console.print(head, soft_wrap=True, highlight=False)
        head, indent = Text(" " * _BELOW), _BELOW
    # Keep paths in one piece, so that they can be copied.
    first, *lines = textwrap.wrap(
        words, max(console.width - indent, 20), break_long_words=False, break_on_hyphens=False
    )
    console.print(head + Text(first), soft_wrap=True, highlight=False)
    for line in lines:
        console.print(Text(" " * indent + line), soft_wrap=True, highlight=False)
