"""What a process keeps between two gradings: the server that Python hand-ins are forked from."""

from __future__ import annotations

import tempfile
from pathlib import Path

from grader.assignment.model import Assignment
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.judge.python_server import PythonServer
from grader.report.model import Report
from grader.submission.reader import Submission
from grader.vocabulary import Device


class WorkerState:
    """Grades one hand-in after another; end it with `close`.

    A server costs a second and a half, and holds nothing of a hand-in: workers
    are forked from it and confined before they touch one.
    """

    def __init__(self) -> None:
        self._servers: dict[Device, PythonServer] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def grade(self, assignment: Assignment, submission: Submission, options: Options) -> Report:
        """Grade with the server that is ready; a broken one is not used again."""
        server = None
        if any(path.endswith(".py") for path in submission.files):
            server = self._servers.get(options.device)
            if server is None:
                server = self._servers[options.device] = PythonServer(options.device)
        try:
            return grade(assignment, submission, options, Progress(), server)
        except BaseException:
            self.renew()
            raise

    @property
    def folder(self) -> Path:
        """A folder for what is of use to more than one grading; nothing of a hand-in's."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="grade-hands-")
        return Path(self._folder.name)

    def close(self) -> None:
        """End the servers and remove the folder."""
        self.renew()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def renew(self) -> None:
        """End the servers; the next hand-in gets a new one."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()
