"""The memory check without a GPU: small cases again, with every access checked.

    CUDA C++   the checked host build checks every access
    Triton     the executor of launches checks every address
    Numba      so does its executor, of PTX

An executor has watched the cases while they were judged, as a rule; then nothing runs again.

compute-sanitizer does the same on a GPU (`on_gpu`, `triton_on_gpu`). A report without findings does
not count by itself, because in CUDA C++ it comes from the worker: the judge must have seen right
outputs in every case of the run, and accesses must have been counted. Findings always cost points.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from grader.assignment.cases import Case
from grader.checks.check import CheckOutcome, WatchedCase
from grader.checks.common import executor_findings
from grader.checks.common.case_run import RunSetup
from grader.checks.common.emulation_findings import TOOL as HOST_TOOL
from grader.checks.common.emulation_findings import read_run
from grader.checks.common.findings import hint
from grader.checks.common.second_try import second_try
from grader.checks.common.small_case import unnamed
from grader.checks.common.source_evidence import with_sources
from grader.checks.common.tool_run import Prepared, ToolOutcome, run_under_tool
from grader.checks.memory.hidden_cases import without_sizes
from grader.checks.memory.verdict import ToolResult, combine
from grader.checks.memory.writers import small_writers
from grader.emulation.cuda_cpp.report import Report
from grader.judge.session import Session
from grader.report.evidence import Finding, MemoryEvidence
from grader.text.hints import filled
from grader.vocabulary import Device, Memory, Visibility

_TAMPERED = "the submission wrote into the memory checker's report"
_NO_ACCESS = "no kernel accessed any memory in this run"
_FOR_LEAKS = 4  # further calls of one case, for a leak that every third or fifth call leaves
_SCHEDULES = ("schedule=forward count=0 writers=1", "schedule=random count=0 seed=1")


# Builds a second time, with marks on local variables; the setup and the text, None if impossible.
Marked = Callable[[], tuple[RunSetup, str] | None]


def check_host_memory(
    setup: RunSetup,
    text: str,
    marked: Marked,
    cases: Sequence[Prepared],
    advance: Callable[[str], None],
) -> CheckOutcome[MemoryEvidence]:
    """Run a checked host build; `text` is the rewritten source file."""
    return combine([host_result(setup, text, marked, cases, advance)], cases)


def host_result(
    setup: RunSetup,
    text: str,
    marked: Marked,
    cases: Sequence[Prepared],
    advance: Callable[[str], None],
) -> ToolResult:
    """Return what a checked host build finds.

    Runs a second time in another thread order if the first run finds nothing: the emulation runs
    threads one after another, and a race may give right results in one order only. If outputs are
    wrong and no finding explains it, looks for local variables that are read without a value.
    """
    result = _host_run(setup, text, cases, _SCHEDULES[0], for_leaks=True)
    if result.outcome.wrong and not result.proves_fault:
        result = replace(result, findings=(*result.findings, *_locals(marked(), cases)))
    advance("threads in order")
    if not result.outcome.wrong and result.outcome.failure is None and not result.proves_fault:
        other = _host_run(setup, text, cases, _SCHEDULES[1])
        if other.outcome.wrong and not other.proves_fault:
            other = replace(other, findings=(*other.findings, _order_dependent(setup)))
        if other.outcome.wrong or other.outcome.failure is not None or other.proves_fault:
            result = other
    advance("threads in another order")
    return result


def _locals(marked: tuple[RunSetup, str] | None, cases: Sequence[Prepared]) -> tuple[Finding, ...]:
    if marked is None:
        return ()
    found = _host_run(*marked, cases, _SCHEDULES[0]).findings
    return tuple(finding for finding in found if finding.kind == "uninitialized")


def _order_dependent(setup: RunSetup) -> Finding:
    return Finding(
        kind="race",
        severity="error",
        message="the result depends on the order in which threads run",
        hint=hint("race"),
        file=setup.built.file,
        line=None,
        tool=HOST_TOOL,
    )


def _host_run(
    setup: RunSetup,
    text: str,
    cases: Sequence[Prepared],
    schedule: str,
    *,
    for_leaks: bool = False,
) -> ToolResult:
    """Run the checked host build over the cases, threads in the order of `schedule`.

    With `for_leaks`, call cases more often: leaks are the same in any order.
    """
    calls, more = (2, _FOR_LEAKS) if for_leaks else (1, 0)

    def run() -> ToolResult:
        return _host_try(setup, text, cases, schedule, calls, more)

    return second_try(setup.budget, Device.CPU, run(), run, lambda result: result.outcome.failure)


def _host_try(
    setup: RunSetup,
    text: str,
    cases: Sequence[Prepared],
    schedule: str,
    calls: int,
    for_leaks: int,
) -> ToolResult:
    started_s = time.monotonic()
    limits = setup.assignment.limits
    with Session(setup.built, limits, None, host_settings=schedule, budget=setup.budget) as session:
        outcome = run_under_tool(setup, session, cases, limits, calls=calls, for_leaks=for_leaks)
        result = ToolResult(tool=HOST_TOOL, outcome=outcome, output=session.output)
    try:
        records = without_sizes(outcome.records, cases, setup.built)
        findings, report = read_run(records, setup.built, text, wrong=outcome.wrong)
        # The picture shows a case's size.
        visible = [case for case, _ in cases if case.visibility is Visibility.VISIBLE]
        by_name = {case.name: case for case in visible}
        writers = small_writers(outcome.records, setup, by_name)
        findings = tuple(_with_row_length(one, setup, visible) for one in findings)
        findings = with_sources(findings, setup.built, setup.assignment.signature)
    except ValueError:
        result = replace(result, tampered=_TAMPERED)
    else:
        problem = report.unsupported[0] if report.unsupported else None
        if problem and outcome.failure is None:
            # The runtime ends a call that meets what it cannot run: these records are no report.
            result = replace(result, tampered=_TAMPERED)
        unproven = _unproven(setup, report)
        result = replace(result, findings=findings, problem=problem, unproven=unproven)
        result = replace(result, writers=writers)
    return replace(result, wall_s=time.monotonic() - started_s)


def _with_row_length(found: Finding, setup: RunSetup, cases: Sequence[Case]) -> Finding:
    """Say that rows are no multiple of a vector, if that is why an access is misaligned.

    `cases` are the visible ones: the one with an array of this length is meant.
    """
    signature = setup.assignment.signature
    array = next((one for one in signature.arrays if one.name == found.buffer), None)
    if found.kind != "misaligned" or array is None or len(array.shape or ()) != 2:
        return found
    rows = set()
    for case in cases:
        of_case = setup.assignment.signature_of(case)
        size = of_case.element_type(array, setup.built.language).size
        width, shape = (found.access_bytes or 0) // size, of_case.shape(array, case.sizes)
        # The checker counts in units of the access.
        if math.prod(shape) // max(width, 1) == found.elements:
            rows.add((width, shape[1]))
    width, length = rows.pop() if len(rows) == 1 else (0, 0)
    if width < 2 or length % width == 0:
        return found
    assert array.shape is not None
    names = {"buffer": array.name, "size": array.shape[1].text}
    hint = filled("found", "rows are no multiple", number=length, width=width, **names)
    return replace(found, hint=hint)


def _unproven(setup: RunSetup, run: Report) -> str | None:
    """Return why a run without findings proves nothing, None if it is a proof.

    With an array in host memory, copies can be all the work.
    """
    if any(array.memory is Memory.HOST for array in setup.assignment.signature.arrays):
        moved = run.accesses or run.copied_bytes
        return None if moved else "no copy and no kernel accessed any memory in this run"
    return None if run.accesses else _NO_ACCESS


def check_triton_memory(
    setup: RunSetup,
    cases: Sequence[Prepared],
    advance: Callable[[str], None],
    judged: Sequence[CheckOutcome[Any]] = (),
) -> CheckOutcome[MemoryEvidence]:
    """Run a submission in Triton or Numba; the executor of its launches checks every address.

    If all cases were watched while they were judged, with these outcomes, nothing runs again.
    """

    def run() -> ToolResult:
        limits, budget = setup.assignment.limits, setup.budget
        with Session(setup.built, limits, setup.server, budget=budget) as session:
            return executor_result(setup, session, cases)

    seen = _seen(cases, judged[0].watched if judged else ())
    if seen is not None:
        result = _read(setup, seen, cases)
    else:
        failure = attrgetter("outcome.failure")
        result = second_try(setup.budget, Device.CPU, run(), run, failure)
    advance(executor_findings.tool_of(setup.built.language))
    return combine([result], cases)


def _seen(cases: Sequence[Prepared], watched: Sequence[WatchedCase]) -> ToolOutcome | None:
    """Return what was seen of the cases while they were judged, None if one is missing."""
    records: list[dict[str, Any]] = []
    wrong = False
    for case, _ in cases:
        one = next((one for one in watched if unnamed(one.case) == case), None)
        if one is None:
            return None
        wrong = wrong or not one.right
        records += ({**record, "case": case.name} for record in one.records)
    return ToolOutcome(wrong=wrong, records=tuple(records))


def _with_row_step(
    record: Mapping[str, Any], setup: RunSetup, cases: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Say that programs begin where no row does, if that is why one is past the end."""
    signature = setup.assignment.signature
    array = next((one for one in signature.arrays if one.name == record.get("tensor")), None)
    given, sizes = record.get("program_step"), cases.get(str(record.get("case")))
    if array is None or sizes is None or len(array.shape or ()) != 2:
        return record
    if not isinstance(given, (list, tuple)) or [type(one) for one in given] != [int, int]:
        return record
    programs, step = given
    rows, length = signature.shape(array, sizes)
    # As many programs as rows: each has one.
    if programs != rows or step < 2 or length < 2 or step % length == 0:
        return record
    assert array.shape is not None
    names = {"buffer": array.name, "size": array.shape[1].text}
    numbers = {"step": f"{step:,}", "number": f"{length:,}"}
    return {**record, "hint": filled("found", "programs begin within rows", **names, **numbers)}


