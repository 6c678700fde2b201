"""The evidence of a check, as lines below the check's own line.

There is one function for each type of evidence that ships with the grader. A registered check
returns its own lines (`Check.lines`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from grader.checks.registry import named
from grader.formats.case_lines import tally, write_cases
from grader.formats.counter_lines import write_counters
from grader.formats.deduplication import INDENT, Deduplicator
from grader.formats.page import Page
from grader.formats.timing_lines import write_timing
from grader.report.evidence import (
    BuildEvidence,
    CorrectnessEvidence,
    CountersEvidence,
    Diagnostic,
    Finding,
    MemoryEvidence,
    PerformanceEvidence,
    ProgramEvidence,
    Severity,
    ToolRun,
)
from grader.report.model import CheckResult
from grader.report.verdict import Verdict
from grader.text.numbers import grid_index, points

MOST_DIAGNOSTICS = 10
MOST_WARNINGS = 3  # if the check is accepted
MOST_FINDINGS = 10
_SUPPOSED = "may be used uninitialized"
# A message that matches names the kind of access already.
_ACCESS = {
    "read": r"\b(reads?|loads?)\b",
    "write": r"\b(writes?|wrote|written|stores?)\b",
    "atomic": r"\b(atomic|updates?)\b",
}


def points_text(check: CheckResult) -> str:
    """Return the points of a check's line; "" if the check has none."""
    if check.max_score == 0:
        return ""
    if check.score is None:
        return "no score"
    if check.pending == check.max_score:
        return f"{points(check.pending)} pending"
    won = f"{points(check.score)} / {points(check.max_score)}"
    return f"{won} ({points(check.pending)} pending)" if check.pending else won


def write_details(page: Page, check: CheckResult, deduplicator: Deduplicator | None = None) -> None:
    """Add hint, findings, tables and output of the check; nothing if there are none.

    `deduplicator` drops hints and output that the page already shows for the same kernel.
    """
    deduplicator = deduplicator or Deduplicator(page)
    explained = deduplicator.has_lead and check.verdict.judged
    if check.verdict is not Verdict.ACCEPTED and not explained:
        deduplicator.hint(check.hint, indent=INDENT)
    if isinstance(check.evidence, BuildEvidence):
        _build(page, check.evidence, check, deduplicator)
    elif isinstance(check.evidence, CorrectnessEvidence):
        write_cases(page, check.evidence, deduplicator, check)
    elif isinstance(check.evidence, MemoryEvidence):
        _memory(page, check.evidence, check, deduplicator)
    elif isinstance(check.evidence, PerformanceEvidence):
        write_timing(page, check.evidence)
    elif isinstance(check.evidence, CountersEvidence):
        write_counters(page, check.evidence, failed=check.verdict is Verdict.TOO_SLOW)
    elif isinstance(check.evidence, ProgramEvidence):
        if check.verdict is not Verdict.ACCEPTED:
            _program(page, check.evidence, deduplicator)
    elif check.evidence is not None:
        for line in named(check.check).lines(check.evidence):
            page.sentence(line, indent=INDENT)


def headline(check: CheckResult) -> str:
    """Return the text of the check's line: its message, or a summary if the details repeat it."""
    evidence = check.evidence
    if isinstance(evidence, CorrectnessEvidence):
        return tally(evidence, check)
    if isinstance(evidence, BuildEvidence) and check.verdict is Verdict.COMPILE_ERROR:
        return _errors(evidence, check)
    if not isinstance(evidence, MemoryEvidence) or check.verdict is not Verdict.MEMORY_ERROR:
        return check.message
    errors = [found for found in evidence.findings if found.severity == "error"]
    if not errors or errors[0].message not in check.message:
        return check.message
    total = max(evidence.findings_total, len(evidence.findings))
    kinds = dict.fromkeys(_kind(found) for found in errors)
    return f"{total} finding{'s' if total > 1 else ''}: {', '.join(kinds)}"


def _errors(evidence: BuildEvidence, check: CheckResult) -> str:
    """Return how many errors a compiler found, or the check's message if it is none of them."""
    errors = [found for found in evidence.diagnostics if found.severity == "error"]
    if not errors or errors[0].message not in check.message:
        return check.message
    return "1 error" if len(errors) == 1 else f"{len(errors)} errors"


def _build(
    page: Page, evidence: BuildEvidence, check: CheckResult, deduplicator: Deduplicator
) -> None:
    failed = check.verdict is not Verdict.ACCEPTED
    perhaps = 0
    if not failed and not deduplicator.has_lead:
        # The compiler only supposes these: they matter where something failed.
        found = [one for one in evidence.diagnostics if _SUPPOSED not in one.message]
        perhaps = len(evidence.diagnostics) - len(found)
        evidence = replace(evidence, diagnostics=tuple(found))
    # The first error is the one to fix: show errors before warnings.
    diagnostics = sorted(evidence.diagnostics, key=lambda found: found.severity != "error")
    most = MOST_DIAGNOSTICS if failed else MOST_WARNINGS
    for diagnostic in diagnostics[:most]:
        if deduplicator.has(diagnostic):
            continue
        write_diagnostic(page, diagnostic, indent=INDENT)
    total = max(evidence.diagnostics_total - perhaps, len(diagnostics))
    if left_out := total - len(diagnostics[:most]):
        page.sentence(f"and {left_out} more", indent=INDENT)
    if failed and evidence.output.strip():
        lines = len(evidence.output.splitlines())
        if diagnostics:
            size = f"{lines} line{'s' if lines > 1 else ''}"
            page.sentence(f"(build log: {size}, in the JSON report)", indent=INDENT)
        else:
            page.sentence("build log:", indent=INDENT)
            page.quote(evidence.output, indent=INDENT, head=10, tail=5)


