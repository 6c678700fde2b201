"""The wrong case of which a student reads first: the one whose pattern leads to the mistake.

Of what several checks say, `formats.leading_diagnosis` picks what leads; of an output with a few
elements, `together` looks at all cases at once before.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Sequence

from grader.report.evidence import MOST_DESCRIBED, CaseResult
from grader.report.verdict import Verdict
from grader.text.hints import hints, matching_hint
from grader.text.numbers import without_numbers as alike

_TELLING = 8  # wrong elements: a case with fewer has no pattern
_MOST_ALONE = 6  # wrong cases for all of which the pattern of a single one may speak
_NOTHING = "nothing was ever written"
_ONE_NUMBER = re.compile(r"every element is [-\d.e+]+$")
_OTHER_NUMBER = re.compile(
    r"^the result is that of `(?P<name>\w+)` (= \S+( in every element)?"
    r"|with the opposite sign|times .+|divided by .+|in the denominator.+)$"
)
_OFTEN_BY_CHANCE = re.compile(rf"{_OTHER_NUMBER.pattern}|known mistake: ")


def leading_case(cases: Sequence[CaseResult], verdict: Verdict) -> CaseResult | None:
    """Return the case that tells most about a failure.

    That is one with a pattern that names a cause, else one of the most severe failures: with the
    most frequent pattern, of equally frequent ones the strongest, and of such cases the smallest.
    """
    named = [case for case in cases if verdict.judged and _names_cause(case.pattern)]
    # Along an axis of one element several mistakes are one.
    wrong = [case for case in cases if case.mismatched >= _TELLING and not _left_out(case)]
    alone = Counter(alike(case.pattern) for case in named)
    few = len(wrong) <= _MOST_ALONE
    named = [
        case
        for case in named
        if few or alone[alike(case.pattern)] > 1 or 1 not in case.sizes.values()
    ]
    # Another number for an argument, or another formula, would be wrong in every case that is not
    # very small.
    holds = [case for case in wrong if case.max_error is not None]
    named = [
        case
        for case in named
        if not _OFTEN_BY_CHANCE.search(case.pattern or "")
        or 2 * alone[alike(case.pattern)] >= sum(map(_unexplained, holds))
    ]
    # Much gives NaN: what explains nothing else must explain all that is wrong.
    explained = all(_names_cause(case.pattern) for case in wrong)
    if not explained:
        cases = [case for case in cases if not _known_by_nan(case)] or cases
        named = [case for case in named if case in cases]
    leading = _refining(named) or named or [case for case in cases if case.verdict is verdict]
    # One number in one case alone says little: larger cases say more.
    varied = [case for case in leading if not _ONE_NUMBER.match(case.pattern or "")]
    leading = varied if 2 * len(varied) > len(leading) else leading
    # Of a single element, the last one is all; larger cases say more.
    leading = [case for case in leading if not (case.pattern or "").startswith(_NOTHING)] or leading
    often = Counter(_kind(case) for case in leading)
    return min(
        leading,
        key=lambda case: (
            -often[_kind(case)],
            _rank(case.pattern or ""),
            # Triton compiles an argument of 1 as a constant: its errors are others.
            list(case.sizes.values()).count(1) if verdict is Verdict.COMPILE_ERROR else 0,
            case.elements,
        ),
        default=None,
    )


def _refining(named: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the cases that say what is wrong with an argument, of which others say `= 0`."""
    numbers = [_OTHER_NUMBER.search(case.pattern or "") for case in named]
    names = "|".join(re.escape(number["name"]) for number in numbers if number)
    return [case for case in named if names and re.match(rf"(?:{names})\b", case.pattern or "")]


def _known_by_nan(case: CaseResult) -> bool:
    """True if a known mistake agrees with a case whose wrong elements are not finite."""
    finite = any(math.isfinite(one.actual) for one in case.mismatches)
    return "known mistake" in (case.pattern or "") and bool(case.mismatches) and not finite


def _left_out(case: CaseResult) -> bool:
    """True if the case is so large that nobody looked for its pattern, or found none."""
    return case.pattern is None and case.elements > MOST_DESCRIBED


def _unexplained(case: CaseResult) -> bool:
    """True if the case names no cause of its own, or one that holds by chance in one case."""
    return not _names_cause(case.pattern) or bool(_OFTEN_BY_CHANCE.search(case.pattern or ""))


def _kind(case: CaseResult) -> str:
    """Return the pattern without numbers and without what was launched."""
    return alike((case.pattern or "").partition("; ")[0])


def _names_cause(pattern: str | None) -> bool:
    """True if the pattern of wrong elements names the mistake, not only where it shows."""
    return pattern is not None and bool(matching_hint(pattern, "pattern"))


@functools.lru_cache(maxsize=64)  # the cases of a submission have few patterns
def _rank(pattern: str) -> int:
    """Return the place of a pattern among the hints, which are in order of strength."""
    known = [*hints("pattern"), *hints("symptom")]
    places = (at for at, one in enumerate(known) if re.search(one, pattern))
    return next(places, len(known))