def executor_result(setup: RunSetup, session: Session, cases: Sequence[Prepared]) -> ToolResult:
    """Run the cases in a session whose executor checks memory; return what it found."""
    started_s = time.monotonic()
    outcome = run_under_tool(setup, session, cases, setup.assignment.limits, checked=True)
    result = replace(_read(setup, outcome, cases), output=session.output)
    return replace(result, wall_s=time.monotonic() - started_s)


def _read(setup: RunSetup, outcome: ToolOutcome, cases: Sequence[Prepared]) -> ToolResult:
    """Return what the executor's records say."""
    tool = executor_findings.tool_of(setup.built.language)
    result = ToolResult(tool=tool, outcome=outcome)
    try:
        records = without_sizes(outcome.records, cases, setup.built)
        sizes = {case.name: case.sizes for case, _ in cases}
        findings, accesses = executor_findings.read_run(
            [_with_row_step(record, setup, sizes) for record in records], setup.built.file, tool
        )
        findings = with_sources(findings, setup.built, setup.assignment.signature)
    except ValueError:
        result = replace(result, tampered=_TAMPERED)
    else:
        problem = executor_findings.not_executed(outcome.records)
        unproven = None if accesses else _NO_ACCESS
        result = replace(result, findings=findings, problem=problem, unproven=unproven)
    return result
