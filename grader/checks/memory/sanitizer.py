"""compute-sanitizer: its command line and the files that it writes.

One tool is one run:

    memcheck    accesses outside allocations, misaligned ones, failing API
                calls, leaks
    racecheck   hazards in shared memory; it does not see global memory
    initcheck   reads of uninitialized global memory
    synccheck   barriers that not all threads reach
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from grader.checks.memory.sanitizer_xml import Locate, ReportError, ToolReport, parse
from grader.system.toolchain import Tool

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOUND = 86  # our choice of exit code for "there were errors"
_FILE = "findings.xml"
_LOG = "sanitizer.log"
_LOG_BYTES = 1 << 16
_LONGEST_LINE = 200
_MOST_BYTES = 32 << 20
# Padding between allocations, so that an overrun by the width of a block is found, too.
_PADDING_BYTES = 1 << 16
# A driver makes the queues of contexts one process after another. With a single one 16
# processes open an H200 in 1.3 s, not 3.2; a tool finds the same whichever kernels overlap.
_ONE_QUEUE = ("/usr/bin/env", "CUDA_DEVICE_MAX_CONNECTIONS=1")
# Records of one run: more add nothing, and a thousand take 0.8 s (initcheck on an H200).
_MOST_RECORDS = 500


def calls(tool: str) -> int:
    """Return how often to call each case: a leak shows in the second call."""
    return 2 if tool == "memcheck" else 1


def tool_command(sanitizer: Tool, tool: str, *, leaks: bool) -> tuple[str, ...]:
    """Return how to run a program under one of `TOOLS`; `leaks` makes memcheck look for leaks."""
    command = [*_ONE_QUEUE, str(sanitizer.path), "--tool", tool, "--xml", "--save", _FILE]
    command += ["--error-exitcode", str(FOUND), "--print-limit", str(_MOST_RECORDS)]
    # Keeps the tool's own messages out of the submission's output.
    command += ["--log-file", _LOG]
    if tool == "memcheck":
        command += ["--padding", str(_PADDING_BYTES)]
        if leaks:
            command += ["--leak-check", "full"]
    return tuple(command)


def read_report(
    folder: Path, tool: str, file: str, copy: str, locate: Locate, headers: Collection[str] = ()
) -> ToolReport:
    """Return the report in a run's folder; an empty report if there is none.

    `headers` are those that `file` includes. `copy` is the name of the student's library or file in
    that folder, and `locate` finds the lines of return addresses in it. Raises ReportError if the
    report is not XML or is incomplete.
    """
    xml = _read(folder / _FILE, _MOST_BYTES + 1)
    if xml is None:
        return ToolReport()
    if len(xml) > _MOST_BYTES:
        raise ReportError("its report is larger than 32 MiB")
    return parse(xml, tool, file, copy, locate, headers)


def last_log_line(folder: Path) -> str:
    """Return the last line of the tool's own log, "" if there is none.

    The submission can write to the log, too: the line is shown as a reason and decides nothing.
    """
    text = (_read(folder / _LOG, _LOG_BYTES) or b"").decode("utf-8", "replace")
    lines = [line.lstrip("=").strip() for line in text.splitlines()]
    lines = [line for line in lines if line and line != "COMPUTE-SANITIZER"]
    # The first error is the cause of those that follow.
    errors = [line for line in lines if line.startswith("Error")]
    return ([*errors[:1], *lines[-1:], ""])[0][:_LONGEST_LINE]


def _read(path: Path, most: int) -> bytes | None:
    """Return the start of a file, None if it is not regular: the submission owns the folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(most)
