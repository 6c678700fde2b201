"""The pattern of cases whose output has a few elements, such as one sum: of all cases together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from grader.assignment.cases import Case
from grader.checks.common.case_run import RunSetup
from grader.checks.correctness.answer_hint import Seen, answer_hint
from grader.judge.oracle import CaseData, Oracle
from grader.judge.patterns.subset_hypothesis import SmallCase, explain_together, padding_value
from grader.report.evidence import CaseResult
from grader.report.verdict import Verdict
from grader.vocabulary import Visibility

_MOST_ELEMENTS = 4  # of an output: more show their pattern in one case, and not all are kept
_MOST_COUNTS = 4096  # whole numbers of an output, of which few are wrong
_PLACE = r"only (?:the (?:first|last) )?elements? ?(?:\d+(?: (?:and|to) \d+)?)?"
_MOST_CASES = 12  # of them: bounds the time
_LEAST_CASES = 3  # wrong ones, for a pattern of their values alone
_WHOLE = "every wrong element is a whole number"
_MOST_WHOLE = 2.0**22  # every larger float32 is nearly or quite a whole number


def with_common_pattern(
    results: Sequence[CaseResult],
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    oracle: Oracle | None,
    setup: RunSetup,
) -> list[CaseResult]:
    """Return the results; wrong visible cases without a pattern get the one that fits them all."""
    open_ = [at for at, one in enumerate(results) if _is_open(one)]
    seen = [
        at
        for at, one in enumerate(results)
        if at in open_ or (_is_visible(one) and one.verdict is Verdict.ACCEPTED)
    ]
    wrong = [one for one in results if _is_visible(one) and one.mismatched]
    if oracle is None or not open_ or len(open_) < len(wrong):
        return list(results)
    signature = setup.assignment.signature
    given = [
        small
        for at in seen
        if (small := _small(results[at], cases[at], data(cases[at]), setup)) is not None
    ]
    pattern = (
        explain_together(oracle, signature, given[:_MOST_CASES])
        or padding_value(signature, given)
        or _one_number(given)
        or _whole_numbers(given)
    )
    if pattern is None:
        return list(results)
    outputs = {one.output for one in given}
    seen_as = Seen(
        pattern=pattern,
        output=next(iter(outputs)),
        returned=False,
        nondeterministic=False,
        kernel=None,
    )
    hint = answer_hint(seen_as, setup.built, signature)
    return [
        replace(
            one,
            pattern=pattern,
            message=f"{one.message.removesuffix(f': {one.pattern}')}: {pattern}",
            hint=hint,
        )
        if at in open_
        else one
        for at, one in enumerate(results)
    ]


def _is_visible(result: CaseResult) -> bool:
    return result.visibility is Visibility.VISIBLE


def _is_open(result: CaseResult) -> bool:
    """True if the case is wrong and its elements are known, but no pattern of theirs.

    Of more elements the wrong ones may be few; where they are is no pattern of a count.
    """
    few = 0 < result.elements <= _MOST_ELEMENTS and result.mismatched > 0
    known = 0 < result.mismatched == len(result.mismatches) and result.mismatched <= _MOST_ELEMENTS
    placed = result.pattern is None or re.fullmatch(_PLACE, result.pattern) is not None
    return _is_visible(result) and ((few and result.pattern is None) or (known and placed))


def _small(result: CaseResult, case: Case, data: CaseData, setup: RunSetup) -> SmallCase | None:
    signature = setup.assignment.signature
    if len(signature.outputs) != 1:
        return None
    name = signature.outputs[0].name
    expected = data.expected[name]
    if expected.is_complex() or expected.numel() > (
        _MOST_ELEMENTS if expected.dtype.is_floating_point else _MOST_COUNTS
    ):
        return None
    if result.mismatched != len(result.mismatches):
        return None
    actual = expected.clone()
    for one in result.mismatches:
        if one.actual == one.actual and abs(one.actual) != float("inf"):
            actual[one.index] = one.actual
        elif expected.dtype.is_floating_point:
            actual[one.index] = torch.nan
    tolerance = setup.assignment.tolerances[setup.built.language]
    return SmallCase(
        case=case,
        data=data,
        output=name,
        actual=actual,
        expected=expected,
        tolerance=replace(tolerance, exact=False),
        right=result.verdict is Verdict.ACCEPTED,
    )


def _one_number(cases: Sequence[SmallCase]) -> str | None:
    """Return the pattern of a result that is the same number in all wrong cases, else None."""
    wrong = [one for one in cases if not one.right]
    actual = {float(value) for one in wrong for value in one.actual.flatten()}
    if len(wrong) < _LEAST_CASES or len(actual) != 1:
        return None
    return f"every element is {actual.pop():g}"


def _whole_numbers(cases: Sequence[SmallCase]) -> str | None:
    """Return the pattern of floats that are whole numbers in all wrong cases; None without it."""
    wrong = [one for one in cases if not one.right]
    actual = [float(value) for one in wrong for value in one.actual.flatten()]
    expected = [float(value) for one in wrong for value in one.expected.flatten()]
    numbers = [value for value in actual if value == value]
    fits = all(value.is_integer() and abs(value) < _MOST_WHOLE for value in numbers)
    differs = sum(not value.is_integer() for value in expected) >= _LEAST_CASES
    return _WHOLE if fits and differs and len(set(actual)) > 1 else None
