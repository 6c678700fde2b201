"""What a student needs below the line of a check: evidence, as lines of a page.

One function for each type of evidence; a new type needs one more here and its
line in `write_details`.
"""

from __future__ import annotations

import math

from grader.evidence import BuildEvidence, CaseResult, CorrectnessEvidence, Diagnostic, Mismatch
from grader.formats.page import Page
from grader.report import CheckResult
from grader.verdict import Verdict

INDENT = 4
MOST_DIAGNOSTICS = 10
MOST_WARNINGS = 3  # of a build that went well
MOST_MISMATCHES = 8
MOST_CASES = 5  # with a line of their own, after the first that fails


def write_details(page: Page, check: CheckResult) -> None:
    """Add what is worth reading about the check; nothing if all is well and quiet."""
    if check.hint and check.verdict is not Verdict.ACCEPTED:
        _hint(page, check.hint, indent=INDENT)
    if isinstance(check.evidence, BuildEvidence):
        _build(page, check.evidence, failed=check.verdict is not Verdict.ACCEPTED)
    elif isinstance(check.evidence, CorrectnessEvidence):
        _correctness(page, check.evidence, hint=check.hint)


def summary_of_hidden(check: CheckResult) -> str:
    """Return what may be said of hidden cases: how many, verdicts, and size of the error.

    Messages, sizes and output stay out, for each could tell the input.
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
            parts.append(f"{verdict.phrase} in {len(cases)}{size}")
    if left_out := evidence.cases_total - len(evidence.cases):
        parts.append(f"{left_out} not run")
    return "; ".join(parts)


def _hint(page: Page, hint: str, *, indent: int) -> None:
    page.sentence(("hint: ", "bold"), hint, indent=indent, hanging=6)


def _output(page: Page, output: str, *, head: int, tail: int) -> None:
    if output.strip():
        page.sentence("what your code printed:", indent=INDENT)
        page.quote(output, indent=INDENT, head=head, tail=tail)


def _build(page: Page, evidence: BuildEvidence, *, failed: bool) -> None:
    # The first error is the one to mend; warnings must not push it off the screen.
    diagnostics = sorted(evidence.diagnostics, key=lambda found: found.severity != "error")
    most = MOST_DIAGNOSTICS if failed else MOST_WARNINGS
    for diagnostic in diagnostics[:most]:
        _diagnostic(page, diagnostic)
    left_out = max(evidence.diagnostics_total, len(diagnostics)) - len(diagnostics[:most])
    if left_out > 0:
        page.sentence(f"and {left_out} more", indent=INDENT)
    if failed and evidence.output.strip():
        lines = len(evidence.output.splitlines())
        if diagnostics:
            page.sentence(f"(build log: {lines} lines, in the JSON report)", indent=INDENT)
        else:
            page.sentence("build log:", indent=INDENT)
            page.quote(evidence.output, indent=INDENT, head=10, tail=5)


def _diagnostic(page: Page, found: Diagnostic) -> None:
    numbers = (found.line, found.column) if found.line is not None else ()
    place = ":".join([found.file, *(str(number) for number in numbers if number is not None)])
    first, *more = found.message.strip("\r\n").splitlines() or [""]
    style = "bold red" if found.severity == "error" else "bold yellow"
    page.sentence((f"{place}: ", "bold"), (f"{found.severity}: ", style), first, indent=INDENT)
    if more:
        page.quote("\n".join(more), indent=INDENT + 2, head=6)


def _correctness(page: Page, evidence: CorrectnessEvidence, *, hint: str) -> None:
    failed = [case for case in evidence.cases if case.verdict is not Verdict.ACCEPTED]
    for number, case in enumerate(failed[: 1 + MOST_CASES]):
        page.sentence((f"{_label(case)}: ", "bold"), _what_happened(case), indent=INDENT, most=4)
        if number == 0:
            if case.hint and case.hint != hint:
                _hint(page, case.hint, indent=INDENT + 2)
            _mismatches(page, case)
    if left_out := failed[1 + MOST_CASES :]:
        names = ", ".join(map(_label, left_out))
        page.sentence(f"and {len(left_out)} more: {names}", indent=INDENT, most=2)
    if failed and (not_run := evidence.cases_total - len(evidence.cases)):
        page.sentence(f"{not_run} cases not run", indent=INDENT)
    head, tail = (10, 5) if failed else (4, 2)
    _output(page, evidence.output, head=head, tail=tail)


def _label(case: CaseResult) -> str:
    sizes = ", ".join(f"{name}={value}" for name, value in case.sizes.items())
    return case.name if not sizes or sizes == case.name else f"{case.name} ({sizes})"


def _what_happened(case: CaseResult) -> str:
    """Return message, count, pattern and error, nothing twice."""
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
