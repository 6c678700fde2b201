"""Merge two reports on one submission: fill in what the first machine could not measure.

The result is the first report, where each pending check is replaced by the same check of the second
report. Checks that both machines judged stay as in the first; different verdicts are listed,
because both machines graded the same submission. Points, verdicts and the language that counts are
computed again from the checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from grader.errors import UsageError
from grader.grading import score
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName

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

    report: Report
    filled: int
    differences: tuple[str, ...]


def merge(first: Report, second: Report, names: str) -> Merged:
    """Return the first report with its pending points filled in from the second.

    `names` names both reports in messages. Raises UsageError if they are not of the same
    submission, spec and seeds, or if the grader failed in either.
    """
    _check_same(first, second, names)
    others = {(kernel.name, kernel.language): kernel for kernel in second.kernels}
    kernels, filled, differences = [], 0, []
    for kernel in first.kernels:
        other = others.get((kernel.name, kernel.language))
        if other is not None and kernel.language is not None:
            checks = _merge_checks(kernel.checks, other.checks)
            known = set(map(id, kernel.checks))
            filled += sum(id(check) not in known for check in checks)
            differences += list(_differences(kernel, other))
            kernel = score.with_checks(kernel, checks)
        kernels.append(kernel)
    by_name = groupby(kernels, key=lambda kernel: kernel.name)
    kernels = [one for _, group in by_name for one in score.mark_counted(list(group))]
    counted = [kernel for kernel in kernels if kernel.counted]
    report = replace(
        first,
        verdict=score.overall(counted),
        score=score.total(kernel.score for kernel in counted),
        pending=score.pending(counted),
        kernels=tuple(kernels),
    )
    if filled:
        report = replace(
            report,
            wall_s=round(first.wall_s + second.wall_s, 3),
            environment={**first.environment, "filled_in_by": _machine_name(second)},
        )
    return Merged(report=report, filled=filled, differences=tuple(differences))


def _check_same(first: Report, second: Report, names: str) -> None:
    if first.assignment != second.assignment:
        raise UsageError(f"{names}: they are of different assignments")
    for key, difference in _SAME:
        values = [report.environment.get(key) for report in (first, second)]
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
        checks = (check for kernel in report.kernels for check in kernel.checks)
        if report.score is None or any(check.score is None for check in checks):
            raise UsageError(f"{names}: the grader failed in one of them", tip="grade it again")


def _merge_checks(
    first: Sequence[CheckResult], second: Sequence[CheckResult]
) -> Sequence[CheckResult]:
    """Return the first report's checks of a kernel, the unmeasured ones replaced."""
    beyond_build = [line for line in first if line.check != CheckName.BUILD]
    if all(_open(line) or line.verdict is Verdict.SKIPPED for line in beyond_build):
        # Not built or not run here: the second machine's build and rules count as well.
        return second if any(map(_open, first)) and any(map(_measured, second)) else first
    merged: list[CheckResult] = []
    for check in dict.fromkeys(line.check for line in first):
        here, there = ([line for line in lines if line.check == check] for lines in (first, second))
        merged += _fill_in(here, there)
    correctness = [line for line in merged if line.check == CheckName.CORRECTNESS]
    if all(line.verdict.earns_points for line in correctness):
        # Checks that the first machine skipped after unmeasured cases come from the second.
        measured = {_identity(line): line for line in second if _measured(line)}
        merged = [
            measured.get(_identity(line), line) if line.verdict is Verdict.SKIPPED else line
            for line in merged
        ]
    return merged


def _fill_in(first: Sequence[CheckResult], second: Sequence[CheckResult]) -> Sequence[CheckResult]:
    """Return the first report's entries for one check, the unmeasured ones replaced."""
    names = {check.name for check in second}
    if names != {check.name for check in first} and all(map(_open, first)):
        # One open entry with all points stands for several entries of the second report.
        return second if any(map(_measured, second)) else first
    measured = {check.name: check for check in second if _measured(check)}
    return [measured.get(check.name, check) if _open(check) else check for check in first]


def _identity(line: CheckResult) -> tuple[CheckName, str]:
    return line.check, line.name


def _open(line: CheckResult) -> bool:
    return bool(line.pending) or line.verdict.pending


def _measured(line: CheckResult) -> bool:
    return not _open(line) and line.verdict is not Verdict.GRADER_ERROR


def _differences(first: KernelResult, second: KernelResult) -> Iterator[str]:
    measured = {_identity(line): line for line in second.checks if _measured(line)}
    for line in filter(_measured, first.checks):
        here, there = line.verdict, measured.get(_identity(line), line).verdict
        if here is not there and here.judged and there.judged:
            phrases = f"{here.phrase} in the first, {there.phrase} in the second"
            yield f"{first.name}, {line.name}: {phrases}"


def _machine_name(report: Report) -> str:
    environment = report.environment
    parts = [str(environment.get("gpu") or environment.get("device") or "unknown")]
    versions = ("driver", "torch", "grader")
    parts += [f"{key} {environment[key]}" for key in versions if environment.get(key)]
    return ", ".join(parts)
