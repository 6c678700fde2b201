"""The rule that combines many verdicts into one."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report.verdict import Verdict, aggregate

# From mild to severe, written out so that a reordering fails the test.
JUDGED = [
    Verdict.ACCEPTED,
    Verdict.INCONCLUSIVE,
    Verdict.TOO_SLOW,
    Verdict.WRONG_ANSWER,
    Verdict.RUNTIME_ERROR,
    Verdict.OUTPUT_LIMIT,
    Verdict.TIME_LIMIT,
    Verdict.MEMORY_LIMIT,
    Verdict.MEMORY_ERROR,
    Verdict.COMPILE_ERROR,
    Verdict.FORBIDDEN,
    Verdict.TAMPERED,
]
SILENT = [
    Verdict.NOT_SUBMITTED,
    Verdict.SKIPPED,
    Verdict.NOT_MEASURED,
    Verdict.GRADER_ERROR,
]
GROUPS = st.lists(st.sampled_from(Verdict), max_size=8)


def test_every_verdict_is_judged_or_silent() -> None:
    assert [*JUDGED, *SILENT] == list(Verdict)
    assert [verdict for verdict in Verdict if verdict.judged] == JUDGED


@pytest.mark.parametrize("verdict", Verdict)
def test_one_verdict_is_its_own_group(verdict: Verdict) -> None:
    assert aggregate([verdict]) is verdict


@pytest.mark.parametrize(("mild", "grave"), list(itertools.combinations(JUDGED, 2)))
def test_the_graver_of_two_wins(mild: Verdict, grave: Verdict) -> None:
    assert aggregate([mild, grave]) is aggregate([grave, mild]) is grave


@pytest.mark.parametrize("judged", JUDGED)
@pytest.mark.parametrize("silent", [Verdict.NOT_SUBMITTED, Verdict.SKIPPED, Verdict.NOT_MEASURED])
def test_what_was_judged_speaks_for_what_was_not(judged: Verdict, silent: Verdict) -> None:
    assert aggregate([silent, judged]) is aggregate([judged, silent]) is judged


@given(GROUPS)
def test_an_error_of_the_grader_anywhere_makes_the_result_unknown(group: list[Verdict]) -> None:
    assert aggregate([*group, Verdict.GRADER_ERROR]) is Verdict.GRADER_ERROR


@pytest.mark.parametrize(
    ("group", "verdict"),
    [
        ([], Verdict.NOT_SUBMITTED),
        ([Verdict.NOT_SUBMITTED, Verdict.NOT_SUBMITTED], Verdict.NOT_SUBMITTED),
        ([Verdict.NOT_SUBMITTED, Verdict.NOT_MEASURED], Verdict.NOT_MEASURED),
        ([Verdict.NOT_SUBMITTED, Verdict.SKIPPED], Verdict.SKIPPED),
        ([Verdict.SKIPPED, Verdict.NOT_MEASURED], Verdict.NOT_MEASURED),
        ([Verdict.SKIPPED, Verdict.NOT_MEASURED, Verdict.NOT_SUBMITTED], Verdict.NOT_MEASURED),
    ],
)
def test_group_in_which_nothing_was_judged(group: list[Verdict], verdict: Verdict) -> None:
    assert aggregate(group) is verdict


@given(GROUPS, st.randoms())
def test_order_and_repetition_do_not_matter(group: list[Verdict], random: object) -> None:
    shuffled = group * 2
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis's own Random
    assert aggregate(shuffled) is aggregate(group)


@given(GROUPS, GROUPS)
def test_groups_of_groups_are_groups(one: list[Verdict], other: list[Verdict]) -> None:
    parts = [aggregate(part) for part in (one, other) if part]
    assert aggregate(parts) is aggregate([*one, *other])


@given(GROUPS)
def test_verdict_of_a_group_is_a_member(group: list[Verdict]) -> None:
    assert not group or aggregate(group) in group


def test_points_and_pending() -> None:
    assert [verdict for verdict in Verdict if verdict.earns_points] == [
        Verdict.ACCEPTED,
        Verdict.INCONCLUSIVE,
    ]
    assert [verdict for verdict in Verdict if verdict.pending] == [Verdict.NOT_MEASURED]


def test_words_are_those_of_the_report() -> None:
    assert str(Verdict.WRONG_ANSWER) == Verdict.WRONG_ANSWER.value == "wrong_answer"
    assert f"{Verdict.NOT_MEASURED}" == "not_measured"
    assert Verdict.MEMORY_ERROR.phrase == "memory error"
