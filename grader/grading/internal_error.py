"""Turn an unexpected exception into a GraderError, which affects one kernel only."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from pathlib import Path, PurePath

from grader.errors import GraderError
from grader.sandbox.scratch_dir import free_bytes
from grader.system import signals
from grader.system.cache import CACHE_DIR_VARIABLE, cache_root

_TIGHT = 256 << 20  # bytes free on a disk, of which a grading may need more


def as_grader_error(error: Exception) -> GraderError:
    """Return a GraderError itself, and for another exception one that names type and place.

    Students read the message, so it leaves out the exception's text, which may quote a hidden case.
    A full disk, or quota, is named: a student's own home is often the one.
    Raises the interruption if a signal caused the exception.
    """
    if isinstance(error, GraderError):
        return error
    signals.check()  # interrupted code may fail with any exception
    if os.environ.get("GRADE_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _disk_full()
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    # The system's word for it, such as "Too many open files", quotes nothing.
    reason = f" ({os.strerror(error.errno)})" if isinstance(error, OSError) and error.errno else ""
    return GraderError(
        f"an unexpected {type(error).__name__}{place}{reason}",
        tip="for staff: set GRADE_DEBUG=1 and report what it prints",
    )


def _disk_full() -> GraderError:
    """Return the error for a disk without space: of the folders in use, those that are tight.

    What failed to be written may be removed by now, and no exception tells of a quota.
    """
    folders = {"TMPDIR": Path(tempfile.gettempdir()), CACHE_DIR_VARIABLE: cache_root()}
    tight = {name: folder for name, folder in folders.items() if free_bytes(folder) < _TIGHT}
    named = tight or folders
    return GraderError(
        f"no space is left in {' or '.join(map(str, named.values()))}",
        tip=f"free some there, or set {' or '.join(named)} to a folder on another disk",
    )