def write_diagnostic(page: Page, found: Diagnostic, *, indent: int) -> None:
    """Add a message of a compiler, the lines after its first behind a bar."""
    numbers = (found.line, found.column) if found.line is not None else ()
    place = "".join(f":{number}" for number in numbers if number is not None)
    message = found.message.removeprefix(f"{found.file}{place}: ").strip("\r\n")
    first, *more = message.splitlines() or [""]
    severity = (f"{found.severity}: ", _style(found.severity))
    page.finding(found.file, place, severity, first, indent=indent)
    if more:
        page.quote("\n".join(more), indent=indent + 2, head=6)


def _style(severity: Severity) -> str:
    return "bold red" if severity == "error" else "bold yellow"


def _memory(
    page: Page, evidence: MemoryEvidence, check: CheckResult, deduplicator: Deduplicator
) -> None:
    failed = check.verdict is not Verdict.ACCEPTED
    findings = evidence.findings[: MOST_FINDINGS if failed else MOST_WARNINGS]
    for found in findings:
        if deduplicator.has(found):
            continue
        write_finding(page, found, indent=INDENT, most=4)
        deduplicator.hint(found.hint, indent=INDENT + 2)
    left_out = max(evidence.findings_total, len(evidence.findings)) - len(findings)
    if left_out > 0:
        page.sentence(f"and {left_out} more", indent=INDENT)
    _tools_not_run(page, evidence.tools, message=check.message)
    if failed:  # otherwise it would repeat the output of the correctness check
        deduplicator.output(evidence.output, head=10, tail=5)


def _tools_not_run(page: Page, tools: tuple[ToolRun, ...], *, message: str) -> None:
    reasons: dict[str, list[str]] = {}
    for tool in tools:
        if tool.problem is not None and tool.problem != message:
            reasons.setdefault(tool.problem, []).append(tool.tool)
    for reason, names in reasons.items():
        page.sentence((f"not run: {', '.join(names)}: ", "bold"), reason, indent=INDENT, most=3)


def _program(page: Page, evidence: ProgramEvidence, deduplicator: Deduplicator) -> None:
    """Add a line for each run, then the output of the last run."""
    for number, run in enumerate(evidence.runs, start=1):
        setup = "the output changed" if run.changed else "nothing changed"
        if run.exit_code is not None:
            ended = f"exit code {run.exit_code}"
        else:
            ended = run.verdict.phrase if run.signal is None else f"ended by signal {run.signal}"
        what = f"{setup}: {ended}"
        page.sentence((f"run {number}, ", "bold"), what, indent=INDENT)
    if evidence.runs:
        deduplicator.output(evidence.runs[-1].output, head=4, tail=10)


def _kind(found: Finding) -> str:
    return found.kind.replace("_", " ")


def _finding_text(found: Finding) -> str:
    """Return message, access, buffer, place in the grid and count, without repetition."""
    grid = [
        f"kernel {found.kernel}" if found.kernel is not None else "",
        _block(found),
        f"thread {grid_index(found.thread)}" if found.thread is not None else "",
    ]
    other_line = f"line {found.other_line}" if found.other_line is not None else ""
    parts = [
        found.message,
        _access(found),
        _buffer(found),
        ", ".join(text for text in grid if _unless_in_message(found, text)),
        f"the other access is in {other_line}" if _unless_in_message(found, other_line) else "",
        f"{found.count} times" if found.count > 1 else "",
    ]
    return "; ".join(filter(None, parts))


def write_finding(page: Page, found: Finding, *, indent: int, most: int) -> None:
    """Add a finding of the memory check in the form of a compiler."""
    severity = (f"{found.severity}: ", _style(found.severity))
    place = "" if found.line is None else f":{found.line}"
    what = f"{_kind(found)}: {_finding_text(found)}"
    page.finding(found.file, place, severity, what, indent=indent, most=most)


def _unless_in_message(found: Finding, text: str) -> str:
    """Return the text, or "" if the finding's message contains it."""
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
    if found.element is None or not _unless_in_message(found, f"element {found.element} of {name}"):
        return _unless_in_message(found, name)
    return _unless_in_message(found, f"{name}[{found.element}]")


def _block(found: Finding) -> str:
    if found.block is None:
        return ""
    if not found.of_program:
        return f"block {grid_index(found.block)}"
    # Triton's term. The message, which knows the grid, names it as `tl.program_id(0)` does.
    if re.search(r"\bprogram [\d(]", found.message):
        return ""
    one_axis = not any(found.block[1:])
    return f"program {found.block[0] if one_axis else grid_index(found.block)}"
