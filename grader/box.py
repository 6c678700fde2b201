"""A folder for a program that we do not trust, removed whatever it left there.

Folders nested thousands deep end Python's own removal by recursion, and a
folder without permissions stops it: then `rm` does it, after the owner's
rights have been restored.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def box(prefix: str) -> Iterator[Path]:
    """Make a folder for the time of the block."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder and all in it; what cannot be removed stays, without an error."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, str(folder)], check=False, capture_output=True)
