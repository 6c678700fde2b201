"""What a student needs below the line of a check: evidence, as lines of a page.

One function for each type of evidence; a new type needs one more here and its
line in `write_details`.
"""

from __future__ import annotations

import math
import re

from grader.evidence import (
    BuildEvidence,
    CaseResult,
    CorrectnessEvidence,
    CountersEvidence,
    Diagnostic,
    Finding,
    MemoryEvidence,
    Mismatch,
    PerformanceEvidence,
    ProgramEvidence,
    Severity,
    ToolRun,
)
from grader.formats.counters import write_counters
from grader.formats.page import Page
from grader.formats.timing import write_timing
from grader.report import CheckResult
from grader.verdict import Verdict

INDENT = 4
MOST_DIAGNOSTICS = 10
MOST_WARNINGS = 3  # of a build that went well
MOST_MISMATCHES = 8
MOST_CASES = 5  # with a line of their own, after the first that fails
MOST_FINDINGS = 10
# How a message says what kind of access it was.
_ACCESS = {
    "read": r"\b(reads?|loads?)\b",
    "write": r"\b(writes?|wrote|written|stores?)\b",
    "atomic": r"\b(atomic|updates?)\b",
}


def write_details(page: Page, check: CheckResult) -> None:
    """Add what is worth reading about the check; nothing if all is well and quiet."""
    if check.hint and check.verdict is not Verdict.ACCEPTED:
        _hint(page, check.hint, indent=INDENT)
    if isinstance(check.evidence, BuildEvidence):
        _build(page, check.evidence, failed=check.verdict is not Verdict.ACCEPTED)
    elif isinstance(check.evidence, CorrectnessEvidence):
        _correctness(page, check.evidence, hint=check.hint)
    elif isinstance(check.evidence, MemoryEvidence):
        _memory(page, check.evidence, check)
    elif isinstance(check.evidence, PerformanceEvidence):
        write_timing(page, check.evidence)
    elif isinstance(check.evidence, CountersEvidence):
        write_counters(page, check.evidence, failed=check.verdict is Verdict.TOO_SLOW)
    elif isinstance(check.evidence, ProgramEvidence) and check.verdict is not Verdict.ACCEPTED:
        _program(page, check.evidence)


def headline(check: CheckResult) -> str:
    """Return what a check's own line says: its message, if the details do not say it again."""
    evidence = check.evidence
    if not isinstance(evidence, MemoryEvidence) or check.verdict is not Verdict.MEMORY_ERROR:
        return check.message
    errors = [found for found in evidence.findings if found.severity == "error"]
    if not errors or errors[0].message not in check.message:
        return check.message
    total = max(evidence.findings_total, len(evidence.findings))
    kinds = dict.fromkeys(_kind(found) for found in errors)
    return f"{total} finding{'s' if total > 1 else ''}: {', '.join(kinds)}"


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
    severity = (f"{found.severity}: ", _style(found.severity))
    page.sentence((f"{place}: ", "bold"), severity, first, indent=INDENT)
    if more:
        page.quote("\n".join(more), indent=INDENT + 2, head=6)


def _style(severity: Severity) -> str:
    return "bold red" if severity == "error" else "bold yellow"


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


def _memory(page: Page, evidence: MemoryEvidence, check: CheckResult) -> None:
    failed = check.verdict is not Verdict.ACCEPTED
    findings = evidence.findings[: MOST_FINDINGS if failed else MOST_WARNINGS]
    hints = {check.hint} if failed else set()
    for found in findings:
        severity = (f"{found.severity}: ", _style(found.severity))
        place = found.file if found.line is None else f"{found.file}:{found.line}"
        what = f"{_kind(found)}: {_found(found)}"
        page.sentence((f"{place}: ", "bold"), severity, what, indent=INDENT, most=4)
        if found.hint and found.hint not in hints:
            _hint(page, found.hint, indent=INDENT + 2)
            hints.add(found.hint)
    left_out = max(evidence.findings_total, len(evidence.findings)) - len(findings)
    if left_out > 0:
        page.sentence(f"and {left_out} more", indent=INDENT)
    _tools_that_could_not(page, evidence.tools, message=check.message)
    if failed:  # else the lines of the correctness check, once more
        _output(page, evidence.output, head=10, tail=5)


def _tools_that_could_not(page: Page, tools: tuple[ToolRun, ...], *, message: str) -> None:
    reasons: dict[str, list[str]] = {}
    for tool in tools:
        if tool.problem is not None and tool.problem != message:
            reasons.setdefault(tool.problem, []).append(tool.tool)
    for reason, names in reasons.items():
        page.sentence((f"not run: {', '.join(names)}: ", "bold"), reason, indent=INDENT, most=3)


def _program(page: Page, evidence: ProgramEvidence) -> None:
    """The runs that went well in a line each; the last one's sentence is the check's own."""
    for number, run in enumerate(evidence.runs, start=1):
        asked = "one element changed" if run.changed else "nothing changed"
        if run.exit_code is not None:
            ended = f"exit code {run.exit_code}"
        else:
            ended = run.verdict.phrase if run.signal is None else f"ended by signal {run.signal}"
        what = f"{asked}: {ended}"
        page.sentence((f"run {number}, ", "bold"), what, indent=INDENT)
    if evidence.runs:
        _output(page, evidence.runs[-1].output, head=4, tail=10)


def _kind(found: Finding) -> str:
    return found.kind.replace("_", " ")


def _found(found: Finding) -> str:
    """Return message, access, buffer, place in the grid and count, nothing twice."""
    # Triton's word for a block.
    block = "program" if found.file.endswith(".py") else "block"
    grid = [
        f"kernel {found.kernel}" if found.kernel is not None else "",
        f"{block} {_xyz(found.block)}" if found.block is not None else "",
        f"thread {_xyz(found.thread)}" if found.thread is not None else "",
    ]
    other_line = f"line {found.other_line}" if found.other_line is not None else ""
    parts = [
        found.message,
        _access(found),
        _buffer(found),
        ", ".join(text for text in grid if _unsaid(found, text)),
        f"the other access is in {other_line}" if _unsaid(found, other_line) else "",
        f"{found.count} times" if found.count > 1 else "",
    ]
    return "; ".join(filter(None, parts))


def _unsaid(found: Finding, text: str) -> str:
    """Return the text, or nothing if the finding's message has it word for word."""
    return "" if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", found.message) else text


def _access(found: Finding) -> str:
    if found.access is None or re.search(_ACCESS[found.access], found.message):
        return ""
    words = {"read": "a read", "write": "a write", "atomic": "an atomic operation"}
    size = "" if found.access_bytes is None else f" of {found.access_bytes} bytes"
    return words[found.access] + size


def _buffer(found: Finding) -> str:
    if found.buffer is None:
        return ""
    name = f"`{found.buffer}`"
    if found.element is None or not _unsaid(found, f"element {found.element} of {name}"):
        return _unsaid(found, name)
    return _unsaid(found, f"{name}[{found.element}]")


def _xyz(value: tuple[int, int, int]) -> str:
    x, y, z = value
    return str(x) if y == z == 0 else f"({x},{y},{z})"
