"""The output folder of a batch: what it holds is all that a second run needs to know.

    OUT/batch.json                      the seed that hidden cases are drawn from
    OUT/reports/ASSIGNMENT/NAME.json    a report, whole from the moment it has its name
    OUT/failed/ASSIGNMENT/NAME.json     what is known of a hand-in that could not be graded
    OUT/summary.json                    the class in figures, after each run
    OUT/.lock                           held by the one batch that writes here

A report says itself what it was made from, so nothing is noted anywhere else,
and a run that was killed leaves nothing behind that has to be mended.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.commands.batch.job import Answer, Key, Outcome
from grader.errors import GraderError, UsageError
from grader.report.model import write_whole
from grader.report.reader import read_values
from grader.report.verdict import Verdict

_FORMAT = 1
# JSON readers keep 53 bits of a number.
_SEED_BITS = 48
_MOST_SEED = 2**63 - 1


class Store:
    """The folder, which belongs to this process while the store is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def report_path(self, assignment: str, name: str) -> Path:
        """Return where the report of a hand-in is, or will be."""
        return self.folder / "reports" / assignment / f"{name}.json"

    def failure_path(self, assignment: str, name: str) -> Path:
        """Return where it is noted that a hand-in could not be graded."""
        return self.folder / "failed" / assignment / f"{name}.json"

    def report(self, assignment: str, name: str) -> dict[str, Any] | None:
        """Return the report that is there, None if there is none that can be read."""
        try:
            return read_values(self.report_path(assignment, name))
        except UsageError:
            return None

    def is_current(self, assignment: str, name: str, key: Key) -> bool:
        """True if the report that is there is the one that would be made."""
        report = self.report(assignment, name)
        if report is None or report["filtered"] or report["verdict"] == Verdict.GRADER_ERROR.value:
            return False
        environment = report["environment"]
        return all(environment.get(name) == value for name, value in asdict(key).items())

    def failure(self, assignment: str, name: str) -> str:
        """Return why the hand-in could not be graded, empty if it could."""
        try:
            found = json.loads(self.failure_path(assignment, name).read_text(encoding="utf-8"))
            return str(found["problem"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def keep(self, assignment: str, name: str, answer: Answer) -> None:
        """Put an answer in its place. Raises GraderError if there is no room for it."""
        report = self.report_path(assignment, name)
        failure = self.failure_path(assignment, name)
        if answer.outcome is Outcome.GRADED:
            self.write(report, answer.text)
            failure.unlink(missing_ok=True)
            return
        note = {"outcome": answer.outcome.value, "problem": answer.problem}
        self.write(failure, json.dumps(note, indent=2, ensure_ascii=False) + "\n")
        # An older report is of an older hand-in or spec: nobody may take it for this one's.
        report.unlink(missing_ok=True)

    def write(self, path: Path, text: str) -> None:
        """Write a file whole, or not at all."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        except OSError as error:
            raise GraderError(
                f"cannot write {path}: {error.strerror or error}",
                tip="make room, then give the same command again: what is graded stays graded",
            ) from error

    def secret_seed(self, asked: int | None) -> int:
        """Return the seed of this folder's reports; the first run decides."""
        path = self.folder / "batch.json"
        kept = _kept_seed(path)
        if kept is None:
            kept = secrets.randbits(_SEED_BITS) if asked is None else asked
            self.write(path, json.dumps({"format": _FORMAT, "secret_seed": kept}, indent=2) + "\n")
        elif asked not in (None, kept):
            raise UsageError(
                f"the reports in {self.folder} are drawn from the seed {kept}, not {asked}",
                tip="name another folder with --out: one class is graded on the same cases",
            )
        return kept


def holds_reports(folder: Path) -> bool:
    """True for an output folder, of whatever run."""
    return (folder / "batch.json").is_file() and (folder / "reports").is_dir()


def _kept_seed(path: Path) -> int | None:
    """Return the seed in batch.json, None if there is no such file."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))["secret_seed"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        kept = None
    if type(kept) is int and 0 <= kept <= _MOST_SEED:
        return kept
    raise UsageError(
        f"{path}: it does not hold the `secret_seed` of the reports, a number from 0 to 2**63 - 1",
        tip="remove it and give --seed: the `secret_seed` that the reports tell",
    )


@contextlib.contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Open the folder, made if need be, for this process alone.

    Raises UsageError if another batch has it, and GraderError if it cannot be made.
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
