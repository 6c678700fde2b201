"""The cases of a correctness check, as lines of a page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from grader.formats.deduplication import INDENT, Deduplicator
from grader.formats.page import Page
from grader.report.evidence import CaseResult, CorrectnessEvidence, Mismatch
from grader.report.model import CheckResult
from grader.report.verdict import Verdict
from grader.text.numbers import without_numbers
from grader.text.sizes import case_text

MOST_MISMATCHES = 8
MOST_CASES = 5  # with a line of their own, after the first that fails


def tally(evidence: CorrectnessEvidence, check: CheckResult) -> str:
    """Return how many cases are right, or the check's message if it does not describe a case."""
    failed = _failed(evidence)
    if not any(what and what in check.message for case in failed for what in _told(case)):
        return check.message
    right = sum(case.verdict is Verdict.ACCEPTED for case in evidence.cases)
    return f"{right} of {evidence.cases_total} cases right"


def _told(case: CaseResult) -> tuple[str, ...]:
    return case.message, case.pattern or ""


def write_cases(
    page: Page, evidence: CorrectnessEvidence, deduplicator: Deduplicator, check: CheckResult
) -> None:
    """Add a line for each failed case; the first one has hint and mismatches below it.

    The smallest case of those that the check's message describes comes first, then all others by
    size. Cases that fail alike share a line.
    """
    failed = sorted(
        _failed(evidence),
        key=lambda case: (case.pattern is None or case.pattern not in check.message, case.elements),
    )
    skipped = [case for case in evidence.cases if case.verdict is Verdict.SKIPPED]
    alike = list(_group_alike(failed))
    for number, cases in enumerate(alike[: 1 + MOST_CASES]):
        alone = _what_happened(cases[0]) != _what_happened(cases[-1])
        names = _names(cases[:1] if alone else cases)
        what = _what_happened(cases[0])
        if deduplicator.has_lead:
            what = _without_lead(what, cases[0], check.message)
        if alone:
            what += f"; likewise {_names(cases[1:])}"
        page.sentence((f"{names}: ", "bold"), what, indent=INDENT, most=4)
        if number == 0:
            if not check.hint:
                deduplicator.hint(cases[0].hint, indent=INDENT + 2)
            _mismatches(page, cases[0])
    if left_out := [case for cases in alike[1 + MOST_CASES :] for case in cases]:
        names = ", ".join(map(_label, left_out))
        page.sentence(f"and {len(left_out)} more: {names}", indent=INDENT, most=2)
    if skipped:
        why = "".join(f" {reason}" for reason in dict.fromkeys(case.message for case in skipped))
        page.sentence(f"{_number(len(skipped), other=bool(failed))}{why}", indent=INDENT)
    if failed and (not_run := evidence.cases_total - len(evidence.cases)):
        page.sentence(f"{_number(not_run, other=True)} not run", indent=INDENT)
    head, tail = (10, 5) if failed else (4, 2)
    deduplicator.output(evidence.output, head=head, tail=tail)


def _without_lead(what: str, case: CaseResult, lead: str) -> str:
    """Return what happened without what the block's first sentence says already."""
    if case.pattern:
        return what.replace(f": {case.pattern}", "", 1) if case.pattern in lead else what
    said = not case.mismatched and case.message and lead.startswith(case.message)
    return what.removesuffix(f", {case.message}") if said else what


def _names(cases: Sequence[CaseResult]) -> str:
    names = ", ".join(map(_label, cases[: 1 + MOST_CASES]))
    more = len(cases[1 + MOST_CASES :])
    return f"{names} and {more} more" if more else names


def _failed(evidence: CorrectnessEvidence) -> list[CaseResult]:
    well = (Verdict.ACCEPTED, Verdict.SKIPPED)
    return [case for case in evidence.cases if case.verdict not in well]


def _number(cases: int, *, other: bool) -> str:
    return f"{cases} {'other ' if other else ''}case{'s' if cases > 1 else ''}"


def _group_alike(failed: list[CaseResult]) -> Iterable[list[CaseResult]]:
    """Return groups of cases that share one description but for numbers, in order."""
    groups: dict[object, list[CaseResult]] = {}
    for case in failed:
        if case.pattern:
            # What follows a semicolon is evidence, such as what was launched.
            alike = without_numbers(case.pattern.partition("; ")[0])
        else:
            alike = "" if case.mismatched else _what_happened(case)
        groups.setdefault((case.verdict, alike), []).append(case)
    return groups.values()


def summary_of_hidden(check: CheckResult) -> str:
    """Return what a student may know about hidden cases: number, verdicts, largest error.

    Also the titles of wrong ones, where the spec shows them. Messages, sizes and output are left
    out because they could reveal the input.
    """
    evidence = check.evidence
    if not isinstance(evidence, CorrectnessEvidence):
        return ""
    right = sum(case.verdict is Verdict.ACCEPTED for case in evidence.cases)
    parts = [f"{right} of {evidence.cases_total} hidden cases accepted"]
    for verdict in Verdict:
        cases = [case for case in evidence.cases if case.verdict is verdict]
        if cases and verdict is not Verdict.ACCEPTED:
            errors = [case.max_error for case in cases if case.max_error is not None]
            size = f" (largest error {max(errors):.3g})" if errors else ""
            titles = dict.fromkeys(case.title for case in cases if case.title and case.title_shown)
            named = f": {', '.join(titles)}" if titles else ""
            parts.append(f"{verdict.phrase} in {len(cases)}{size}{named}")
    if left_out := evidence.cases_total - len(evidence.cases):
        parts.append(f"{left_out} not run")
    return "; ".join(parts)


def _label(case: CaseResult) -> str:
    return case_text(case.name, case.sizes, case.title)


def _what_happened(case: CaseResult) -> str:
    """Return verdict, message, count, pattern and error, without repetition."""
    parts = [f"{case.verdict.phrase}, {case.message}" if case.message else case.verdict.phrase]
    count = f"{case.mismatched} of {case.elements}"
    if case.mismatched and count not in case.message:
        parts.append(f"{count} elements are wrong")
    if case.pattern and case.pattern not in case.message:
        parts.append(case.pattern)
    if case.mismatched and case.max_error is not None:
        parts.append(f"largest error {case.max_error:.3g}")
    return "; ".join(parts)


def _mismatches(page: Page, case: CaseResult) -> None:
    if case.mismatches:
        header = ("element", "expected", "actual", "allowed")
        rows = [_mismatch(found) for found in case.mismatches[:MOST_MISMATCHES]]
        page.table(header, rows, indent=INDENT + 2)


def _mismatch(found: Mismatch) -> tuple[str, ...]:
    index = ", ".join(map(str, found.index))
    expected, actual = f"{found.expected:.7g}", f"{found.actual:.7g}"
    if expected == actual and not math.isnan(found.expected):
        expected, actual = repr(found.expected), repr(found.actual)
    return f"{found.output}[{index}]", expected, actual, f"{found.allowed:.3g}"
