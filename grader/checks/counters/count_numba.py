"""Count the memory accesses of a Numba submission, on any device, without a GPU.

The executor runs the PTX of kernels thread by thread, so it sees what each warp requests. One
run is enough: nothing has to be asked of a compiler.
"""

from __future__ import annotations

from grader.checks.check import CheckOutcome
from grader.checks.common import executor_findings
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.tool_run import Prepared
from grader.checks.counters import messages
from grader.checks.counters.count import CounterScoring, judge_run, unproven
from grader.checks.counters.count_triton import host_wrote, run_case
from grader.checks.counters.totals import read_triton
from grader.report.evidence import CountersEvidence
from grader.report.verdict import Verdict
from grader.sandbox.scratch_dir import scratch_folder


def check_numba_counters(
    setup: RunSetup, case: Prepared, scoring: CounterScoring
) -> CheckOutcome[CountersEvidence]:
    """Run a Numba submission on one case."""
    if scoring.scored and not (scoring.most or scoring.counts):
        return CheckOutcome(diagnosis=Diagnosis(Verdict.ACCEPTED, messages.NO_BOUNDS))
    # Any folder for code makes the executor count.
    with scratch_folder("grade-counted-") as code:
        outcome = run_case(setup, case, (code,))
    if (wrote := host_wrote(outcome)) is not None:
        return unproven(wrote, scoring)
    tool = executor_findings.tool_of(setup.built.language)
    return judge_run(
        setup, case[0], outcome, scoring, tool,
        lambda: read_triton(outcome.records, setup.built.file),
    )  # fmt: skip
