"""An exception that nobody foresaw → a GraderError, so that it spoils one kernel only."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import PurePath

from grader.errors import GraderError
from grader.system import signals


def as_grader_error(error: Exception) -> GraderError:
    """Return the error itself if it is foreseen, else one that says where it happened.

    Students read it, and the text of an exception may quote anything, a hidden
    case too: the place alone is told. An interruption that the exception came
    of goes on as such.
    """
    if isinstance(error, GraderError):
        return error
    signals.check()  # what a signal cut short fails in ways of its own
    if os.environ.get("GRADE_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return GraderError(
        f"an unexpected {type(error).__name__}{place}",
        tip="for staff: set GRADE_DEBUG=1 and report what it prints",
    )
