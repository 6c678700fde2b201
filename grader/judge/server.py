"""The judge's handle on the process that workers for Python hand-ins are forked from."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader import family, sandbox
from grader.errors import ToolError
from grader.words import Device
from grader.worker import python_server

_START_S = 120.0  # importing torch from a cold network file system


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the server is asked to fork: a worker for `file` in the folder `cwd`.

    `checks` are the arguments of `triton_checks.install`, None for none of it.
    """

    file: Path
    entry: str
    device: Device
    cwd: Path
    checks: Mapping[str, int | bool] | None = None


class PythonServer:
    """Starts importing torch and triton at once; `ready` waits for it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._scratch = tempfile.TemporaryDirectory(prefix="grade-server-")
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._versions: dict[str, str] | None = None
        folder = Path(self._scratch.name)
        self._program = sandbox.spawn(
            [sys.executable, "-I", python_server.__file__, device.value],
            cwd=folder,
            environment=sandbox.clean_environment(folder),
            limits=sandbox.Limits(),
            descriptors={3: theirs.fileno()},
        )
        theirs.close()

    def ready(self) -> dict[str, str]:
        """Wait until it is prepared; return the versions of what it imported.

        Raises ToolError if torch or triton cannot be imported.
        """
        if self._versions is None:
            end = self._program.wait_for(self._socket.fileno(), time.monotonic() + _START_S)
            data = b"" if end else self._socket.recv(4096)
            if not data:
                ended = self._program.finish(end or sandbox.End.EXITED)
                last = ended.output.strip().splitlines()[-1:] or ["no output"]
                raise ToolError(
                    f"Python kernels cannot run here: {last[0]}", tip="see `grade doctor`"
                )
            self._versions = json.loads(data)
        assert self._versions is not None
        return self._versions

    def fork(self, request: Request, *, channel: int, limits: sandbox.Limits) -> sandbox.Program:
        """Fork a confined worker whose channel is the descriptor `channel`."""
        self.ready()
        output, output_theirs = os.pipe2(os.O_CLOEXEC)
        report, report_theirs = os.pipe2(os.O_CLOEXEC)
        message = json.dumps(
            {
                "file": str(request.file),
                "entry": request.entry,
                "device": request.device.value,
                "checks": None if request.checks is None else dict(request.checks),
                "environment": sandbox.clean_environment(request.cwd),
                "settings": limits.settings(request.cwd, (3, 4)),
            }
        )
        try:
            with family.hold():
                socket.send_fds(
                    self._socket, [message.encode()], [channel, report_theirs, output_theirs]
                )
                data, descriptors, _, _ = socket.recv_fds(self._socket, 64, 1)
                if not descriptors:
                    raise ToolError("the server for Python kernels died")
                return sandbox.adopt(int(data), descriptors[0], output, report, limits)
        finally:
            os.close(output_theirs)
            os.close(report_theirs)

    def close(self) -> None:
        """End the server."""
        self._program.kill()
        self._socket.close()
        self._scratch.cleanup()
