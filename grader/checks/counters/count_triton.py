"""Count the memory accesses of a Triton submission, on any device, without a GPU.

    first run  ─→ the launches of the case: Triton's IR and options
    compiler   ─→ the GPU dialect, which has the layout of every access, and PTX
    second run ─→ the executor runs the GPU dialect, and counts what each warp requests

Which lanes share a warp, and how many bytes one instruction moves, the compiler decides. It runs as
the compile gate does, for the same GPU on every machine, so that figures are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.assignment.counter_bounds import CountName
from grader.build.compile_gate import compiled_launches, gpu_code
from grader.checks.check import CheckOutcome
from grader.checks.common import executor_findings
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.second_try import second_try
from grader.checks.common.tool_run import Prepared, ToolOutcome, run_under_tool
from grader.checks.counters import messages
from grader.checks.counters.count import CounterScoring, judge_run, unproven
from grader.checks.counters.totals import AccessCounts, read_triton
from grader.gpu.target import course_target
from grader.judge.session import Session
from grader.report.evidence import CountersEvidence
from grader.report.verdict import Verdict


def check_triton_counters(
    setup: RunSetup, case: Prepared, scoring: CounterScoring
) -> CheckOutcome[CountersEvidence]:
    """Run a Triton submission on one case twice, with the compiler in between."""
    if scoring.scored and not (scoring.most or scoring.counts):
        return CheckOutcome(diagnosis=Diagnosis(Verdict.ACCEPTED, messages.NO_BOUNDS))
    outcome = _run(setup, case)
    if outcome.failure is not None:
        return unproven(outcome.failure, scoring)
    launches = [record for record in outcome.records if record.get("record") == "launch"]
    if not launches:
        return unproven(Diagnosis(Verdict.WRONG_ANSWER, messages.NO_LAUNCH), scoring)
    code = gpu_code(launches)
    if code.folder is None:
        return unproven(Diagnosis(code.verdict, f"{setup.built.file}: {code.problem}"), scoring)
    outcome = _run(setup, case, code.folder)
    for record in outcome.records:
        if record.get("record") == "host_wrote" and outcome.failure is None:
            message = messages.HOST_WROTE.format(str(record.get("buffer"))[:100])
            return unproven(Diagnosis(Verdict.WRONG_ANSWER, message), scoring)

    def read() -> AccessCounts:
        counted = read_triton(outcome.records, setup.built.file)
        return replace(counted, counts={**counted.counts, **_compiled(launches, scoring)})

    return judge_run(setup, case[0], outcome, scoring, executor_findings.TOOL, read)


def _compiled(launches: Sequence[dict[str, Any]], scoring: CounterScoring) -> dict[CountName, int]:
    """Return the registers and the shared memory of the launches, as far as they have bounds."""
    if not {"registers", "shared_bytes"} & scoring.counts.keys():
        return {}
    used = [(one, one.resources) for one in compiled_launches(launches, course_target())]
    found: dict[CountName, int] = {}
    if used and all(resources is not None for _, resources in used):
        found["registers"] = max(each.registers for _, each in used if each)
        found["shared_bytes"] = max(
            one.shared_bytes + each.shared_bytes for one, each in used if each
        )
    return found


def _run(setup: RunSetup, case: Prepared, code: Path | None = None) -> ToolOutcome:
    """Run the case; with the `code` of its launches, their accesses are counted."""
    limits = setup.assignment.limits

    def run() -> ToolOutcome:
        with Session(setup.built, limits, setup.server, code=code, budget=setup.budget) as session:
            return run_under_tool(setup, session, [case], limits)

    return second_try(setup.budget, run(), run, lambda outcome: outcome.failure)
