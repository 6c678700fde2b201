"""Merge two reports on one submission: fill in what the first machine could not measure.

The result is the first report, where each pending check is replaced by the same check of the second
report. Checks that both machines judged stay as in the first; different verdicts are listed,
because both machines graded the same submission. Points, verdicts and the language that counts are
computed again from the checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from grader.errors import UsageError
from grader.report.verdict import Verdict, aggregate
from grader.vocabulary import CheckName

Check = dict[str, Any]
# Keys of the environment that must agree, and what different values mean.
_SAME = (
    ("hand_in_hash", "different submissions"),
    ("spec_hash", "different specs"),
    ("public_seed", "different seeds (public_seed)"),
    ("secret_seed", "different seeds (secret_seed)"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The merged report, the number of checks filled in, and a sentence for each difference."""

    report: dict[str, Any]
    filled: int
    differences: tuple[str, ...]


def merge(first: dict[str, Any], second: dict[str, Any], names: str) -> Merged:
    """Return the first report with its pending points filled in from the second.

    `names` names both reports in messages. Raises UsageError if they are not of the same
    submission, spec and seeds, or if the grader failed in either.
    """
    _check_same(first, second, names)
    others = {(k["name"], k["language"]): k for k in second["kernels"]}
    kernels, filled, differences = [], 0, []
    for kernel in first["kernels"]:
        other = others.get((kernel["name"], kernel["language"]))
        if other is None or kernel["language"] is None:
            kernels.append(kernel)
            continue
        checks = _merge_checks(kernel["checks"], other["checks"])
        known = set(map(id, kernel["checks"]))
        filled += sum(id(check) not in known for check in checks)
        differences += list(_differences(kernel, other))
        kernels.append(_rescore(kernel, checks))
    kernels = _mark_counted(kernels)
    counting = [kernel for kernel in kernels if kernel["counted"]]
    environment = {**first["environment"], "filled_in_by": _machine_name(second["environment"])}
    report = {
        **first,
        "verdict": aggregate(Verdict(kernel["verdict"]) for kernel in counting).value,
        "score": _sum(counting, "score"),
        "pending": _sum(counting, "pending"),
        "wall_s": round(first["wall_s"] + (second["wall_s"] if filled else 0.0), 3),
        "environment": environment if filled else first["environment"],
        "kernels": kernels,
    }
    return Merged(report=report, filled=filled, differences=tuple(differences))


def _check_same(first: dict[str, Any], second: dict[str, Any], names: str) -> None:
    if first["assignment"] != second["assignment"]:
        raise UsageError(f"{names}: they are of different assignments")
    for key, difference in _SAME:
        values = [report["environment"].get(key) for report in (first, second)]
        if None in values:
            raise UsageError(
                f"{names}: one report has no `{key}`", tip="grade again with this version"
            )
        if values[0] != values[1]:
            raise UsageError(
                f"{names}: they are of {difference}: {values[0]} and {values[1]}",
                tip="grade the same submission on both machines with the same --seed",
            )
    for report in (first, second):
        checks = (check for kernel in report["kernels"] for check in kernel["checks"])
        if report["score"] is None or any(check["score"] is None for check in checks):
            raise UsageError(f"{names}: the grader failed in one of them", tip="grade it again")


def _merge_checks(first: list[Check], second: list[Check]) -> list[Check]:
    """Return the first report's checks of a kernel, the unmeasured ones replaced."""
    beyond_build = [check for check in first if check["check"] != CheckName.BUILD]
    if all(_open(check) or _skipped(check) for check in beyond_build):
        # Not built or not run here: the second machine's build and rules count as well.
        return second if any(map(_open, first)) and any(map(_measured, second)) else first
    others = _by_check(second)
    merged = []
    for name, entries in _by_check(first).items():
        merged += _fill_in(entries, others.get(name, []))
    correctness = [c for c in merged if c["check"] == CheckName.CORRECTNESS]
    if all(Verdict(check["verdict"]).earns_points for check in correctness):
        # Checks that the first machine skipped after unmeasured cases come from the second.
        measured = {_identity(check): check for check in second if _measured(check)}
        merged = [measured.get(_identity(c), c) if _skipped(c) else c for c in merged]
    return merged


def _fill_in(first: list[Check], second: list[Check]) -> list[Check]:
    """Return the first report's entries for one check, the unmeasured ones replaced."""
    names = {check["name"] for check in second}
    if names != {check["name"] for check in first} and all(map(_open, first)):
        # One open entry with all points stands for several entries of the second report.
        return second if any(map(_measured, second)) else first
    measured = {check["name"]: check for check in second if _measured(check)}
    return [measured.get(check["name"], check) if _open(check) else check for check in first]


def _by_check(checks: list[Check]) -> dict[str, list[Check]]:
    grouped: dict[str, list[Check]] = {}
    for check in checks:
        grouped.setdefault(check["check"], []).append(check)
    return grouped


def _identity(check: Check) -> tuple[str, str]:
    return check["check"], check["name"]


def _open(check: Check) -> bool:
    return bool(check["pending"]) or check["verdict"] == Verdict.NOT_MEASURED.value


def _skipped(check: Check) -> bool:
    return bool(check["verdict"] == Verdict.SKIPPED.value)


def _measured(check: Check) -> bool:
    unknown = (Verdict.NOT_MEASURED.value, Verdict.GRADER_ERROR.value)
    return check["verdict"] not in unknown and not check["pending"]


def _differences(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    measured = {_identity(check): check for check in second["checks"] if _measured(check)}
    for check in filter(_measured, first["checks"]):
        here = Verdict(check["verdict"])
        there = Verdict(measured.get(_identity(check), check)["verdict"])
        if here is not there and here.judged and there.judged:
            phrases = f"{here.phrase} in the first, {there.phrase} in the second"
            yield f"{first['name']}, {check['name']}: {phrases}"


def _rescore(kernel: dict[str, Any], checks: list[Check]) -> dict[str, Any]:
    """Return the kernel with these checks, and with the verdict and points that follow."""
    built = (CheckName.BUILD, Verdict.ACCEPTED.value)
    # A successful build decides the verdict only if nothing else was checked.
    deciding = [c for c in checks if (c["check"], c["verdict"]) != built] or checks
    return {
        **kernel,
        "checks": checks,
        "verdict": aggregate(Verdict(check["verdict"]) for check in deciding).value,
        "score": _sum(checks, "score"),
        "pending": _sum(checks, "pending"),
    }


def _sum(entries: list[dict[str, Any]], key: str) -> float:
    total: float = round(sum(entry[key] for entry in entries), 2)
    return total


def _mark_counted(kernels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the kernels, with the better language of each marked as counted."""
    marked = []
    for _, group in groupby(kernels, key=lambda kernel: kernel["name"]):
        languages = list(group)
        best = max(languages, key=lambda kernel: (kernel["score"], kernel["pending"]))
        marked += [{**kernel, "counted": kernel is best} for kernel in languages]
    return marked


def _machine_name(environment: dict[str, Any]) -> str:
    parts = [str(environment.get("gpu") or environment.get("device") or "unknown")]
    versions = ("driver", "torch", "grader")
    parts += [f"{key} {environment[key]}" for key in versions if environment.get(key)]
    return ", ".join(parts)
