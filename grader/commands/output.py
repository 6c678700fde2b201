"""Render a command's result, and write it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.report.model import write_atomically


def write_text(path: Path, text: str, *, tip: str | None = None, parents: bool = False) -> None:
    """Write the file atomically; with `parents`, make its folders first.

    Raises GraderError with this tip if it cannot be stored.
    """
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        raise GraderError(f"cannot write {path}: {error.strerror or error}", tip=tip) from error


def reports_folder(folder: Path) -> Path:
    """Return the folder with the reports: `folder`, or a part of it if `grade batch` wrote it."""
    return folder / "reports" if (folder / "reports").is_dir() else folder


def rendered(package: str, template: str, **values: Any) -> str:
    """Return an HTML or SVG page from a template in the package's folder `pages`."""
    import jinja2  # takes 0.1 s; other commands do without

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package, "pages"),
        autoescape=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(template).render(values) + "\n"
