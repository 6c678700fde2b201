"""The diagnosis that a kernel's block begins with: the likeliest cause of all that failed.

A fault in memory explains wrong answers, so it comes first; a leak explains nothing. What the
correctness check says comes next, then the first check that failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grader.build.diagnostics import advice
from grader.report.evidence import BuildEvidence, Diagnostic, Finding, FindingKind, MemoryEvidence
from grader.report.model import CheckResult, KernelResult
from grader.report.verdict import Verdict
from grader.text.hints import matching_hint
from grader.vocabulary import CheckName, Visibility

# A barrier that some threads miss is the cause of races and of garbage.
_ORDER: tuple[FindingKind, ...] = (
    "barrier", "misaligned", "out_of_bounds", "invalid_copy", "race", "uninitialized", "leak",
)  # fmt: skip

# Kinds that a mistake which the wrong elements name can bring with it, as a wrong stride does.
_EXPLAINED = frozenset({"out_of_bounds", "uninitialized", "leak"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What to read first; `shown` is the finding or diagnostic that has the message."""

    message: str
    hint: str
    shown: Finding | Diagnostic | None = None


def leading_diagnosis(kernel: KernelResult) -> Lead | None:
    """Return the diagnosis to begin with, from visible checks; None if nothing visible failed."""
    failed = [
        check
        for check in kernel.checks
        if check.visibility is Visibility.VISIBLE
        and check.verdict.judged
        and not check.verdict.earns_points
        and check.verdict is not Verdict.TOO_SLOW
    ]
    if not failed:
        return None
    verdicts = {check.verdict for check in failed}
    if not verdicts & {Verdict.TAMPERED, Verdict.FORBIDDEN, Verdict.COMPILE_ERROR}:
        wrong = next((check for check in failed if check.check is CheckName.CORRECTNESS), None)
        finding = _finding(failed, explains=wrong is not None)
        known = wrong is not None and bool(matching_hint(wrong.message, "pattern"))
        if known and (finding is None or finding.kind in _EXPLAINED):
            assert wrong is not None
            return Lead(message=wrong.message, hint=wrong.hint)
        if finding is not None:
            return Lead(message=finding.message, hint=finding.hint, shown=finding)
        if wrong is not None and wrong.verdict is Verdict.WRONG_ANSWER:
            warned = _uninitialized(kernel)
            if warned is not None:
                return Lead(message=warned.message, hint=advice(warned.message), shown=warned)
    check = next((c for c in failed if c.verdict is kernel.verdict), failed[0])
    if kernel.verdict is Verdict.MEMORY_ERROR:
        check = failed[0]
    if isinstance(check.evidence, BuildEvidence):
        errors = [found for found in check.evidence.diagnostics if found.message in check.message]
        return Lead(message=check.message, hint=check.hint, shown=errors[0] if errors else None)
    return Lead(message=check.message, hint=check.hint)


def _uninitialized(kernel: KernelResult) -> Diagnostic | None:
    """Return the compiler's warning about a variable without a value, None if there is none."""
    evidence = [check.evidence for check in kernel.checks if check.check is CheckName.BUILD]
    warnings = (
        found
        for build in evidence
        if isinstance(build, BuildEvidence)
        for found in build.diagnostics
        if found.line is not None and "used uninitialized" in found.message
    )
    return next(warnings, None)


def _finding(failed: Iterable[CheckResult], *, explains: bool) -> Finding | None:
    """Return the strongest error; with `explains`, one that can be the cause of wrong answers."""
    found = [
        finding
        for check in failed
        if isinstance(check.evidence, MemoryEvidence)
        for finding in check.evidence.findings
        if finding.severity == "error" and not (explains and finding.kind == "leak")
    ]
    return min(found, key=lambda one: (_ORDER.index(one.kind), one.line or 0), default=None)
