"""`grade leaderboard`: one self-contained page from the reports, under pseudonyms.

Nothing of a student is on it but points and speedups: names are drawn from a
secret of the reports' folder, so that they stay from one run to the next and
nobody can tell from a list of the class whose is whose. The page loads nothing
and runs nothing; its policy forbids both.
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

from grader.errors import GraderError, UsageError
from grader.report.model import write_whole
from grader.report.reader import read_values
from grader.vocabulary import CheckName

_SECRET_FILE = "pseudonyms.key"
_ADJECTIVES = """
amber agile brave brisk calm candid clear clever coral crisp deft eager early fabled fair fleet
fond free fresh gentle glad golden grand green happy hardy hazel humble ivory jolly keen kind
light lively lucid lunar merry mild misty neat noble olive proud quick quiet rapid ready rosy
royal ruby sage silver solar steady still sunny swift tidy true vivid warm wise
"""
_ANIMALS = """
badger bear beaver bison bobcat camel condor crane deer dingo dolphin eagle egret elk falcon
ferret finch fox gecko gibbon goose hare hawk heron ibex iguana jackal jay koala lark lemur lion
llama lynx marten mole moose newt ocelot orca osprey otter owl panda parrot pelican puffin puma
quail rabbit raven robin salmon seal sparrow stork swan tapir tiger toad trout walrus weasel
wolf wombat
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One hand-in. A speedup is None where none was measured."""

    rank: int
    name: str
    score: float
    pending: float
    speedups: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One assignment, the best first."""

    title: str
    max_score: float
    kernels: tuple[str, ...]
    gpus: tuple[str, ...]
    entries: tuple[Entry, ...]


def write_leaderboard(
    folder: Path, output: Path, title: str, names: Path | None, tell: Callable[[str], None]
) -> int:
    """Write the page for all reports in a folder; return how many hand-ins are on it.

    `names`, a CSV of hand-in and pseudonym, replaces the drawn ones; `tell` is
    called with a sentence for each file that is no report. Raises UsageError
    if there is nothing to show, ToolError without jinja2.
    """
    import jinja2  # torch needs it as well; a second's tenth that no other command pays

    boards = read_boards(folder, read_names(names) if names is not None else {}, tell)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader.commands.batch", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    page = environment.get_template("leaderboard.html").render(title=title, boards=boards)
    try:
        write_whole(output, page + "\n")
    except OSError as error:
        raise GraderError(f"cannot write {output}: {error.strerror or error}") from error
    return sum(len(board.entries) for board in boards)


def read_boards(folder: Path, names: Mapping[str, str], tell: Callable[[str], None]) -> list[Board]:
    """Return a board for each assignment with reports in the folder; tell what is no report."""
    root = folder / "reports" if (folder / "reports").is_dir() else folder
    reports: dict[str, dict[str, dict[str, Any]]] = {}
    for path in sorted(root.rglob("*.json")):
        try:
            report = read_values(path)
        except UsageError as error:
            tell(error.message)
            continue
        # What the grader failed in has no points to show.
        if report["score"] is not None and report["handed_in"]:
            reports.setdefault(report["assignment"], {})[path.stem] = report
    if not reports:
        raise UsageError(
            f"there are no reports of hand-ins in {folder}",
            tip="name the folder that `grade batch --out` wrote",
        )
    aliases = _pseudonyms(folder, {name for several in reports.values() for name in several})
    return [_board(several, {**aliases, **names}) for several in reports.values()]


def read_names(path: Path) -> dict[str, str]:
    """Return the pseudonyms that students chose, from a CSV: hand-in, pseudonym."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    for line, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise UsageError(f"{path}:{line}: a line has a hand-in and a pseudonym, not {row}")
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
        before = entries[-1] if entries else None
        tie = before is not None and (before.score, before.speedups) == (score, speedups)
        rank = before.rank if before is not None and tie else place
        entries.append(
            Entry(rank=rank, name=alias, score=score, pending=pending, speedups=speedups)
        )
    some = next(iter(reports.values()))
    machines = (r["environment"].get("gpu") for r in reports.values())
    return Board(
        title=some["title"],
        max_score=some["max_score"],
        kernels=tuple(kernels),
        gpus=tuple(sorted({str(gpu) for gpu in machines if gpu})),
        entries=tuple(entries),
    )


def _speedups(report: dict[str, Any], kernels: Sequence[str]) -> tuple[float | None, ...]:
    found: dict[str, float] = {}
    for kernel in report["kernels"]:
        for check in kernel["checks"] if kernel["counted"] else ():
            speedup = (check["evidence"] or {}).get("speedup")
            if check["check"] == CheckName.PERFORMANCE and speedup is not None:
                found[kernel["name"]] = float(speedup)
    return tuple(found.get(name) for name in kernels)


def _pseudonyms(folder: Path, names: set[str]) -> dict[str, str]:
    """Return a name for each hand-in, no two the same, the same in every run."""
    key = _secret(folder)
    adjectives, animals = _ADJECTIVES.split(), _ANIMALS.split()
    drawn: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        digest = hmac.new(key, name.encode(errors="surrogateescape"), hashlib.sha256).digest()
        number = int.from_bytes(digest[:8], "big")
        adjective = adjectives[number % len(adjectives)]
        animal = animals[number // len(adjectives) % len(animals)]
        alias = f"{adjective} {animal} {10 + digest[8] % 90}"
        if alias in taken:  # one in hundreds of classes
            alias += f"-{digest.hex()[-4:]}"
        taken.add(alias)
        drawn[name] = alias
    return drawn


def _secret(folder: Path) -> bytes:
    path = folder / _SECRET_FILE
    try:
        return bytes.fromhex(json.loads(path.read_text())["key"])
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} holds no key for pseudonyms", tip="remove it: new ones are then drawn"
        ) from error
    key = secrets.token_bytes(16)
    try:
        write_whole(path, json.dumps({"key": key.hex()}) + "\n")
    except OSError as error:
        raise GraderError(f"cannot write {path}: {error.strerror or error}") from error
    return key
