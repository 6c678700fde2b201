"""What a pool worker keeps between gradings: Python servers and a folder."""

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
    """Grades one submission after another, on so many cores; end it with `close`.

    A Python server takes a second and a half to start, so it is reused. It never
    reads a submission: the workers that it forks are confined before they do.
    """

    def __init__(self, cores: int = 1) -> None:
        self._cores = cores
        self._servers: dict[Device, PythonServer] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def grade(self, assignment: Assignment, submission: Submission, options: Options) -> Report:
        """Grade, with the device's server if there are Python files; renew it after an error."""
        server = None
        if any(path.endswith(".py") for path in submission.files):
            server = self._servers.get(options.device)
            if server is None:
                server = self._servers[options.device] = PythonServer(options.device)
        try:
            return grade(assignment, submission, options, Progress(), server, cores=self._cores)
        except BaseException:
            self.renew()
            raise

    @property
    def folder(self) -> Path:
        """A folder for files that several gradings need; no submission can write to it."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="grade-worker-")
        return Path(self._folder.name)

    def renew(self) -> None:
        """End the servers; the next submission gets a new one."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    def close(self) -> None:
        """End the servers and remove the folder."""
        self.renew()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
