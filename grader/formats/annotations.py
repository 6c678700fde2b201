"""What a report says about places in source files: for GitHub, and for editors (SARIF).

Checks that are not visible give their verdict, and nothing about a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from grader.formats import student_view
from grader.report.evidence import BuildEvidence, CountersEvidence, Finding, MemoryEvidence
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.vocabulary import Visibility

Kind = Literal["error", "warning", "notice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One sentence about a file, a line of it, or (without a file) the whole run.

    `rule` is the check, for memory findings also their kind. The texts may come from a submission.
    """

    kind: Kind
    rule: str
    title: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    other_line: int | None = None


def annotated(report: Report) -> Iterator[Annotation]:
    """Yield the annotations, kernel by kernel."""
    for kernel in report.kernels:
        for check in kernel.checks:
            placed = list(_of_evidence(check)) if _visible(check) else []
            yield from placed
            if student_view.failed(check) and not any(one.kind == "error" for one in placed):
                yield _of_check("error", kernel, check, kernel.file)
            elif check.verdict is Verdict.GRADER_ERROR:
                yield _of_check("warning", kernel, check, None)
    if report.pending:
        yield Annotation(
            kind="notice",
            rule="pending",
            title="points pending",
            message=student_view.pending(report),
        )


def _visible(check: CheckResult) -> bool:
    return check.visibility is Visibility.VISIBLE


def _of_check(kind: Kind, kernel: KernelResult, check: CheckResult, file: str | None) -> Annotation:
    title = f"{student_view.label(kernel)}: {check.name}"
    return Annotation(kind=kind, rule=check.check, title=title, message=_sentence(check), file=file)


def _of_evidence(check: CheckResult) -> Iterator[Annotation]:
    evidence = check.evidence
    if isinstance(evidence, BuildEvidence):
        for diagnostic in sorted(evidence.diagnostics, key=lambda one: one.severity != "error"):
            yield Annotation(
                kind=diagnostic.severity,
                rule=check.check,
                title="build",
                message=diagnostic.message,
                file=diagnostic.file,
                line=diagnostic.line,
                column=diagnostic.column,
            )
    elif isinstance(evidence, MemoryEvidence):
        for found in evidence.findings:
            yield _of_finding(found)
    elif isinstance(evidence, CountersEvidence) and student_view.failed(check) and evidence.lines:
        worst = evidence.lines[0]
        yield Annotation(
            kind="error",
            rule=check.check,
            title="counters",
            message=check.message,
            file=worst.file,
            line=worst.line,
        )


def _of_finding(found: Finding) -> Annotation:
    return Annotation(
        kind=found.severity,
        rule=f"memory/{found.kind}",
        title=f"memory: {found.kind.replace('_', ' ')}",
        message=f"{found.message}\n{found.hint}" if found.hint else found.message,
        file=found.file,
        line=found.line,
        other_line=found.other_line,
    )


def _sentence(check: CheckResult) -> str:
    """Return verdict, message and hint; the details are in the log and the summary."""
    if not _visible(check):
        return student_view.visible_text(check)
    return f"{check.verdict.phrase}: {check.message}" + (f"\n{check.hint}" if check.hint else "")
