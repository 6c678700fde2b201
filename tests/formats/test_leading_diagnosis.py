"""The diagnosis that a kernel's block begins with: the cause before what follows from it."""

from __future__ import annotations

import dataclasses

import pytest
import sample_reports
from sample_reports import build, faulty, finding, kernel, memory, visible, wrong_case

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


def test_a_race_by_which_threads_leave_a_loop_explains_its_missed_barrier() -> None:
    hint = "threads leave the loop by what they read in line 7"
    race = dataclasses.replace(finding("race", 7), hint=hint)
    assert lead(build(), wrong(), faulty(race, MISSED)) == race.message


def test_a_barrier_that_is_not_ready_explains_threads_that_wait_for_ever() -> None:
    hint = "one thread initialises `bar` in line 7 while others are in line 9 already"
    race = dataclasses.replace(finding("race", 7), hint=hint)
    assert lead(build(), wrong(), faulty(race, finding("barrier", 9))) == race.message


@pytest.mark.parametrize(
    "message",
    ["freed memory is accessed", "shared memory is read before an asynchronous copy into it"],
)
def test_a_mistake_of_its_own_comes_before_what_the_numbers_name(message: str) -> None:
    kind: FindingKind = "out_of_bounds" if "freed" in message else "uninitialized"
    fault = finding(kind, 7, message=message, space="shared")
    assert lead(build(), wrong("the sum over `k` lacks its last term"), faulty(fault)) == message


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
