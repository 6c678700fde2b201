"""Start worker programs that need the standard library only, from their byte code."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import py_compile
import sys
from pathlib import Path

from grader.protocol import programs


def quick_start(program: Path, *arguments: str) -> list[str]:
    """Return the command that starts one of `programs`."""
    _write_byte_code()
    return [sys.executable, "-I", "-S", str(programs.START), str(program), *arguments]


@functools.cache
def _write_byte_code() -> None:
    """Write the byte code of the programs' modules, where it is missing or old.

    Programs do not write it themselves. Does nothing where this user may not write it: then they
    start more slowly.
    """
    for folder in (programs.START.parent, Path(programs.__file__).parent):
        for source in folder.glob("*.py"):
            code = Path(importlib.util.cache_from_source(str(source)))
            with contextlib.suppress(OSError):
                if not code.exists() or code.stat().st_mtime < source.stat().st_mtime:
                    py_compile.compile(str(source))
                    code.chmod(0o644)  # other users run programs, too
