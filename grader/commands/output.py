"""Write a command's result to a file."""

from __future__ import annotations

from pathlib import Path

from grader.errors import GraderError
from grader.report.model import write_atomically


def write_text(path: Path, text: str, *, tip: str | None = None, parents: bool = False) -> None:
    """Write the file whole or not at all, with `parents` after making its folders.

    Raises GraderError with this tip if it cannot be stored.
    """
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        raise GraderError(f"cannot write {path}: {error.strerror or error}", tip=tip) from error


def reports_folder(folder: Path) -> Path:
    """Return where the reports are in this folder, which may be the output of `grade batch`."""
    return folder / "reports" if (folder / "reports").is_dir() else folder
