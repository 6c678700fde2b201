"""The judge's handle on the fork servers: processes that fork confined workers.

    judge (subreaper)
      ├── program server     starts in 0.1 s; forks all but Python workers (`program_server` below)
      ├── Python server      has imported torch and triton (`grader.judge.python_server`)
      ├── worker             forked by one of them, orphaned to the judge
      ┆

The program server is started by the first program and serves all threads of this process. It ends
with this process, whose end of the channel is then closed. As the judge's children do, it belongs
to the process, and so is module state.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping

from grader.errors import ToolError
from grader.protocol import programs, wire
from grader.sandbox.quick_start import quick_start
from grader.system import process_tree

_ANSWER_S = 60.0  # a fork takes some milliseconds; a submission may have stopped the server


def request_worker(
    channel: socket.socket,
    answered: Callable[[], bool],
    request: Mapping[str, object],
    descriptors: Mapping[int, int],
) -> tuple[int, int] | None:
    """Request a worker; return (pid, pidfd) of a registered child, None if the server is gone.

    `answered` waits for an answer, and returns False if none will come. `descriptors` maps numbers
    in the worker to numbers here.
    """
    message = json.dumps({**request, "targets": list(descriptors)}, default=str)  # of the paths
    try:
        with process_tree.delay_sweeps():
            socket.send_fds(channel, [message.encode()], list(descriptors.values()))
            if not answered():
                return None
            data, pidfds, _, _ = socket.recv_fds(channel, 64, 1)
            if not pidfds:
                return None
            process_tree.register(int(data))
            return int(data), pidfds[0]
    except OSError:
        return None


class _ProgramServer:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._judge = 0  # the process that has started it; a fork of that needs its own
        self._pid = 0
        self._channel: socket.socket | None = None

    def fork(
        self, request: Mapping[str, object], descriptors: Mapping[int, int]
    ) -> tuple[int, int]:
        """Fork a program; see `request_worker`. Raises ToolError if the server died twice."""
        for _ in range(2):
            with self._lock:
                channel = self._running()
                answered = functools.partial(process_tree.readable, channel.fileno(), _ANSWER_S)
                forked = request_worker(channel, answered, request, descriptors)
                if forked is not None:
                    return forked
                self._end(channel)
        raise ToolError("the server process that starts programs was killed twice")

    def ready(self) -> int:
        """Start the server if it does not run; return its pid."""
        with self._lock:
            self._running()
            return self._pid

    def _running(self) -> socket.socket:
        if self._channel is None or self._judge != os.getpid():
            self._channel = self._start()
            self._judge = os.getpid()
        return self._channel

    def _start(self) -> socket.socket:
        process_tree.become_subreaper()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            self._pid = process_tree.start(
                quick_start(programs.PROGRAM_SERVER),
                # The dynamic loader and Python read these when a process starts, not in a fork.
                {
                    name: os.environ[name]
                    for name in ("LANG", "LC_ALL", "LD_LIBRARY_PATH")
                    if name in os.environ
                },
                [(theirs.fileno(), wire.CHANNEL_FD), (null, 1), (null, 2)],
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(null)
        atexit.register(ours.close)
        return ours

    def _end(self, channel: socket.socket) -> None:
        channel.close()
        self._channel = None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        process_tree.reap(self._pid)


_program_server = _ProgramServer()
fork_program = _program_server.fork
ready = _program_server.ready
