"""Turn an unexpected exception into a GraderError, which affects one kernel only."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import PurePath

from grader.errors import GraderError
from grader.system import signals


def as_grader_error(error: Exception) -> GraderError:
    """Return a GraderError itself, and for another exception one that names type and place.

    Students read the message, so it leaves out the exception's text, which may quote a hidden case.
    Raises the interruption if a signal caused the exception.
    """
    if isinstance(error, GraderError):
        return error
    signals.check()  # interrupted code may fail with any exception
    if os.environ.get("GRADE_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return GraderError(
        f"an unexpected {type(error).__name__}{place}",
        tip="for staff: set GRADE_DEBUG=1 and report what it prints",
    )
