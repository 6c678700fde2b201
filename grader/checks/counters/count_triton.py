"""Count the memory accesses of a Triton submission, on any device, without a GPU.

    judged cases ─→ launches: Triton's IR and options
    compiler     ─→ the GPU dialect, which has the layout of every access, and PTX
    counted case ─→ the executor runs the GPU dialect, and counts what each warp requests

If the counted case has a launch that is not among those of the judged cases which were compiled,
that one is compiled, too, and the case runs once more.

Which lanes share a warp, and how many bytes one instruction moves, the compiler decides. It runs as
the compile gate does, for the same GPU on every machine, so that figures are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.assignment.counter_bounds import CountName
from grader.build.compile_gate import CompiledLaunch, gpu_code
from grader.build.occupancy import launch_resources
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
from grader.protocol.targets import THREADS_PER_BLOCK
from grader.report.evidence import CountersEvidence, LaunchResources
from grader.report.verdict import Verdict
from grader.vocabulary import Device

_RUNS = 2  # the second finds the code of the first one's launches


def check_triton_counters(
    setup: RunSetup, case: Prepared, scoring: CounterScoring
) -> CheckOutcome[CountersEvidence]:
    """Run a Triton submission on one case, until the compiler's code of all launches is known."""
    if scoring.scored and not (scoring.most or scoring.counts):
        return CheckOutcome(diagnosis=Diagnosis(Verdict.ACCEPTED, messages.NO_BOUNDS))
    known = setup.built.code
    for _ in range(_RUNS):
        outcome = run_case(setup, case, known)
        if outcome.failure is not None:
            return unproven(outcome.failure, scoring)
        launches = [record for record in outcome.records if record.get("record") == "launch"]
        if not launches:
            return unproven(Diagnosis(Verdict.WRONG_ANSWER, messages.NO_LAUNCH), scoring)
        code = gpu_code(launches)
        if code.problem:
            return unproven(Diagnosis(code.verdict, f"{setup.built.file}: {code.problem}"), scoring)
        if set(code.folders) <= set(known):
            break
        known = code.folders
    else:
        return unproven(Diagnosis(Verdict.NOT_MEASURED, messages.OTHER_LAUNCHES), scoring)
    if (wrote := host_wrote(outcome)) is not None:
        return unproven(wrote, scoring)

    def read() -> AccessCounts:
        counted = read_triton(outcome.records, setup.built.file)
        counts = {**counted.counts, **_compiled(code.launches)}
        return replace(counted, resources=_resources(code.launches), counts=counts)

    return judge_run(setup, case[0], outcome, scoring, executor_findings.TOOL, read)


def _resources(launches: Sequence[CompiledLaunch]) -> tuple[LaunchResources, ...]:
    """Return what the distinct launches use."""
    found = [
        launch_resources(course_target(), one.kernel, one.threads, one.shared_bytes, one.resources)
        for one in launches
        if one.resources is not None and 0 < one.threads <= THREADS_PER_BLOCK
    ]
    return tuple(dict.fromkeys(found))


def _compiled(launches: Sequence[CompiledLaunch]) -> dict[CountName, int]:
    """Return the most registers and shared memory of the launches, if the compiler says both."""
    used = [(one.shared_bytes, one.resources) for one in launches]
    if not used or any(resources is None for _, resources in used):
        return {}
    return {
        "registers": max(each.registers for _, each in used if each),
        "shared_bytes": max(dynamic + each.shared_bytes for dynamic, each in used if each),
    }


def host_wrote(outcome: ToolOutcome) -> Diagnosis | None:
    """Return that host code wrote an output in a run that ended; None if none did."""
    for record in outcome.records:
        if record.get("record") == "host_wrote" and outcome.failure is None:
            message = messages.HOST_WROTE.format(str(record.get("buffer"))[:100])
            return Diagnosis(Verdict.WRONG_ANSWER, message)
    return None


def run_case(setup: RunSetup, case: Prepared, code: Sequence[Path] = ()) -> ToolOutcome:
    """Run the case; with the `code` of its launches, their accesses are counted."""
    limits = setup.assignment.limits

    def run() -> ToolOutcome:
        with Session(
            setup.built,
            limits,
            setup.server,
            code=code,
            contributes=not code,
            budget=setup.budget,
        ) as session:
            return run_under_tool(setup, session, [case], limits)

    return second_try(setup.budget, Device.CPU, run(), run, lambda outcome: outcome.failure)
