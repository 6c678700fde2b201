"""The output folder of a batch.

    OUT/batch.json                      the seed that hidden cases are drawn from
    OUT/reports/ASSIGNMENT/NAME.json    a report, complete as soon as it has its name
    OUT/failed/ASSIGNMENT/NAME.json     why a submission could not be graded
    OUT/summary.json                    the class in figures, after each run
    OUT/index.html                      the same as a page for staff (`class_page`)
    OUT/pages/ASSIGNMENT/NAME.html      a report as a page for the student
    OUT/.lock                           held by the one batch that writes here

The reports are the only state. Each report holds the hashes of what it was made from,
so that a later run can tell whether it is current. A killed run leaves nothing to repair.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.commands.batch.job import Answer, Outcome
from grader.commands.output import write_text
from grader.errors import GraderError, UsageError
from grader.report.reader import read_values
from grader.report.verdict import Verdict

_FORMAT = 1
_SEED_BITS = 48  # JSON readers keep 53 bits of a number
_MOST_SEED = 2**63 - 1


class Store:
    """The folder; only this process writes to it while the store is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def report_path(self, assignment: str, name: str) -> Path:
        """Return the path of a submission's report."""
        return self.folder / "reports" / assignment / f"{name}.json"

    def _failure_path(self, assignment: str, name: str) -> Path:
        return self.folder / "failed" / assignment / f"{name}.json"

    def report(self, assignment: str, name: str) -> dict[str, Any] | None:
        """Return a submission's report; None if there is no valid one."""
        try:
            return read_values(self.report_path(assignment, name))
        except UsageError:
            return None

    def failure(self, assignment: str, name: str) -> str:
        """Return why the submission could not be graded, "" if it could."""
        try:
            note = json.loads(self._failure_path(assignment, name).read_text(encoding="utf-8"))
            return str(note["problem"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def graded(self, assignment: str, name: str) -> dict[str, Any] | None:
        """Return the report of the last run; None if that run could not grade the submission."""
        return None if self.failure(assignment, name) else self.report(assignment, name)

    def is_current(self, assignment: str, name: str, key: Mapping[str, object]) -> bool:
        """True if there is a complete report with this key (`report_key`)."""
        report = self.report(assignment, name)
        if report is None or report["filtered"] or report["verdict"] == Verdict.GRADER_ERROR.value:
            return False
        environment = report["environment"]
        return all(environment.get(name) == value for name, value in key.items())

    def keep(self, assignment: str, name: str, answer: Answer) -> None:
        """Write an answer as a report or as a failure. Raises GraderError on a full disk."""
        report = self.report_path(assignment, name)
        failure = self._failure_path(assignment, name)
        if answer.outcome is Outcome.GRADED:
            self.write(report, answer.text)
            failure.unlink(missing_ok=True)
            return
        note = {"outcome": answer.outcome.value, "problem": answer.problem}
        self.write(failure, json.dumps(note, indent=2, ensure_ascii=False) + "\n")
        # An older report is about an older submission or spec.
        report.unlink(missing_ok=True)

    def write(self, path: Path, text: str) -> None:
        """Write a file of the folder atomically. Raises GraderError."""
        tip = "make room, then run the same command again: finished reports are kept"
        write_text(path, text, tip=tip, parents=True)

    def secret_seed(self, wanted: int | None) -> int:
        """Return the seed of this folder's reports, which the first run sets.

        Raises UsageError if `wanted` is another seed.
        """
        path = self.folder / "batch.json"
        kept = _kept_seed(path)
        if kept is None:
            kept = secrets.randbits(_SEED_BITS) if wanted is None else wanted
            self.write(path, json.dumps({"format": _FORMAT, "secret_seed": kept}, indent=2) + "\n")
        elif wanted not in (None, kept):
            raise UsageError(
                f"the cases of the reports in {self.folder} are drawn from the seed {kept}, "
                f"not {wanted}",
                tip="name another folder with --out: one class is graded on the same cases",
            )
        return kept


def holds_reports(folder: Path) -> bool:
    """True for the output folder of any batch."""
    return (folder / "batch.json").is_file() and (folder / "reports").is_dir()


def _kept_seed(path: Path) -> int | None:
    """Return the seed in batch.json; None if there is no such file. Raises UsageError."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))["secret_seed"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        kept = None
    if type(kept) is int and 0 <= kept <= _MOST_SEED:
        return kept
    raise UsageError(
        f"{path}: `secret_seed` is missing or is no integer from 0 to 2**63 - 1",
        tip="remove the file, and give --seed with the `secret_seed` of the reports",
    )


@contextlib.contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Make the folder if necessary, and lock it for this process.

    Raises UsageError if another batch has it open, GraderError if it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise GraderError(f"cannot write in {folder}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another `grade batch` is writing in {folder}",
                tip="wait until it has ended, or name another folder with --out",
            ) from None
        yield Store(folder)
    finally:
        os.close(descriptor)
