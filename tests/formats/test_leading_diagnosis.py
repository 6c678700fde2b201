"""The diagnosis that a kernel's block begins with: the cause before what follows from it."""

from __future__ import annotations

import dataclasses
import math

import pytest
import sample_reports
from sample_reports import build, faulty, finding, kernel, memory, visible, wrong_case

from grader.checks.correctness.check import leading_case
from grader.formats.leading_diagnosis import leading_diagnosis
from grader.report.evidence import BuildEvidence, Diagnostic, FindingKind
from grader.report.model import CheckResult
from grader.report.verdict import Verdict

MISSED = finding("barrier", 9, severity="warning", message="threads end before a barrier")


def wrong(message: str = "8 of 9 elements are wrong, without a pattern") -> CheckResult:
    return visible(verdict=Verdict.WRONG_ANSWER, score=0.0, message=message)


def warned(message: str) -> CheckResult:
    found = Diagnostic(file="silu.cu", line=4, severity="warning", message=message)
    return build(evidence=BuildEvidence(tool="g++", cached=False, diagnostics=(found,)))


def lead(*checks: CheckResult, verdict: Verdict = Verdict.WRONG_ANSWER) -> str:
    found = leading_diagnosis(kernel(*checks, verdict=verdict))
    assert found is not None
    return found.message


@pytest.mark.parametrize("kind", ["race", "uninitialized"])
def test_a_missed_barrier_explains_races_and_what_is_not_written(kind: FindingKind) -> None:
    assert lead(build(), wrong(), faulty(finding(kind, 7), MISSED)) == MISSED.message


def test_a_missed_barrier_explains_a_wrong_answer_without_a_cause() -> None:
    warning = dataclasses.replace(memory(), evidence=sample_reports.memory_evidence(MISSED))
    assert lead(build(), wrong(), warning) == MISSED.message
    named = wrong("the sum over `k` lacks its last term")
    assert lead(build(), named, warning) == named.message


def test_a_race_of_blocks_with_an_atomic_explains_a_wrong_answer_without_a_cause() -> None:
    message = "different blocks access one location, and nothing orders blocks"
    race = finding("race", 9, severity="warning", message=message, access="read")
    found = dataclasses.replace(
        memory(), verdict=Verdict.WRONG_ANSWER, evidence=sample_reports.memory_evidence(race)
    )
    assert lead(build(), wrong(), found) == race.message
    named = wrong("the sum over `k` lacks its last term")
    assert lead(build(), named, found) == named.message


def test_an_index_outside_a_local_array_explains_a_crash() -> None:
    message = "an array index is outside the array: `part`"
    outside = finding("out_of_bounds", 9, severity="warning", message=message)
    found = dataclasses.replace(memory(), evidence=sample_reports.memory_evidence(outside))
    crash = visible(verdict=Verdict.RUNTIME_ERROR, score=0.0, message="calling silu crashed")
    assert lead(build(), crash, found, verdict=Verdict.RUNTIME_ERROR) == message
    assert lead(build(), crash, verdict=Verdict.RUNTIME_ERROR) == crash.message


def test_a_missed_barrier_explains_no_access_outside() -> None:
    outside = finding("out_of_bounds", 7)
    assert lead(build(), wrong(), faulty(outside, MISSED)) == outside.message


def test_an_index_outside_a_tile_is_nearer_to_the_cause_than_the_numbers() -> None:
    named = wrong("the sum over `k` lacks its last term")
    tile = finding("out_of_bounds", 7, space="shared")
    assert lead(build(), named, faulty(tile)) == tile.message
    stride = finding("out_of_bounds", 7, space="global")
    assert lead(build(), named, faulty(stride)) == named.message


def test_a_tile_that_is_not_filled_explains_the_terms_that_a_sum_lacks() -> None:
    tile = finding("uninitialized", 7, space="shared")
    assert (
        lead(build(), wrong("the sum over `k` lacks its last term"), faulty(tile)) == tile.message
    )
    turned = wrong("the tile is not turned: rows and columns are swapped")
    assert lead(build(), turned, faulty(tile)) == turned.message


def test_a_pattern_is_known_whatever_case_is_named_behind_it() -> None:
    pattern = "the result is that of `a` with its first 16 columns in the place of every 16"
    stride = finding("out_of_bounds", 7, space="global")
    evidence = sample_reports.correctness((wrong_case(20, pattern=pattern),))
    named = dataclasses.replace(wrong(f"{pattern} (m=1 n=9 k=17)"), evidence=evidence)
    assert lead(build(), named, faulty(stride)) == named.message


def test_a_variable_that_is_surely_without_a_value_explains_a_fault() -> None:
    fault = faulty(finding("misaligned", 6))
    assert "‘p’" in lead(warned("‘p’ is used uninitialized"), wrong(), fault)
    assert lead(warned("‘p’ may be used uninitialized"), wrong(), fault) == "this is misaligned"
    assert "‘p’" in lead(warned("‘p’ may be used uninitialized"), wrong())


@pytest.mark.parametrize("verdict", [Verdict.TIME_LIMIT, Verdict.RUNTIME_ERROR])
def test_a_condition_that_is_always_true_explains_a_loop_without_end(verdict: Verdict) -> None:
    always = "comparison of unsigned expression in ‘>= 0’ is always true"
    failed = visible(verdict=verdict, score=0.0, message="calling silu did not end within 1 s")
    assert lead(warned(always), failed, verdict=verdict) == always
    assert lead(build(), failed, verdict=verdict) == failed.message


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
