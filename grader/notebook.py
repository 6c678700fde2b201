"""`%%grade`: grade the kernel in a cell of a notebook, and show the report below the cell.

    %load_ext grader.notebook

    %%grade silu --device cpu
    __global__ void silu_kernel(…

The cell is written to `notebook/ASSIGNMENT/FILE`, which `grade local` then grades in a process of
its own. Its progress is the cell's output until the report replaces it: the page with figures in a
frame, and the same as text. A page has no scripts, so no server or widget is needed, and Jupyter,
Colab and VS Code show the same. IPython is never imported here: it passes its shell.
"""

from __future__ import annotations

import ast
import html
import os
import re
import secrets
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click

from grader.assignment.dialects import dialect
from grader.assignment.model import PROGRAM_NAME, Assignment, Kernel
from grader.cli import completion, options
from grader.commands.local_process import run_local
from grader.commands.output import write_text
from grader.errors import GraderError, UsageError
from grader.grading.selection import check_kernels, chosen_assignments
from grader.vocabulary import Language

CELLS = "notebook"  # nothing but this module writes there
MAGIC = "grade"
_FRAME_PX = 640
# Without it, a link to a place in the page would open the notebook in the frame.
_BASE = '<base href="about:srcdoc">'


class Publisher(Protocol):
    """IPython's channel to the front end."""

    def publish(
        self,
        data: Mapping[str, str],
        metadata: None = None,
        *,
        transient: Mapping[str, str],
        update: bool,
    ) -> None:
        """Show data, or with `update` replace what has the same `display_id` in `transient`."""


class Shell(Protocol):
    """The part of IPython's shell that a magic needs."""

    display_pub: Publisher

    def register_magic_function(
        self, func: Callable[[str, str], None], magic_kind: str, magic_name: str
    ) -> None:
        """Make a magic known."""


def load_ipython_extension(shell: Shell | None) -> None:
    """Called by `%load_ext grader.notebook`. Raises UsageError outside IPython."""
    if shell is None:
        raise UsageError(
            "there is no notebook here: `grader.notebook` is an extension of IPython",
            tip="in the course folder: pip install '.[notebook]'; in a notebook: "
            "%load_ext grader.notebook",
        )
    present = shell

    def grade(line: str, cell: str) -> None:
        """Grade the cell: `%%grade ASSIGNMENT`; `%%grade --help` lists the options."""
        _grade(present.display_pub, line, cell)

    shell.register_magic_function(grade, "cell", MAGIC)


@click.command(f"%%{MAGIC}", context_settings={"help_option_names": ["-h", "--help"]})
@options.assignment
@click.option(
    "--kernel",
    shell_complete=completion.kernels,
    help="The kernel of an assignment that has several; `main` for your own program.",
)
@options.language
@options.device
@click.option("--check", "checks", multiple=True, help="Only this check and those it needs.")
@click.option("--seed", type=int, default=0, help="Draw all cases from this seed.")
def _options(**_: Any) -> None:
    """Grade the kernel in this cell.

    \b
    %%grade silu
    %%grade gemm --kernel v2_tiled --language triton
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A cell as a file of a submission."""

    assignment: Assignment
    kernel: Kernel
    language: Language
    path: Path

    @property
    def source(self) -> Path:
        """The folder of the submission."""
        return self.path.parent.parent


def _grade(publisher: Publisher, line: str, cell: str) -> None:
    """Grade, and show the report or one sentence; a notebook never gets a traceback."""
    try:
        given = _parsed(line)
        if given is not None:
            _grade_cell(publisher, given, cell)
    except click.ClickException as error:
        _say(error.format_message())
    except GraderError as error:
        _say(error.message, error.tip)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    except Exception as error:
        if os.environ.get("GRADE_DEBUG"):
            raise
        _say(
            f"the grader failed: {type(error).__name__}: {error}",
            "set GRADE_DEBUG=1 and report what it prints",
        )


def _say(message: str, tip: str | None = None) -> None:
    print(f"error: {message}", file=sys.stderr)
    if tip:
        print(f"  tip: {tip}", file=sys.stderr)


