"""The worker's log: JSON records in the report pipe.

The records are untrusted: the judge clips them, parses them strictly, and lets them cost points but
never earn them.
"""

import json
import os
from typing import Any

from grader.protocol import wire

# A line with two such texts is shorter than a pipe's buffer of 64 KiB.
_MOST_CHARACTERS = 2000
_MOST_FRAMES = 12


def tell(record: str, **details: object) -> None:
    """Write one record; a closed pipe is no error, because a submission can close it."""
    line = json.dumps({"record": record, **details}) + "\n"
    try:
        os.write(wire.REPORT_FD, line.encode())
    except OSError:
        return


def tell_no_gpu(error: BaseException) -> None:
    """Log why the GPU could not be opened."""
    tell("gpu", message=_words(error))


def tell_unusable(error: BaseException) -> None:
    """Log why a package that the worker needs cannot be imported."""
    tell("unusable", message=f"{type(error).__name__}: {_words(error)}")


def tell_exception(error: BaseException, student_file: str) -> None:
    """Log an exception with the innermost line in the student's file.

    The traceback goes to standard error, reduced to the student's own frames.
    """
    chain = [error]
    # The first exception of the chain is the cause; the others are wrappers.
    while chain[-1].__cause__ is not None and len(chain) < _MOST_FRAMES:
        chain.append(chain[-1].__cause__)
    cause = chain[-1]
    line, function = None, None
    if isinstance(cause, SyntaxError) and cause.filename == student_file:
        line = cause.lineno
    for link in reversed(chain):
        frames = _own_frames(link, student_file)
        if frames and line is None:
            line, function = frames[-1].lineno, frames[-1].name
    # Triton's compiler wraps whatever was raised in it.
    kinds = [link for link in chain if hasattr(link, "node") and hasattr(link, "src")]
    kind, message = type([cause, *kinds][-1]).__name__, _words(cause)
    for link in chain:
        words = getattr(link, "grader_words", None)  # of an error of Triton's compiler
        if words is not None:
            kind, message, line = words[0], words[1][:_MOST_CHARACTERS], words[2]
    tell(
        "exception",
        type=kind[:_MOST_CHARACTERS],
        message=message,
        line=line,
        function=function,
        **_missing_module(cause),
    )
    _print_traceback(chain, cause, student_file)


def _own_frames(error: BaseException, student_file: str) -> list[Any]:
    import traceback  # which most workers never need

    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if frame.filename == student_file]


def _words(error: BaseException) -> str:
    try:
        return str(error)[:_MOST_CHARACTERS]
    except Exception:  # `__str__` of a submission's own class may fail
        return ""


def _missing_module(error: BaseException) -> dict[str, object]:
    if isinstance(error, ModuleNotFoundError) and isinstance(error.name, str):
        return {"module": error.name[:_MOST_CHARACTERS]}
    return {}


def _print_traceback(chain: list[BaseException], cause: BaseException, student_file: str) -> None:
    """Print the student's own frames, outermost first, as Python would."""
    frames = [frame for link in chain for frame in _own_frames(link, student_file)]
    name = student_file.rpartition("/")[2]
    lines = [f"Traceback of {name} (most recent call last):\n"] if frames else []
    if len(frames) > _MOST_FRAMES:
        lines.append(f"  … {len(frames) - _MOST_FRAMES} more …\n")
    for frame in frames[-_MOST_FRAMES:]:
        lines.append(f'  File "{name}", line {frame.lineno}, in {frame.name}\n')
        lines.append(f"    {frame.line}\n" if frame.line else "")
    lines.append(f"{type(cause).__name__}: {_words(cause)}\n")
    try:
        os.write(2, "".join(lines).encode(errors="replace"))
    except OSError:
        return  # closed by the submission
