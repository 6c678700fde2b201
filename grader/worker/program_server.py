"""Starts untrusted programs, confined: the fork server for all but Python submissions.

    python -I -S start.py program_server.py

A request's `command` is executed. If it is a worker program of this package, as `quick_start` makes
it, the worker runs in the forked process: Python would take longer to start than many workers run.
"""

import contextlib
import os
import socket
import sys

from grader.protocol import wire
from grader.worker import forking, start

_PYTHON = [sys.executable, "-I", "-S", start.FILE]


def main() -> None:
    """Fork programs until the judge closes the channel."""
    os.setsid()  # Ctrl-C at the terminal is for the judge
    os.closerange(wire.CHANNEL_FD + 1, 65536)  # what the judge has from its own parent
    forking.serve(socket.socket(fileno=wire.CHANNEL_FD), _prepare, _work)


def _work(request: forking.Request) -> None:
    command = request["command"]
    if _is_worker(command):
        forking.name_process(command[len(_PYTHON)])
        start.run(command[len(_PYTHON) :])
        return
    try:
        os.execve(command[0], command, os.environ)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(127)


def _is_worker(command: list[str]) -> bool:
    return command[: len(_PYTHON)] == _PYTHON


def _prepare(request: forking.Request) -> bool:
    """Import a worker's program here, once, and not in each worker."""
    if _is_worker(request["command"]):
        with contextlib.suppress(Exception):  # it says so itself
            start.load(request["command"][len(_PYTHON)])
    return True
