"""Of several wrong cases, the one that leads to the mistake speaks for all."""

from __future__ import annotations

import dataclasses
import math

import pytest
from sample_reports import wrong_case

from grader.checks.correctness.leading_case import leading_case
from grader.report.verdict import Verdict

LACKS = "the sum over `k` lacks its last term"


def test_a_pattern_of_one_narrow_case_does_not_speak_for_many() -> None:
    """Along an axis of one element a product agrees with what all other cases refute."""
    named = wrong_case(20, pattern=LACKS, sizes={"m": 20, "n": 1})
    others = [wrong_case(100 + n, pattern=None) for n in range(20)]
    few = leading_case([named, *others[:3]], Verdict.WRONG_ANSWER)
    many = leading_case([named, *others], Verdict.WRONG_ANSWER)
    assert few is not None and few.pattern == LACKS
    assert many is not None and many.pattern is None
    wide = dataclasses.replace(named, sizes={"m": 20, "n": 4})
    strong = leading_case([wide, *others], Verdict.WRONG_ANSWER)
    assert strong is not None and strong.pattern == LACKS


OTHER_NUMBER = "the result is that of `epsilon` = 0"


@pytest.mark.parametrize("pattern", [OTHER_NUMBER, "the result is that of a known mistake: a sum"])
def test_another_formula_leads_only_where_most_cases_show_it(pattern: str) -> None:
    """In a case that is nearly right, an argument that is too small to show seems to be 0."""
    number = [wrong_case(20 + n, pattern=pattern, max_error=1.0) for n in range(2)]
    others = [wrong_case(50 + n, pattern=None, max_error=1.0) for n in range(7)]
    most = leading_case([*number, *others[:2]], Verdict.WRONG_ANSWER)
    few = leading_case([*number, *others], Verdict.WRONG_ANSWER)
    assert most is not None and most.pattern == pattern
    assert few is not None and few.pattern is None
    # A case without an error in numbers, such as NaN, says nothing against it.
    undefined = [dataclasses.replace(one, max_error=None) for one in others]
    still = leading_case([*number, *undefined], Verdict.WRONG_ANSWER)
    assert still is not None and still.pattern == pattern


def test_what_is_wrong_with_an_argument_says_more_than_that_it_seems_to_be_0() -> None:
    number = [wrong_case(20 + n, pattern=OTHER_NUMBER, max_error=1.0) for n in range(3)]
    beside = wrong_case(50, pattern="epsilon is added to the root, not under it", max_error=1.0)
    chance = wrong_case(60, pattern="wrong exactly where `x` is 2 or less", max_error=1.0)
    found = leading_case([*number, chance, beside], Verdict.WRONG_ANSWER)
    assert found is not None and found.pattern == beside.pattern


def test_an_error_of_an_argument_that_is_one_comes_after_others() -> None:
    cases = [wrong_case(n, verdict=Verdict.COMPILE_ERROR, pattern=None) for n in (1, 33, 20)]
    found = leading_case(cases, Verdict.COMPILE_ERROR)
    assert found is not None and found.sizes == {"n": 20}


def test_a_known_mistake_that_gives_no_number_leads_only_where_it_explains_all() -> None:
    """Much gives NaN in the same elements."""
    known = wrong_case(20, pattern="the result is that of a known mistake: no maximum")
    known = dataclasses.replace(
        known,
        mismatches=tuple(dataclasses.replace(one, actual=math.nan) for one in known.mismatches),
    )
    other = wrong_case(40, pattern="every element is not a number")
    alone = leading_case([known, known], Verdict.WRONG_ANSWER)
    beside = leading_case([known, known, other], Verdict.WRONG_ANSWER)
    assert alone is not None and alone.pattern == known.pattern
    assert beside is not None and beside.pattern == other.pattern
