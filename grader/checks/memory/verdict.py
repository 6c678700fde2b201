"""What the runs of the memory check add up to: findings first, then how they ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.checks.check import CheckOutcome
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.findings import INPUT_HINT, SHOWN, describe, folded
from grader.checks.common.tool_run import Prepared, ToolOutcome
from grader.report.evidence import Finding, MemoryEvidence, ToolRun
from grader.report.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One tool's run.

    `silent` is why its silence would prove nothing, if so; `said` is the last
    line of the tool's own words.
    """

    run: ToolRun
    outcome: ToolOutcome
    findings: tuple[Finding, ...]
    output: str
    silent: str | None = None
    tampered: str | None = None
    said: str = ""

    @property
    def convicts(self) -> bool:
        """True if it is the hand-in's fault, whatever the outputs."""
        errors = any(finding.severity == "error" for finding in self.findings)
        return errors or self.tampered is not None


def add_up(seen: Sequence[Seen], cases: Sequence[Prepared]) -> CheckOutcome[MemoryEvidence]:
    """Return the verdict on all runs over the same cases."""
    findings = folded(finding for one in seen for finding in one.findings)
    evidence = MemoryEvidence(
        tools=tuple(one.run for one in seen),
        cases=tuple(case.name for case, _ in cases),
        findings=findings[:SHOWN],
        findings_total=len(findings),
        output=seen[0].output,
    )
    return CheckOutcome(
        diagnosis=_judge(seen, findings),
        evidence=evidence,
        wall_s=sum(one.run.wall_s for one in seen),
    )


def _judge(seen: Sequence[Seen], findings: tuple[Finding, ...]) -> Diagnosis:
    """Decide: findings first, then how the runs ended, then whether they prove anything."""
    for one in seen:
        if one.tampered is not None:
            return Diagnosis(Verdict.TAMPERED, one.tampered)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return Diagnosis(Verdict.MEMORY_ERROR, describe(errors[0]) + more, hint=errors[0].hint)
    for one in seen:
        if one.run.problem is not None:
            return Diagnosis(Verdict.NOT_MEASURED, one.run.problem)
    # Before failures: the host device ends a kernel that writes to an input, and the
    # interpreter leaves the input alone; on a GPU the comparison of inputs finds it.
    written = next((f for f in findings if f.hint == INPUT_HINT), None)
    if written is not None:
        message = describe(written)
        return Diagnosis(Verdict.WRONG_ANSWER, message, hint=INPUT_HINT)
    for one in seen:
        if one.outcome.failure is not None:
            return one.outcome.failure
    if any(one.outcome.wrong for one in seen):
        return Diagnosis(
            Verdict.WRONG_ANSWER,
            "outputs were wrong in this run, so that it proves nothing"
            + (f"; {describe(findings[0])}" if findings else ""),
            hint=findings[0].hint if findings else "mend the correctness check first",
        )
    for one in seen:
        if one.silent is not None:
            return Diagnosis(Verdict.WRONG_ANSWER, one.silent)
    warnings = f", {len(findings)} warnings" if len(findings) > 1 else ", 1 warning"
    return Diagnosis(
        Verdict.ACCEPTED,
        f"no memory errors{warnings if findings else ''}",
        hint=describe(findings[0]) if findings else "",
    )
