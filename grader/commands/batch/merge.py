"""`grade merge`: the points that one machine left pending, filled in from another's report.

Of two reports on one hand-in the first is the result and the second only fills
in what the first could not measure, check by check and whole: verdict, points,
message, evidence. What both judged stays as the first has it; where they differ
that is told, for the two machines saw the same work. Points, verdicts and the
language that counts follow anew from the checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.errors import GraderError, UsageError
from grader.report.model import json_text, write_whole
from grader.report.reader import read_values
from grader.report.verdict import Verdict, aggregate
from grader.vocabulary import CheckName

EXIT_REFUSED = 1
# What must be the same, and what it is to a reader.
_SAME = (
    ("hand_in_hash", "different hand-ins"),
    ("spec_hash", "different specs"),
    ("public_seed", "different seeds (public_seed)"),
    ("secret_seed", "different seeds (secret_seed)"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The one report, and a sentence for each check that the two judged differently."""

    report: dict[str, Any]
    filled: int
    differences: tuple[str, ...]


def run_merge(first: Path, second: Path, output: Path | None) -> int:
    """Merge two reports, or two folders of them by path; return the exit code."""
    if first.is_dir() != second.is_dir():
        raise UsageError(
            f"{first} and {second}: one is a folder", tip="name two reports or two folders"
        )
    tell = Console(stderr=True, soft_wrap=True, highlight=False)
    if not first.is_dir():
        merged = merge(read_values(first), read_values(second), f"{first} and {second}")
        _tell(merged, first.name, tell)
        text = _text(merged.report)
        if output is None:
            print(text, end="")
        else:
            _write(output, text)
        return 0
    if output is None:
        raise UsageError("two folders are merged into a third", tip="name it with --output")
    return _merge_folders(first, second, output, tell)


def _merge_folders(first: Path, second: Path, output: Path, tell: Console) -> int:
    """Merge what has the same path; name each report that is not merged, and say why."""
    ours, theirs = _paths(first), _paths(second)
    if not ours:
        raise UsageError(f"there are no reports in {first}")
    written = refused = left_out = 0
    for path in sorted(ours | theirs):
        try:
            if path not in ours:
                raise UsageError(
                    f"{path}: only in {second}, so there is no report for it to fill in"
                )
            report = read_values(first / path)
        except UsageError as error:
            left_out += 1
            tell.print(f"{error.message}: it is not in {output}", markup=False)
            continue
        if path not in theirs:
            tell.print(f"{path}: not in {second}; it stays as it is", markup=False)
        else:
            try:
                merged = merge(report, read_values(second / path), str(path))
            except UsageError as error:
                refused += 1
                tell.print(f"{error.message}: {first / path} stays as it is", markup=False)
            else:
                _tell(merged, str(path), tell)
                report = merged.report
        _write(output / path, _text(report))
        written += 1
    counts = f"{written} reports in {output}, {refused} of them refused"
    if left_out:
        counts += f"; {left_out} left out: grade them again, or remove them, and merge again"
    tell.print(counts, markup=False)
    return EXIT_REFUSED if refused or left_out else 0


def _paths(folder: Path) -> set[Path]:
    """Return the paths of the reports in a folder, which may be the output of a batch."""
    root = folder / "reports" if (folder / "reports").is_dir() else folder
    # A link that leads nowhere is no folder: it is told when it is read.
    return {path.relative_to(folder) for path in root.rglob("*.json") if not path.is_dir()}


def merge(first: dict[str, Any], second: dict[str, Any], what: str) -> Merged:
    """Return the first report with its pending points filled in from the second.

    `what` names the two in messages. Raises UsageError if they are not of one
    hand-in, spec and seed, or if the grader failed in either.
    """
    _check_same(first, second, what)
    others = {(k["name"], k["language"]): k for k in second["kernels"]}
    kernels, filled, differences = [], 0, []
    for kernel in first["kernels"]:
        other = others.get((kernel["name"], kernel["language"]))
        if other is None or kernel["language"] is None:
            kernels.append(kernel)
            continue
        checks = _checks(kernel["checks"], other["checks"])
        known = set(map(id, kernel["checks"]))
        filled += sum(id(check) not in known for check in checks)
        differences += list(_differences(kernel, other))
        kernels.append(_kernel({**kernel, "checks": checks}))
    kernels = _counted(kernels)
    counting = [kernel for kernel in kernels if kernel["counted"]]
    environment = {**first["environment"], "filled_in_by": _machine(second["environment"])}
    report = {
        **first,
        "verdict": aggregate(Verdict(kernel["verdict"]) for kernel in counting).value,
        "score": round(sum(kernel["score"] for kernel in counting), 2),
        "pending": round(sum(kernel["pending"] for kernel in counting), 2),
        "wall_s": round(first["wall_s"] + (second["wall_s"] if filled else 0.0), 3),
        "environment": environment if filled else first["environment"],
        "kernels": kernels,
    }
    return Merged(report=report, filled=filled, differences=tuple(differences))


