"""Write a command's result to a file."""

from __future__ import annotations

from pathlib import Path

from grader.errors import GraderError
from grader.report.model import write_atomically


def write_text(path: Path, text: str, *, tip: str | None = None, parents: bool = False) -> None:
    """Write the file atomically; with `parents`, make its folders first.

    Raises GraderError with this tip if it cannot be stored.
    """
    write_bytes(path, text.encode(), tip=tip, parents=parents)


def write_bytes(
    path: Path, content: bytes, *, tip: str | None = None, parents: bool = False
) -> None:
    """Write the file as `write_text` does."""
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise GraderError(f"cannot write {path}: {error.strerror or error}", tip=tip) from error


def reports_folder(folder: Path) -> Path:
    """Return the folder with the reports: `folder`, or a part of it if `grade batch` wrote it."""
    return folder / "reports" if (folder / "reports").is_dir() else folder
