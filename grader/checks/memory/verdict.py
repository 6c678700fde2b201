"""Combine the tool runs of the memory check into one verdict."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from grader.checks.check import CheckOutcome
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.findings import INPUT_HINT, SHOWN, describe, merged_findings
from grader.checks.common.tool_run import Prepared, ToolOutcome
from grader.report.evidence import Finding, MemoryEvidence, ToolRun, Writers
from grader.report.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of one tool's run.

    `problem` says why the tool could not run, `unproven` why a run without findings proves nothing,
    `tampered` how the submission interfered; `log_line` is the last line of the tool's own log, and
    `writers` are for a picture.
    """

    tool: str
    outcome: ToolOutcome = field(default_factory=ToolOutcome)
    findings: tuple[Finding, ...] = ()
    output: str = ""
    wall_s: float = 0.0
    problem: str | None = None
    unproven: str | None = None
    tampered: str | None = None
    log_line: str = ""
    writers: tuple[Writers, ...] = ()

    @property
    def run(self) -> ToolRun:
        """The run as evidence."""
        return ToolRun(
            tool=self.tool,
            findings=sum(finding.count for finding in self.findings),
            wall_s=round(self.wall_s, 3),
            problem=self.problem,
        )

    @property
    def proves_fault(self) -> bool:
        """True if the submission is at fault, whatever its outputs are."""
        errors = any(finding.severity == "error" for finding in self.findings)
        return errors or self.tampered is not None


def combine(
    results: Sequence[ToolResult],
    cases: Sequence[Prepared],
    judged: Sequence[ToolResult] | None = None,
    *,
    given: Collection[str] = (),
) -> CheckOutcome[MemoryEvidence]:
    """Return the outcome of all runs over the same cases.

    `judged` are the results that decide besides the findings: by default all. `given` are the names
    of the course's headers: a finding in the student's file says more than the same one in them.
    """
    findings = merged_findings((f for result in results for f in result.findings), given)
    evidence = MemoryEvidence(
        tools=tuple(result.run for result in results),
        cases=tuple(case.name for case, _ in cases),
        findings=findings[:SHOWN],
        findings_total=len(findings),
        output=results[0].output,
        writers=next((result.writers for result in results if result.writers), ()),
    )
    return CheckOutcome(
        diagnosis=_judge(results if judged is None else judged, findings),
        evidence=evidence,
        wall_s=round(sum(result.wall_s for result in results), 3),
    )


def _judge(results: Sequence[ToolResult], findings: tuple[Finding, ...]) -> Diagnosis:
    """Decide: findings first, then how the runs ended, then whether they prove anything."""
    for result in results:
        if result.tampered is not None:
            return Diagnosis(Verdict.TAMPERED, result.tampered)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return Diagnosis(Verdict.MEMORY_ERROR, describe(errors[0]) + more, hint=errors[0].hint)
    for result in results:
        if result.problem is not None:
            return Diagnosis(Verdict.NOT_MEASURED, result.problem)
    # Before failures: the emulation ends a kernel that writes to an input, and the executor of
    # Triton's launches ignores the write; on a GPU the comparison of inputs finds it.
    written = next((f for f in findings if f.hint == INPUT_HINT), None)
    if written is not None:
        message = describe(written)
        return Diagnosis(Verdict.WRONG_ANSWER, message, hint=INPUT_HINT)
    for result in results:
        if result.outcome.failure is not None:
            return result.outcome.failure
    if any(result.outcome.wrong for result in results):
        return Diagnosis(
            Verdict.WRONG_ANSWER,
            "outputs were wrong in this run, so it proves nothing"
            + (f"; {describe(findings[0])}" if findings else ""),
            hint=findings[0].hint if findings else "fix the correctness check first",
        )
    for result in results:
        if result.unproven is not None:
            return Diagnosis(Verdict.WRONG_ANSWER, result.unproven)
    warnings = f", {len(findings)} warnings" if len(findings) > 1 else ", 1 warning"
    return Diagnosis(
        Verdict.ACCEPTED,
        f"no memory errors{warnings if findings else ''}",
        hint=describe(findings[0]) if findings else "",
    )
