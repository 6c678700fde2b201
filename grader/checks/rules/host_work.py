"""Find out whether the host code of a CUDA C++ submission computes the result.

The checked host build runs one case, a hidden one if there is any, and counts what crosses between
the two sides: bytes of device memory that host code gets (copies, reads of managed and pinned
memory, what kernels write to registered memory), and bytes that it puts there (also as arguments of
kernels). A kernel's own work needs neither. Whoever computes on the host needs the inputs and must
put the outputs back; sizes, flags, partial sums and tables of constants are small against these.

The figures come from the process that ran the submission. They can only cost points.
"""

from __future__ import annotations

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.checks.common.case_run import RunSetup
from grader.checks.common.emulation_findings import read_run
from grader.checks.common.tool_run import Prepared, run_under_tool
from grader.emulation.cuda_cpp.report import Report
from grader.judge.session import Session
from grader.report.evidence import BrokenRule
from grader.vocabulary import Language, Memory, Visibility

HINT = (
    "compute every element in a kernel; host code may allocate memory, launch kernels and add up "
    "a few partial results"
)
# The least part of the inputs, and of the outputs, that counts as the work. Partial results of
# warps are a thirty-second.
_SHARE = 1 / 8
# Smaller outputs are no larger than partial sums.
_LEAST_BYTES = 2048


def can_tell(assignment: Assignment, case: Case) -> bool:
    """True if the outputs of a case in CUDA C++ are large enough to show who computed them."""
    _, written = assignment.signature_of(case).read_and_written_bytes(case.sizes, Language.CUDA)
    return written >= _LEAST_BYTES


def find_host_work(setup: RunSetup, text: str, case: Prepared) -> BrokenRule | None:
    """Run the checked host build `setup` on a case; `text` is the rewritten source file.

    Returns None if a kernel computes the result, or if this run cannot tell.
    """
    arrays = setup.assignment.signature.arrays
    if any(array.memory is Memory.HOST for array in arrays):
        return None  # copies are the task
    limits = setup.assignment.limits
    with Session(
        setup.built, limits, None, host_settings="count=0", budget=setup.budget
    ) as session:
        outcome = run_under_tool(setup, session, [case], limits)
    if outcome.failure is not None or outcome.wrong:
        return None
    try:
        _, run = read_run(outcome.records, setup.built, text)
    except ValueError:
        return None  # the checks of memory and counters report it
    return _broken_rule(setup, case, run) if run.complete else None


def _broken_rule(setup: RunSetup, case: Prepared, run: Report) -> BrokenRule | None:
    signature = setup.assignment.signature_of(case[0])
    if not can_tell(setup.assignment, case[0]):
        return None
    read, written = signature.read_and_written_bytes(case[0].sizes, setup.built.language)
    if not run.launches:
        message = "the result is computed without a kernel: nothing was launched"
        return BrokenRule(rule="own_kernel", message=message)
    if run.host_read_bytes < _SHARE * read or run.host_wrote_bytes < _SHARE * written:
        return None
    hidden = case[0].visibility is not Visibility.VISIBLE
    # In a hidden case the figures tell the size.
    took = "an input" if hidden else f"{run.host_read_bytes:,} bytes"
    put = "the output" if hidden else f"{run.host_wrote_bytes:,} bytes"
    name = case[0].name if hidden else f"the case {case[0].name}"
    message = (
        "the result is computed by host code, not by a kernel of yours: in "
        f"{name}, host code took {took} from the GPU and put {put} there"
    )
    return BrokenRule(rule="own_kernel", message=message)