def _check_same(first: dict[str, Any], second: dict[str, Any], what: str) -> None:
    if first["assignment"] != second["assignment"]:
        raise UsageError(f"{what}: they are of different assignments")
    for key, difference in _SAME:
        values = [report["environment"].get(key) for report in (first, second)]
        if None in values:
            raise UsageError(
                f"{what}: one does not tell its `{key}`", tip="grade it anew with this version"
            )
        if values[0] != values[1]:
            raise UsageError(
                f"{what}: they are of {difference}: {values[0]} and {values[1]}",
                tip="grade the same hand-in on both machines with the same --seed",
            )
    for report in (first, second):
        checks = (check for kernel in report["kernels"] for check in kernel["checks"])
        if report["score"] is None or any(check["score"] is None for check in checks):
            raise UsageError(f"{what}: in one of them the grader failed", tip="grade it again")


def _checks(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return our checks, those that were not measured replaced by theirs."""
    judged = [check for check in ours if check["check"] != CheckName.BUILD]
    if all(_open(check) or check["verdict"] == Verdict.SKIPPED.value for check in judged):
        # Not even built, or not run: their build and the rules they held it to count as well.
        if any(map(_open, ours)) and any(map(_measured, theirs)):
            return theirs
        return ours
    others = _by_check(theirs)
    merged = []
    for name, several in _by_check(ours).items():
        merged += _filled(several, others.get(name, []))
    correctness = [c for c in merged if c["check"] == CheckName.CORRECTNESS]
    if all(Verdict(check["verdict"]).earns_points for check in correctness):
        # What waited for cases that were not measured here has been judged there.
        named = {(check["check"], check["name"]): check for check in theirs}
        for index, check in enumerate(merged):
            other = named.get((check["check"], check["name"]))
            waited = check["verdict"] == Verdict.SKIPPED.value
            if waited and other is not None and _measured(other):
                merged[index] = other
    return merged


def _filled(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return our entries for one check, those that were not measured replaced by theirs."""
    others = {check["name"]: check for check in theirs}
    if others.keys() != {check["name"] for check in ours} and all(map(_open, ours)):
        # One entry stood for all that there would have been, with the points of all.
        return theirs if any(map(_measured, theirs)) else ours
    return [
        others[check["name"]]
        if _open(check) and check["name"] in others and _measured(others[check["name"]])
        else check
        for check in ours
    ]


def _by_check(checks: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for check in checks:
        found.setdefault(check["check"], []).append(check)
    return found


def _open(check: dict[str, Any]) -> bool:
    return bool(check["pending"]) or check["verdict"] == Verdict.NOT_MEASURED.value


def _measured(check: dict[str, Any]) -> bool:
    unknown = (Verdict.NOT_MEASURED.value, Verdict.GRADER_ERROR.value)
    return check["verdict"] not in unknown and not check["pending"]


def _differences(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    others = {(check["check"], check["name"]): check for check in second["checks"]}
    for check in first["checks"]:
        other = others.get((check["check"], check["name"]))
        if other is None or not (_measured(check) and _measured(other)):
            continue
        verdicts = Verdict(check["verdict"]), Verdict(other["verdict"])
        if verdicts[0] is not verdicts[1] and all(verdict.judged for verdict in verdicts):
            phrases = f"{verdicts[0].phrase} in the first, {verdicts[1].phrase} in the second"
            yield f"{first['name']}, {check['name']}: {phrases}"


def _kernel(kernel: dict[str, Any]) -> dict[str, Any]:
    """Return the kernel with verdict and points of its checks, by the rules of `score`."""
    checks = kernel["checks"]
    built = (CheckName.BUILD, Verdict.ACCEPTED.value)
    telling = [c for c in checks if (c["check"], c["verdict"]) != built] or checks
    return {
        **kernel,
        "verdict": aggregate(Verdict(check["verdict"]) for check in telling).value,
        "score": round(sum(check["score"] for check in checks), 2),
        "pending": round(sum(check["pending"] for check in checks), 2),
    }


def _counted(kernels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the kernels with the better language of each marked."""
    marked = []
    for _, several in groupby(kernels, key=lambda kernel: kernel["name"]):
        entries = list(several)
        best = max(entries, key=lambda kernel: (kernel["score"], kernel["pending"]))
        marked += [{**kernel, "counted": kernel is best} for kernel in entries]
    return marked


def _machine(environment: dict[str, Any]) -> str:
    named = [("driver", "driver"), ("torch", "torch"), ("grader", "grader")]
    parts = [str(environment.get("gpu") or environment.get("device") or "unknown")]
    parts += [f"{word} {environment[key]}" for key, word in named if environment.get(key)]
    return ", ".join(parts)


def _tell(merged: Merged, name: str, tell: Console) -> None:
    if not merged.filled:
        tell.print(f"{name}: nothing was pending that the second report knows", markup=False)
    for difference in merged.differences:
        tell.print(f"{name}: the reports differ: {difference}", markup=False)


def _text(report: dict[str, Any]) -> str:
    return json_text(report)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise GraderError(f"cannot write {path}: {error.strerror or error}") from error
