"""The judge's handle on the fork server for Python workers (`grader.worker.python_server`)."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grader.errors import ToolError
from grader.gpu.target import course_target
from grader.protocol import launches, programs, wire
from grader.sandbox import spawn
from grader.sandbox.fork_server import request_worker
from grader.sandbox.policy import UNCONFINED
from grader.sandbox.scratch_dir import scratch_folder
from grader.vocabulary import Device, Language

_FORK_S = 30.0  # a fork takes some milliseconds; a submission may have stopped the server
_START_S = 120.0  # importing torch from a cold network file system
# For glibc's heap, in judges as well. Freed memory is kept up to these sizes: else the kernel would
# clear the pages of each array anew.
MMAP_THRESHOLD, TRIM_THRESHOLD = 64 << 20, 256 << 20
# Huge pages: a fork copies an entry for each page, and a server forks often.
_TUNABLES = {"hugetlb": 1, "mmap_threshold": MMAP_THRESHOLD, "trim_threshold": TRIM_THRESHOLD}
_MALLOC = {"GLIBC_TUNABLES": ":".join(f"glibc.malloc.{k}={v}" for k, v in _TUNABLES.items())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to fork a worker for `file` in the folder `cwd`.

    A process that `executes` is the executor of a worker's launches, and runs no submission;
    `host_writes` lets host code compute outputs. `target` is the compute capability for which
    launches are compiled without a GPU. If `launched`, the entry is a kernel, which the worker
    launches. `worker` is the program of the language.
    """

    file: Path
    entry: str
    device: Device
    cwd: Path
    mode: launches.LaunchMode = launches.ONCE_EACH
    executes: bool = False
    host_writes: bool = False
    target: int = field(default_factory=lambda: course_target().capability)
    launched: bool = False
    worker: str = Language.TRITON.worker


class PythonServer:
    """A fork server, which imports torch and triton at once; `ready` waits for it.

    A submission that runs as the judge's user can kill the server; it is then started again.
    Several threads may fork workers.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._forking = threading.Lock()
        self._start()

    def _start(self) -> None:
        with contextlib.ExitStack() as undo:
            folder = undo.enter_context(scratch_folder("grade-server-"))
            self._socket, server_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            undo.callback(self._socket.close)
            self._socket.settimeout(_FORK_S)
            with server_end:
                self._program = spawn.spawn(
                    [sys.executable, "-I", str(programs.PYTHON_SERVER), self._device.value],
                    cwd=folder,
                    environment={**spawn.clean_environment(folder), **_MALLOC},
                    limits=spawn.Limits(),
                    descriptors={3: server_end.fileno()},
                    # It runs no student code; its children confine themselves.
                    layers=UNCONFINED,
                )
            undo.callback(self._program.kill)
            self._versions: dict[str, str] | None = None
            self._undo = undo.pop_all()

    def ready(self) -> dict[str, str]:
        """Wait until the server is ready; return the versions of what it imported.

        Raises ToolError if torch or triton cannot be imported.
        """
        if self._versions is None:
            end = self._program.wait_for(self._socket.fileno(), time.monotonic() + _START_S)
            data = b"" if end else self._socket.recv(4096)
            if not data:
                ended = self._program.finish(end or spawn.End.EXITED)
                last = ended.output.strip().splitlines()[-1:] or ["no output"]
                raise ToolError(
                    f"Python kernels cannot run here: {last[0]}", tip="see `grade doctor`"
                )
            self._versions = json.loads(data)
        assert self._versions is not None
        return self._versions

    def expect(self, worker: str) -> None:
        """Let the server import what a worker's program needs, before the first of them."""
        with self._forking, contextlib.suppress(OSError):  # `fork` finds out that it is gone
            self._socket.send(json.dumps({"expect": worker}).encode())

    def fork(
        self, request: Request, *, channel: int, limits: spawn.Limits, link: int | None = None
    ) -> spawn.Program:
        """Fork a confined worker whose channel is the descriptor `channel`.

        `link` connects a worker and the executor of its launches.

        Raises ToolError if the server died twice.
        """
        with self._forking:
            for _ in range(2):
                self.ready()
                program = self._fork(request, channel, limits, link)
                if program is not None:
                    return program
                self._undo.close()
                self._start()
        raise ToolError("the server process that runs Python kernels was killed twice")

    def _fork(
        self, request: Request, channel: int, limits: spawn.Limits, link: int | None
    ) -> spawn.Program | None:
        """Request a worker from the server; None if it does not answer."""
        confined = limits.confine(request.cwd, gpu=request.device is Device.CUDA)
        output, output_writing = os.pipe2(os.O_CLOEXEC)
        report, report_writing = os.pipe2(os.O_CLOEXEC)
        descriptors = {wire.CHANNEL_FD: channel, wire.REPORT_FD: report_writing}
        if link is not None:
            descriptors[launches.LINK_FD] = link
        parts = {
            **asdict(request),
            "environment": spawn.clean_environment(request.cwd),
            "settings": limits.settings(sorted(descriptors), confined),
        }
        outputs = {1: output_writing, 2: output_writing}
        try:
            forked = request_worker(self._socket, self._answered, parts, {**outputs, **descriptors})
        finally:
            os.close(output_writing)
            os.close(report_writing)
        if forked is not None:
            return spawn.adopt(*forked, output, report, limits, confined)
        confined.end()
        os.close(output)
        os.close(report)
        return None

    def _answered(self) -> bool:
        deadline_s = time.monotonic() + _FORK_S  # of its own time: it may queue
        return self._program.wait_for(self._socket.fileno(), deadline_s) is None

    def close(self) -> None:
        """End the server and remove its folder."""
        self._undo.close()
