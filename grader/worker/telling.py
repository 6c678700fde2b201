"""What a worker says in words: JSON lines into the report pipe.

The judge reads them as it would a student's own words: clipped, parsed
strictly, able to cost points and never to earn them.
"""

import json
import os
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.worker import wire
else:
    import wire

# A line is written in one piece, so that it is whole or absent.
_LINE_BYTES = 32768


def tell(record: str, **details: object) -> None:
    """Write one line; a closed pipe (a hand-in may close it) is no error."""
    line = json.dumps({"record": record, **details}).encode()[:_LINE_BYTES]
    try:
        os.write(wire.REPORT_FD, line + b"\n")
    except OSError:
        return


def tell_exception(error: BaseException, student_file: str) -> None:
    """Tell an exception with the innermost line of the student's own file."""
    line = None
    if isinstance(error, SyntaxError) and error.filename == student_file:
        line = error.lineno
    else:
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == student_file:
                line = frame.lineno
    # What was raised first is the cause; a framework's wrapper adds little.
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    tell(
        "exception",
        type=type(cause).__name__,
        message=str(cause)[:2000],
        line=line,
        traceback="".join(traceback.format_exception(error))[-8000:],
    )
