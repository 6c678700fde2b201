"""Count the memory accesses of a Numba submission, on any device, without a GPU.

The executor runs the PTX of kernels thread by thread, so it sees what each warp requests. One
run is enough: nothing has to be asked of a compiler.
"""

from __future__ import annotations

from grader.checks.check import CheckOutcome
from grader.checks.common import executor_findings
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.second_try import second_try
from grader.checks.common.tool_run import Prepared, ToolOutcome, run_under_tool
from grader.checks.counters import messages
from grader.checks.counters.count import CounterScoring, judge_run, unproven
from grader.checks.counters.totals import read_triton
from grader.judge.session import Session
from grader.report.evidence import CountersEvidence
from grader.report.verdict import Verdict
from grader.sandbox.scratch_dir import scratch_folder


def check_numba_counters(
    setup: RunSetup, case: Prepared, scoring: CounterScoring
) -> CheckOutcome[CountersEvidence]:
    """Run a Numba submission on one case."""
    if scoring.scored and not (scoring.most or scoring.counts):
        return CheckOutcome(diagnosis=Diagnosis(Verdict.ACCEPTED, messages.NO_BOUNDS))
    limits = setup.assignment.limits

    def run() -> ToolOutcome:
        # Any folder for code makes the executor count.
        with (
            scratch_folder("grade-counted-") as code,
            Session(setup.built, limits, setup.server, code=code, budget=setup.budget) as session,
        ):
            return run_under_tool(setup, session, [case], limits)

    outcome = second_try(setup.budget, run(), run, lambda outcome: outcome.failure)
    for record in outcome.records:
        if record.get("record") == "host_wrote" and outcome.failure is None:
            message = messages.HOST_WROTE.format(str(record.get("buffer"))[:100])
            return unproven(Diagnosis(Verdict.WRONG_ANSWER, message), scoring)
    tool = executor_findings.tool_of(setup.built.language)
    return judge_run(
        setup, case[0], outcome, scoring, tool,
        lambda: read_triton(outcome.records, setup.built.file),
    )  # fmt: skip
