"""What is wrong on a GPU, in the words of a machine without one.

Nothing sees the launches of a GPU, so some mistakes have no name there: a grid that is too small, a
block that the kernel does not expect. Without a GPU the grader executes launches itself. So the
visible cases are judged there, too, and a case that fails in the same way gets the words from
there. Verdicts and figures stay those of the GPU.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import replace

from grader.assignment.cases import Case
from grader.checks.check import CheckContext
from grader.checks.correctness.judging import check_correctness
from grader.errors import GraderError
from grader.judge.time_budget import TimeBudget
from grader.report.evidence import CaseResult, CorrectnessEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import Device, Visibility

_FAILED = frozenset({Verdict.WRONG_ANSWER, Verdict.RUNTIME_ERROR})
# What the judge says of an error: the sentence, and after a second colon what was wrong.
_CUDA_ERROR = re.compile(r"(.* gave CUDA error (\d+): [\w ]+)(: .*)?", re.DOTALL)
_INVALID_ARGUMENT = "1"
_CRASHED = " crashed: "


def explained_without_gpu(
    context: CheckContext, verified: CorrectnessEvidence
) -> CorrectnessEvidence:
    """Return the results of a GPU's cases, with better words where there are any."""
    failed = {case.name for case in verified.cases if _is_visible(case) and case.verdict in _FAILED}
    if not failed:
        return verified
    found: dict[str, CaseResult] = {}
    with contextlib.suppress(GraderError):  # the words of the GPU will do
        found = {case.name: case for case in _judged(context)}
    cases = [
        _explained(case, found[case.name]) if case.name in failed and case.name in found else case
        for case in verified.cases
    ]
    return replace(verified, cases=tuple(cases))


def _judged(context: CheckContext) -> Sequence[CaseResult]:
    """Judge the visible cases without a GPU; return no result if that is impossible."""
    built = context.support.without_gpu(context)
    if built is None:
        return ()
    assignment, language = context.assignment, context.file.language
    drawn = assignment.draw_cases(
        Device.CPU, language, public_seed=context.public_seed, secret_seed=0
    )
    # The right ones, too: a pattern may be that of all cases together.
    cases = [case for case in drawn if _is_visible(case)]
    setup = context.setup(built, private=False)
    # The submission's own time is for its calls on the GPU.
    setup = replace(setup, driver=None, budget=TimeBudget(assignment.limits))
    return check_correctness(
        setup, cases, context.data, lambda step: None, oracle=context.oracle
    ).cases


def _is_visible(case: Case | CaseResult) -> bool:
    return case.visibility is Visibility.VISIBLE


def _explained(on_gpu: CaseResult, found: CaseResult) -> CaseResult:
    """Return the result of the GPU, with the words of the other if it failed in the same way."""
    if on_gpu.verdict is not found.verdict:
        return on_gpu
    if on_gpu.verdict is Verdict.RUNTIME_ERROR:
        return _with_cause(on_gpu, found)
    # The words about a launch are at the end. Races and memory without a value differ earlier.
    same = f"{found.pattern}; ".startswith(f"{on_gpu.pattern}; ")
    if on_gpu.mismatched != found.mismatched or on_gpu.pattern is None or not same:
        return on_gpu
    hint = found.hint or on_gpu.hint
    return replace(on_gpu, message=found.message, hint=hint, pattern=found.pattern)


def _with_cause(on_gpu: CaseResult, found: CaseResult) -> CaseResult:
    """Return the result with the cause of its CUDA error or its crash, if that is known.

    CUDA 13 gives error 1, an invalid argument, for all that a launch or a copy refuses.
    """
    if on_gpu.message.split(_CRASHED)[:-1] == found.message.split(_CRASHED)[:-1] != []:
        return replace(on_gpu, message=found.message, hint=found.hint or on_gpu.hint)
    error, cause = (_CUDA_ERROR.fullmatch(one.message) for one in (on_gpu, found))
    if error is None or cause is None or error[2] not in (cause[2], _INVALID_ARGUMENT):
        return on_gpu
    return replace(on_gpu, message=error[1] + (cause[3] or ""), hint=found.hint or on_gpu.hint)