def _parsed(line: str) -> dict[str, Any] | None:
    """Return the magic's arguments; None if it only printed its help."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%%{MAGIC} {line}: {str(error).lower()}") from None
    try:
        return _options.make_context(f"%%{MAGIC}", words).params
    except click.exceptions.Exit:
        return None


def _grade_cell(publisher: Publisher, given: Mapping[str, Any], cell: str) -> None:
    [assignment] = chosen_assignments((given["assignment"],))
    written = _written(assignment, given["kernel"], given["language"], cell)
    display = _Display(publisher)
    display.show({"text/plain": f"{written.path}: grading …"})
    words: list[str | Path] = [assignment.name, "--from", written.source]
    words += ["--kernel", written.kernel.name, "--language", written.language]
    words += ["--device", given["device"], "--seed", str(given["seed"])]
    words += [word for check in given["checks"] for word in ("--check", check)]
    with tempfile.TemporaryDirectory(prefix="grade-cell-") as scratch:
        page = Path(scratch) / "page.html"
        try:
            text = run_local(
                [*words, "--html", page],
                lambda step: display.show({"text/plain": f"{written.path}: {step} …"}),
            )
        except KeyboardInterrupt:
            # What was graded before is in the page.
            display.show(_report(page, f"{written.path}: interrupted"))
            raise
        except GraderError:
            display.show({"text/plain": f"{written.path}: not graded"})
            raise
        display.show(_report(page, text))


class _Display:
    """One output of a cell, which is shown and then replaced."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._transient = {"display_id": f"grade-{secrets.token_hex(8)}"}
        self._shown = False

    def show(self, data: Mapping[str, str]) -> None:
        """Show the data in place of what is there."""
        self._publisher.publish(data, transient=self._transient, update=self._shown)
        self._shown = True


def _report(page: Path, text: str) -> dict[str, str]:
    """Return the report for the front end: a frame keeps the page's style from the notebook's."""
    if not page.is_file():
        return {"text/plain": text}
    framed = page.read_text(encoding="utf-8").replace("<head>", f"<head>{_BASE}", 1)
    frame = (
        f'<iframe srcdoc="{html.escape(framed)}" sandbox=""'
        f' title="the report" style="width: 100%; height: {_FRAME_PX}px; border: 0;'
        ' resize: vertical; overflow: auto"></iframe>'
    )
    plain = f"<details><summary>as text</summary><pre>{html.escape(text)}</pre></details>"
    return {"text/html": frame + plain, "text/plain": text}


def _written(assignment: Assignment, kernel: str | None, language: str | None, cell: str) -> _Cell:
    """Write the cell to its file. Raises UsageError if the cell cannot be one kernel's file."""
    if not cell.strip():
        raise UsageError("the cell is empty", tip=f"write the kernel below %%{MAGIC}")
    chosen = _kernel(assignment, kernel)
    spoken = _language(chosen, None if language is None else Language(language), cell)
    entry = assignment.of(chosen).signature.entry
    if chosen.name != PROGRAM_NAME and _definitions(entry, spoken, cell) > 1:
        raise UsageError(
            f"the cell has two kernels: it defines `{entry}` more than once",
            tip=f"put each into a cell of its own, with its own %%{MAGIC}",
        )
    path = Path(CELLS) / assignment.name / chosen.files[spoken]
    write_text(path, cell if cell.endswith("\n") else f"{cell}\n", parents=True)
    return _Cell(assignment=assignment, kernel=chosen, language=spoken, path=path)


def _kernel(assignment: Assignment, name: str | None) -> Kernel:
    if name is not None:
        check_kernels([name], [assignment])
        return next(part for part in assignment.parts if part.name == name)
    if len(assignment.kernels) > 1:
        names = [kernel.name for kernel in assignment.kernels]
        raise UsageError(
            f"{assignment.name} has {len(names)} kernels: which one is in the cell?",
            tip=f"as in: %%{MAGIC} {assignment.name} --kernel {names[0]}; all: {', '.join(names)}",
        )
    return assignment.kernels[0]


def _language(kernel: Kernel, wanted: Language | None, cell: str) -> Language:
    """Return the language that was asked for, the kernel's only one, or what the cell looks like.

    Raises UsageError if the kernel has no file in it, or if the cell looks like both or neither.
    """
    if wanted is None and len(kernel.files) == 1:
        return next(iter(kernel.files))
    # One without a row of its own has that of its base.
    own = [one for one in Language if one.base is one or dialect(one) is not dialect(one.base)]
    marks = {one: dialect(one).mark for one in own}
    found = [one for one, mark in marks.items() if mark and re.search(mark, cell, re.MULTILINE)]
    found = [one for one in found if one.base is not one] or found
    if wanted is None and len(found) != 1:
        both, neither = "both CUDA C++ and", "neither CUDA C++ nor"
        raise UsageError(
            f"the cell looks like {both if found else neither} Triton",
            tip="one kernel to a cell; or say which: --language cuda, --language triton",
        )
    language = wanted or found[0]
    if language not in kernel.files:
        raise UsageError(f"{kernel.name} is not written in {language.phrase}")
    return language


def _definitions(entry: str, language: Language, cell: str) -> int:
    """Return how often the cell defines the entry; a cell that does not parse has one."""
    if language.base is Language.CUDA:
        without_comments = re.sub(r"//[^\n]*|/\*.*?\*/", "", cell, flags=re.DOTALL)
        return len(re.findall(rf"\b{re.escape(entry)}\s*\([^;{{}}]*\)\s*\{{", without_comments))
    try:
        body = ast.parse(cell).body
    except (SyntaxError, ValueError):
        return 1
    return sum(isinstance(one, ast.FunctionDef) and one.name == entry for one in body)
