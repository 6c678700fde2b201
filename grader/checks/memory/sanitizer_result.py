"""What one of compute-sanitizer's tools has found in a program that it ran."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.checks.common.tool_run import ToolOutcome
from grader.checks.memory import sanitizer
from grader.checks.memory.sanitizer_xml import Locate, ReportError
from grader.checks.memory.verdict import ToolResult
from grader.report.evidence import ToolRun
from grader.sandbox import spawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A run under a tool that has ended.

    The tool's files are in `folder`. `file` is the student's, `copy` the name of the copy that ran,
    and `locate` finds the lines of return addresses in it.
    """

    folder: Path
    file: str
    copy: str
    locate: Locate
    ended: spawn.Ended
    outcome: ToolOutcome
    output: str
    wall_s: float


def tool_result(name: str, run: Observed) -> ToolResult:
    """Return the result of a run under the tool `name`."""
    problem = None
    log_line = sanitizer.last_log_line(run.folder)
    try:
        report = sanitizer.read_report(run.folder, name, run.file, run.copy, run.locate)
    except ReportError as error:
        # Not evidence of tampering: a killed tool leaves an incomplete report, too.
        report, problem = error.report, f"compute-sanitizer {name}: {error}"
    errors = any(finding.severity == "error" for finding in report.findings)
    exit_code = run.ended.exit_code
    if run.outcome.failure is not None:
        problem = None  # the failure says why the run ended early
    elif exit_code not in (0, sanitizer.FOUND) and not errors:
        reason = log_line or _last_line(run.ended.output) or "it printed nothing"
        problem = f"compute-sanitizer {name} could not run ({_end(run.ended)}): {reason}"
    elif (
        exit_code == sanitizer.FOUND
        and not errors
        and not report.blames_submission
        and problem is None
        # With missing outputs the judge itself reads uninitialized memory.
        and not run.outcome.wrong
    ):
        problem = f"compute-sanitizer {name} found errors outside the submission's code"
    return ToolResult(
        run=ToolRun(
            tool=f"compute-sanitizer {name}",
            findings=sum(finding.count for finding in report.findings),
            wall_s=round(run.wall_s, 3),
            problem=problem,
        ),
        outcome=run.outcome,
        findings=report.findings,
        output=run.output,
        log_line=log_line,
    )


def _end(ended: spawn.Ended) -> str:
    if ended.signal is not None:
        return f"ended by signal {ended.signal}"
    return ended.end.value if ended.exit_code is None else f"exit code {ended.exit_code}"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1].strip()[:200]


def not_run(reason: str) -> list[ToolResult]:
    """Return the results of all tools on a machine where none can run."""
    return [without_run(name, reason) for name in sanitizer.TOOLS]


def without_run(name: str, reason: str) -> ToolResult:
    """Return the result of a tool that could not run."""
    tool = f"compute-sanitizer {name}"
    return ToolResult(
        run=ToolRun(tool=tool, findings=0, wall_s=0.0, problem=f"{tool} could not run: {reason}"),
        outcome=ToolOutcome(failure=None, wrong=False, records=()),
        findings=(),
        output="",
    )
