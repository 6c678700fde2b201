"""One Python server for all gradings of a test process: it imports torch and triton."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from grader.commands import local
from grader.grading import context
from grader.judge.python_server import PythonServer
from grader.pool import state
from grader.vocabulary import Device

_SERVERS: dict[Device, PythonServer] = {}
_TEMPORARY = tempfile.gettempdir()


class SharedServer(PythonServer):
    """The server of this process for a device, which outlives those who ask for one.

    A test of this or another process can kill it.
    """

    def __init__(self, device: Device) -> None:
        if device in _SERVERS:
            self.__dict__ = _SERVERS[device].__dict__
            self.close()
        if device not in _SERVERS:
            super().__init__(device)
            _SERVERS[device] = self

    def _start(self) -> None:
        """Start it outside a folder in which a test looks for what is left."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", _TEMPORARY)
            super()._start()

    def close(self) -> None:
        """Keep the server for the next submission, unless it was killed."""
        server = psutil.Process(self._program.pid)
        # A server that waits for work sleeps; a killed one is awake until it is dead.
        while (status := server.status()) not in (psutil.STATUS_SLEEPING, psutil.STATUS_ZOMBIE):
            time.sleep(0.005)
        if status == psutil.STATUS_ZOMBIE:
            super().close()
            del _SERVERS[self._device]


@contextmanager
def shared_servers() -> Iterator[None]:
    """Let all gradings in the block share their servers, which end with it."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (context, local, state):
            patch.setattr(module, "PythonServer", SharedServer)
        yield
    for server in _SERVERS.values():
        PythonServer.close(server)
    _SERVERS.clear()
