"""`grade leaderboard`: one self-contained page from the reports, under pseudonyms.

The page shows only points and speedups. Pseudonyms are derived from a secret in
the reports' folder: they stay the same from run to run, and nobody can derive them
from a list of the class. The page loads nothing and runs nothing; its content
security policy forbids both.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.commands.output import reports_folder, write_text
from grader.errors import UsageError
from grader.formats.html.environment import environment
from grader.report.reader import read_values
from grader.vocabulary import CheckName

_SECRET_FILE = "pseudonyms.key"
_WORDS = Path(__file__).with_name("pages") / "pseudonyms.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One submission; a speedup is None if none was measured."""

    rank: int
    name: str
    score: float
    pending: float
    speedups: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One assignment; the best entry comes first."""

    title: str
    max_score: float
    kernels: tuple[str, ...]
    gpus: tuple[str, ...]
    entries: tuple[Entry, ...]


def write_leaderboard(
    folder: Path, output: Path, title: str, names: Path | None, on_problem: Callable[[str], None]
) -> int:
    """Write the page for all reports in a folder; return how many submissions are on it.

    `names`, a CSV of submission and pseudonym, replaces derived pseudonyms;
    `on_problem` is called with a sentence for each file that is not a report.
    Raises UsageError if there is nothing to show.
    """
    boards = read_boards(folder, read_names(names) if names is not None else {}, on_problem)
    template = environment("grader.commands.batch").get_template("leaderboard.html")
    page = template.render(title=title, boards=boards)
    write_text(output, page + "\n")
    return sum(len(board.entries) for board in boards)


def read_boards(
    folder: Path, names: Mapping[str, str], on_problem: Callable[[str], None]
) -> list[Board]:
    """Return a board for each assignment; call `on_problem` for each file that is not a report."""
    reports: dict[str, dict[str, dict[str, Any]]] = {}
    for path in sorted(reports_folder(folder).rglob("*.json")):
        try:
            report = read_values(path)
        except UsageError as error:
            on_problem(error.message)
            continue
        # There are no points to show if the grader failed.
        if report["score"] is not None and report["handed_in"]:
            reports.setdefault(report["assignment"], {})[path.stem] = report
    if not reports:
        raise UsageError(
            f"there are no reports of submissions in {folder}",
            tip="name the folder that `grade batch --out` wrote",
        )
    aliases = _pseudonyms(folder, {name for by_name in reports.values() for name in by_name})
    return [_board(by_name, {**aliases, **names}) for by_name in reports.values()]


def read_names(path: Path) -> dict[str, str]:
    """Return the pseudonyms that students chose, by submission. Raises UsageError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    for line, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise UsageError(
                f"{path}:{line}: expected a submission and a pseudonym, not {','.join(row)}"
            )
    return {row[0]: row[1] for row in rows}


def _board(reports: Mapping[str, dict[str, Any]], aliases: Mapping[str, str]) -> Board:
    kernels = list(
        dict.fromkeys(
            kernel["name"]
            for report in reports.values()
            for kernel in report["kernels"]
            if any(check["check"] == CheckName.PERFORMANCE for check in kernel["checks"])
        )
    )
    rows = [
        (report["score"], report["pending"], _speedups(report, kernels), aliases[name])
        for name, report in reports.items()
    ]
    rows.sort(key=lambda row: (-row[0], [-(speed or 0.0) for speed in row[2]], row[3]))
    entries: list[Entry] = []
    for place, (score, pending, speedups, alias) in enumerate(rows, start=1):
        tied = entries and (entries[-1].score, entries[-1].speedups) == (score, speedups)
        rank = entries[-1].rank if tied else place
        entries.append(
            Entry(rank=rank, name=alias, score=score, pending=pending, speedups=speedups)
        )
    first = next(iter(reports.values()))
    gpus = {report["environment"].get("gpu") for report in reports.values()}
    return Board(
        title=first["title"],
        max_score=first["max_score"],
        kernels=tuple(kernels),
        gpus=tuple(sorted(str(gpu) for gpu in gpus if gpu)),
        entries=tuple(entries),
    )


def _speedups(report: dict[str, Any], kernels: Sequence[str]) -> tuple[float | None, ...]:
    speedups: dict[str, float] = {}
    for kernel in report["kernels"]:
        for check in kernel["checks"] if kernel["counted"] else ():
            speedup = (check["evidence"] or {}).get("speedup")
            if check["check"] == CheckName.PERFORMANCE and speedup is not None:
                speedups[kernel["name"]] = float(speedup)
    return tuple(map(speedups.get, kernels))


def _pseudonyms(folder: Path, names: set[str]) -> dict[str, str]:
    """Return a unique pseudonym for each submission, the same in every run."""
    key = _secret(folder)
    words = json.loads(_WORDS.read_text(encoding="utf-8"))
    adjectives, animals = words["adjectives"].split(), words["animals"].split()
    submissions: dict[str, str] = {}  # by pseudonym
    for name in sorted(names):
        digest = hmac.new(key, name.encode(errors="surrogateescape"), hashlib.sha256).digest()
        number = int.from_bytes(digest[:8], "big")
        adjective = adjectives[number % len(adjectives)]
        animal = animals[number // len(adjectives) % len(animals)]
        alias = f"{adjective} {animal} {10 + digest[8] % 90}"
        if alias in submissions:  # rare
            alias += f"-{digest.hex()[-4:]}"
        submissions[alias] = name
    return {name: alias for alias, name in submissions.items()}


def _secret(folder: Path) -> bytes:
    path = folder / _SECRET_FILE
    try:
        return bytes.fromhex(json.loads(path.read_text())["key"])
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} has no key for pseudonyms", tip="remove the file to get new pseudonyms"
        ) from error
    key = secrets.token_bytes(16)
    write_text(path, json.dumps({"key": key.hex()}) + "\n")
    return key
