"""`grade local` in a process of its own, for a notebook and for pytest.

A grading becomes the parent of what a submission leaves behind, kills it, and handles signals: it
needs a process that nothing else lives in. The new process has the same Python and the same
grader. It ends when this process does; if the caller is interrupted, it is interrupted too, and
writes the report of what has been graded.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import grader
from grader.errors import GraderError

_SETTINGS = {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
# With one of these, rich takes a file for a terminal; a notebook's kernel sets the first.
_TERMINALS = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
_PROGRAM = """
import sys
root, parent = sys.argv[1:3]
del sys.argv[1:3]
sys.path[0] = root
from grader.system.process_tree import end_with_parent
end_with_parent(int(parent))
from grader.__main__ import main
main()
"""
# How a command begins to say what is wrong; before it are the lines of its progress.
_PROBLEMS = ("error:", "Error:", "Usage:")


def run_local(arguments: Sequence[str | Path], on_progress: Callable[[str], None]) -> str:
    """Run `grade local` with these arguments, and return the report as text.

    `on_progress` gets each line of its progress. Raises GraderError with the command's own
    sentences if it graded nothing.
    """
    root = str(Path(grader.__file__).resolve().parent.parent)
    words = ["local", *map(str, arguments), "--log"]
    inherited = {name: value for name, value in os.environ.items() if name not in _TERMINALS}
    environment = {**inherited, **_SETTINGS}
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, root, str(os.getpid()), *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            env=environment,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # only the line below sends a signal, and only one
        ) as process,
    ):
        try:
            problems = _read(process, on_progress)
            process.wait()
        except BaseException:  # Ctrl-C, a test's timeout: they are not Exceptions
            process.send_signal(signal.SIGINT)
            process.communicate()
            raise
        output.seek(0)
        text = output.read()
    if problems or not text:
        raise _failure(problems, process.returncode)
    return text


def _read(process: subprocess.Popen[str], on_progress: Callable[[str], None]) -> list[str]:
    """Pass progress on until standard error ends; return the lines that are something else."""
    problems: list[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        if problems or line.startswith(_PROBLEMS):
            problems.append(line.rstrip())
        else:
            on_progress(line.rstrip())
    return problems


def _failure(problems: Sequence[str], exit_code: int) -> GraderError:
    text = "\n".join(problems).strip()
    if "Error:" in text and text.startswith("Usage:"):
        text = text.partition("Error:")[2].strip()  # click's usage line names another command
    message, _, tip = text.removeprefix("error:").strip().partition("\n  tip: ")
    return GraderError(message or f"the grading ended with exit code {exit_code}", tip=tip or None)
