"""The rules that turn verdicts into points: no point is lost or counted twice."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sample_reports
from builds import silu_build
from hypothesis import given
from hypothesis import strategies as st

from grader.assignment.model import Assignment, Kernel
from grader.assignment.signature import Signature
from grader.assignment.tolerance import Tolerance
from grader.build.artifact import Rejected
from grader.checks.check import CheckOutcome, KernelFile
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.correctness.check import CorrectnessCheck, by_visibility, hidden_elsewhere
from grader.checks.counters.check import CountersCheck
from grader.checks.memory.check import MemoryCheck
from grader.errors import GraderError
from grader.grading import check_results, score
from grader.grading.file_state import FileState, all_right
from grader.grading.plan import Options
from grader.report.evidence import (
    BuildEvidence,
    CaseResult,
    CorrectnessEvidence,
    CountersEvidence,
    Finding,
    MemoryEvidence,
)
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.vocabulary import CheckName, Language, Visibility

KERNEL = Kernel(
    name="silu",
    title="SiLU",
    files={Language.CUDA: "silu.cu", Language.TRITON: "silu.py"},
    points={CheckName.CORRECTNESS: 75.0, CheckName.MEMORY: 25.0},
)
ASSIGNMENT = Assignment(
    name="silu",
    title="SiLU",
    folder=Path("assignments/silu"),
    signature=Signature(entry="silu", arguments=(), types={}),
    kernels=(KERNEL,),
    tolerances={Language.CUDA: Tolerance(exact=True)},
    cases=(),
)
COMPILED = BuildEvidence(tool="g++ 12.2.0", cached=False)
BUILT = silu_build(evidence=COMPILED)
EARNING = [verdict for verdict in Verdict if verdict.earns_points]
LOSING = [v for v in Verdict if v.judged and not v.earns_points]


def rejected(verdict: Verdict) -> Rejected:
    return Rejected(verdict=verdict, message="it says why", hint="look here", evidence=COMPILED)


# --- a check ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", EARNING)
def test_what_earns_points_earns_all(verdict: Verdict) -> None:
    assert score.points(verdict, 40.0) == (40.0, 0.0)


@pytest.mark.parametrize("verdict", [*LOSING, Verdict.NOT_SUBMITTED, Verdict.SKIPPED])
def test_what_earns_no_points_loses_all(verdict: Verdict) -> None:
    assert score.points(verdict, 40.0) == (0.0, 0.0)


def test_what_was_not_measured_is_neither_won_nor_lost() -> None:
    assert score.points(Verdict.NOT_MEASURED, 40.0) == (0.0, 40.0)


def test_an_error_of_the_grader_has_no_points_and_not_zero() -> None:
    assert score.points(Verdict.GRADER_ERROR, 40.0) == (None, 0.0)


# --- shares ----------------------------------------------------------------------------------

COUNTS = st.lists(st.integers(0, 200), max_size=8)
MOST = st.integers(0, 100_000_00).map(lambda hundredths: hundredths / 100)


@given(MOST, COUNTS)
def test_shares_lose_nothing(most: float, counts: list[int]) -> None:
    parts = score.shares(most, counts)
    assert len(parts) == len(counts)
    assert round(sum(parts), 2) == (most if any(counts) else 0.0)


@given(MOST, COUNTS)
def test_share_is_its_part_to_the_hundredth(most: float, counts: list[int]) -> None:
    most += 0.005 * (most == int(most))  # whole points are divided otherwise
    for part, count in zip(score.shares(most, counts), counts, strict=True):
        assert part >= 0
        assert part == round(part, 2)
        assert not any(counts) or abs(part - most * count / sum(counts)) <= 0.0151


LINES = st.lists(st.tuples(st.integers(0, 200), st.booleans()), min_size=1, max_size=8)


@given(st.integers(0, 200), LINES)
def test_whole_points_have_whole_shares(most: int, lines: list[tuple[int, bool]]) -> None:
    counts, hidden = [count for count, _ in lines], [unseen for _, unseen in lines]
    parts = score.shares(float(most), counts, hidden)
    assert all(part == int(part) for part in parts)
    assert sum(parts) == (most if any(counts) else 0)
    seen = [
        (part, count)
        for part, count, unseen in zip(parts, counts, hidden, strict=True)
        if not unseen
    ]
    if most > len(lines):
        assert all(bool(part) == bool(count) for part, count in seen)
    # A copy of the assignment has one line for all hidden cases.
    rest = sum(count for count, unseen in lines if unseen)
    copy = score.shares(
        float(most), [count for _, count in seen] + [rest], [False] * len(seen) + [True]
    )
    assert copy[:-1] == [part for part, _ in seen]


@given(MOST, st.integers(1, 20), st.integers(1, 8))
def test_equal_counts_have_nearly_equal_shares(most: float, count: int, groups: int) -> None:
    parts = score.shares(most, [count] * groups)
    assert round(max(parts) - min(parts), 2) <= (1 if most == int(most) else 0.01)


@pytest.mark.parametrize(
    ("most", "counts", "parts"),
    [
        (75.0, [12, 3], [60.0, 15.0]),  # SiLU's
        (100.0, [1, 1, 1], [34.0, 33.0, 33.0]),
        (12.5, [1, 1, 1], [4.17, 4.16, 4.17]),
        (13.0, [22, 3], [11.0, 2.0]),
        (13.0, [60, 1], [12.0, 1.0]),
        (1.0, [1, 1], [1.0, 0.0]),
        (0.03, [1, 1], [0.01, 0.02]),
        (40.0, [0, 5], [0.0, 40.0]),
        (40.0, [0, 0], [0.0, 0.0]),
        (40.0, [], []),
    ],
)
def test_shares(most: float, counts: list[int], parts: list[float]) -> None:
    assert score.shares(most, counts) == parts


# --- building --------------------------------------------------------------------------------


def test_a_build_that_went_well_names_its_tool_and_earns_nothing() -> None:
    check = check_results.build_result(BUILT)
    assert (check.check, check.verdict) == (CheckName.BUILD, Verdict.ACCEPTED)
    assert "g++ 12.2.0" in check.message
    assert (check.score, check.max_score, check.pending) == (0.0, 0.0, 0.0)
    assert check.evidence is COMPILED


@pytest.mark.parametrize(
    "verdict", [Verdict.COMPILE_ERROR, Verdict.TIME_LIMIT, Verdict.NOT_MEASURED]
)
def test_a_build_that_failed_says_why(verdict: Verdict) -> None:
    check = check_results.build_result(rejected(verdict))
    assert (check.verdict, check.message, check.hint) == (verdict, "it says why", "look here")
    assert (check.score, check.max_score, check.pending) == (0.0, 0.0, 0.0)


def test_without_a_build_all_other_checks_are_skipped_and_lost() -> None:
    checks = check_results.without_build(KERNEL, rejected(Verdict.COMPILE_ERROR))
    assert [check.check for check in checks] == [CheckName.CORRECTNESS, CheckName.MEMORY]
    assert {check.verdict for check in checks} == {Verdict.SKIPPED}
    assert [(check.score, check.max_score, check.pending) for check in checks] == [
        (0.0, 75.0, 0.0),
        (0.0, 25.0, 0.0),
    ]


def test_without_a_build_for_want_of_a_tool_all_points_are_pending() -> None:
    checks = check_results.without_build(KERNEL, rejected(Verdict.NOT_MEASURED))
    assert {check.verdict for check in checks} == {Verdict.NOT_MEASURED}
    assert [(check.score, check.pending) for check in checks] == [(0.0, 75.0), (0.0, 25.0)]


# --- correctness -----------------------------------------------------------------------------


def case(n: int, verdict: Verdict = Verdict.ACCEPTED, **changes: object) -> CaseResult:
    return sample_reports.case(
        n, verdict=verdict, message=f"message of {n}", hint=f"hint of {n}", **changes
    )


def unseen(n: int, verdict: Verdict = Verdict.ACCEPTED) -> CaseResult:
    return case(n, verdict, visibility=Visibility.HIDDEN)


def correctness(*cases: CaseResult, output: str = "") -> list[CheckResult]:
    verified = sample_reports.correctness(cases, output=output)
    outcomes = by_visibility(replace(verified, cases_total=len(cases)))
    return check_results.check_results(KERNEL, CorrectnessCheck(), outcomes, correct=None)


def test_a_failure_that_depends_on_earlier_calls_still_says_how_the_program_ended() -> None:
    kept = "right in a process of its own, wrong after other calls"
    assert correctness(case(9, Verdict.RUNTIME_ERROR, pattern=kept))[0].message == (
        f"message of 9, {kept} (n=9)"
    )
    assert correctness(case(9, Verdict.WRONG_ANSWER, pattern=kept))[0].message == f"{kept} (n=9)"


def test_groups_of_cases_earn_points_by_their_weight() -> None:
    verified = sample_reports.correctness((
        case(1, title="edges"), case(2, title="edges"), case(3), case(4, Verdict.WRONG_ANSWER),
        replace(unseen(5, Verdict.WRONG_ANSWER), title="tall", title_shown=False),
        replace(unseen(6), title="wide"), unseen(7), case(8, title="only a name"),
    ))  # fmt: skip
    outcomes = by_visibility(verified, {"edges": 4, "tall": 1, "wide": 2})
    checks = check_results.check_results(KERNEL, CorrectnessCheck(), outcomes, correct=None)
    assert [(check.name, check.max_score, check.score) for check in checks] == [
        ("correctness", 21.0, 0.0),
        ("correctness, edges", 27.0, 27.0),
        ("correctness, hidden", 7.0, 7.0),
        ("correctness, hidden, group 2", 7.0, 0.0),
        ("correctness, hidden, wide", 13.0, 13.0),
    ]
    assert sum(check.max_score for check in checks) == 75


def test_each_visibility_has_an_entry_and_its_share() -> None:
    cases = [case(n, visibility=visibility) for visibility in Visibility for n in (1, 2)]
    checks = correctness(*cases)
    assert [check.visibility for check in checks] == list(Visibility)
    assert [check.name for check in checks] == [
        "correctness",
        "correctness, hidden",
        "correctness, after due date",
        "correctness, after published",
    ]
    assert sum(check.score or 0.0 for check in checks) == 75.0
    assert [check.max_score for check in checks] == [19.0, 19.0, 19.0, 18.0]


def test_an_entry_is_all_or_nothing() -> None:
    seen, hidden = correctness(case(1), case(2, Verdict.WRONG_ANSWER), case(3), unseen(4))
    assert (seen.verdict, seen.score, seen.max_score) == (Verdict.WRONG_ANSWER, 0.0, 56.0)
    assert (hidden.verdict, hidden.score, hidden.max_score) == (Verdict.ACCEPTED, 19.0, 19.0)


def test_right_cases_beside_a_forged_one_earn_nothing() -> None:
    seen, hidden = correctness(case(1, Verdict.TAMPERED), unseen(2))
    assert (seen.verdict, seen.score) == (Verdict.TAMPERED, 0.0)
    assert (hidden.verdict, hidden.score) == (Verdict.ACCEPTED, 0.0)
    assert hidden.message == (
        "1 of 1 hidden cases right; no points: other cases were tampered with"
    )


def test_message_is_that_of_the_first_of_the_gravest_visible_cases() -> None:
    (check,) = correctness(
        case(1),
        case(2, Verdict.WRONG_ANSWER),
        case(3, Verdict.MEMORY_ERROR),
        case(4, Verdict.MEMORY_ERROR),
    )
    assert check.verdict is Verdict.MEMORY_ERROR
    assert (check.message, check.hint) == ("message of 3 (n=3)", "hint of 3")


def test_right_cases_are_counted() -> None:
    (check,) = correctness(case(1), case(2))
    assert (check.message, check.hint) == ("2 of 2 cases right", "")


@pytest.mark.parametrize("verdict", LOSING)
def test_message_of_hidden_cases_tells_a_count_only(verdict: Verdict) -> None:
    (check,) = correctness(unseen(77777, verdict), unseen(88888))
    assert (check.verdict, check.message, check.hint) == (
        verdict,
        "1 of 2 hidden cases right",
        "",
    )


def test_output_stands_in_the_visible_entry_alone() -> None:
    seen, hidden = correctness(case(1), unseen(77777), output="printed")
    outputs = [
        check.evidence.output
        for check in (seen, hidden)
        if isinstance(check.evidence, CorrectnessEvidence)
    ]
    assert outputs == ["printed", ""]


def test_entry_holds_its_own_cases_and_their_time() -> None:
    seen, hidden = correctness(case(1, wall_s=0.25), case(2, wall_s=0.5), unseen(3))
    assert isinstance(seen.evidence, CorrectnessEvidence)
    assert isinstance(hidden.evidence, CorrectnessEvidence)
    assert [found.name for found in seen.evidence.cases] == ["n=1", "n=2"]
    assert (seen.evidence.cases_total, hidden.evidence.cases_total) == (2, 1)
    assert seen.wall_s == 0.75


def test_a_case_that_this_machine_could_not_run_leaves_the_points_pending() -> None:
    (check,) = correctness(case(1), case(2, Verdict.NOT_MEASURED))
    assert (check.verdict, check.score, check.pending) == (Verdict.NOT_MEASURED, 0.0, 75.0)
    assert check.message == "message of 2 (n=2)"


def test_a_wrong_case_outweighs_one_that_could_not_be_run() -> None:
    (check,) = correctness(case(1, Verdict.NOT_MEASURED), case(2, Verdict.WRONG_ANSWER))
    assert (check.verdict, check.score, check.pending) == (Verdict.WRONG_ANSWER, 0.0, 0.0)
    assert check.message == "message of 2 (n=2)"


@given(
    st.lists(
        st.tuples(
            st.sampled_from([v for v in Verdict if v.judged or v.pending]),
            st.sampled_from(Visibility),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_points_are_won_or_pending_or_lost_and_add_up(
    drawn: list[tuple[Verdict, Visibility]],
) -> None:
    cases = [case(n, verdict, visibility=seen) for n, (verdict, seen) in enumerate(drawn)]
    checks = correctness(*cases)
    assert round(sum(check.max_score for check in checks), 2) == 75.0
    for check in checks:
        assert check.score is not None
        assert check.score + check.pending in (0.0, check.max_score)
        assert bool(check.score) <= check.verdict.earns_points


def outcome(verdict: Verdict) -> CheckOutcome[CorrectnessEvidence]:
    return CheckOutcome(diagnosis=Diagnosis(verdict, "it says so"))


@pytest.mark.parametrize("verdict", EARNING)
def test_cases_are_right_if_all_outcomes_earn_points(verdict: Verdict) -> None:
    wrong, pending = outcome(Verdict.WRONG_ANSWER), outcome(Verdict.NOT_MEASURED)
    assert all_right([outcome(verdict), outcome(verdict)]) is True
    assert all_right([outcome(verdict), wrong]) is False
    assert all_right([wrong, pending]) is False
    assert all_right([outcome(verdict), pending]) is None
    assert all_right([]) is None
    elsewhere = hidden_elsewhere(3)
    assert all_right([outcome(verdict), *elsewhere]) is True
    assert all_right([wrong, *elsewhere]) is False
    assert all_right(elsewhere) is None
    assert hidden_elsewhere(0) == []


# --- memory ----------------------------------------------------------------------------------


def memory(
    verdict: Verdict, *, correct: bool | None, evidence: MemoryEvidence | None = None
) -> CheckResult:
    diagnosis = Diagnosis(verdict, "it says so", hint="look here")
    outcome = CheckOutcome(diagnosis=diagnosis, evidence=evidence)
    (line,) = check_results.check_results(KERNEL, MemoryCheck(), [outcome], correct=correct)
    return line


def test_memory_safety_of_a_right_kernel_earns_its_points() -> None:
    check = memory(Verdict.ACCEPTED, correct=True)
    assert (check.check, check.name) == (CheckName.MEMORY, "memory")
    assert (check.score, check.max_score, check.pending) == (25.0, 25.0, 0.0)
    assert (check.message, check.hint) == ("it says so", "look here")


def test_memory_safety_of_a_wrong_kernel_earns_nothing_and_says_so() -> None:
    check = memory(Verdict.ACCEPTED, correct=False)
    assert (check.verdict, check.score, check.max_score) == (Verdict.ACCEPTED, 0.0, 25.0)
    assert check.message == "it says so; its points count only when the cases are right"


@pytest.mark.parametrize("correct", [True, False])
@pytest.mark.parametrize("verdict", LOSING)
def test_memory_error_costs_the_points_in_its_own_words(verdict: Verdict, correct: bool) -> None:
    check = memory(verdict, correct=correct)
    assert (check.verdict, check.score, check.pending) == (verdict, 0.0, 0.0)
    assert check.message == "it says so"


def test_memory_safety_that_could_not_be_checked_is_pending() -> None:
    check = memory(Verdict.NOT_MEASURED, correct=True)
    assert (check.score, check.pending) == (0.0, 25.0)


def test_memory_points_wait_for_a_correctness_that_is_pending() -> None:
    check = memory(Verdict.ACCEPTED, correct=None)
    assert (check.verdict, check.score, check.pending) == (Verdict.ACCEPTED, 0.0, 25.0)


def test_memory_points_of_a_wrong_kernel_are_not_pending() -> None:
    check = memory(Verdict.NOT_MEASURED, correct=False)
    assert (check.score, check.pending) == (0.0, 0.0)


def stopped(*findings: Finding) -> list[CheckResult]:
    """Return the lines of a kernel with right cases in which the memory check found these."""
    cases = by_visibility(sample_reports.correctness((case(9), unseen(10))))
    verdict = Verdict.MEMORY_ERROR if findings else Verdict.ACCEPTED
    memory = CheckOutcome(
        diagnosis=Diagnosis(verdict, "it says so"),
        evidence=sample_reports.memory_evidence(*findings),
    )
    file = KernelFile(kernel=KERNEL, language=Language.CUDA, source=SourceFile(path="silu.cu"))
    found: dict[CheckName, tuple[CheckOutcome[Any], ...]]
    found = {CheckName.CORRECTNESS: tuple(cases), CheckName.MEMORY: (memory,)}
    state = FileState(file=file, build=BUILT, found=found)
    lines = check_results.results(state, Options(), finished=True)
    return [line for line in lines if line.check is CheckName.CORRECTNESS]


MISALIGNED = sample_reports.finding("misaligned", 16)


def test_right_cases_earn_nothing_where_every_gpu_stops() -> None:
    lines = stopped(sample_reports.finding("leak", 3), MISALIGNED)
    assert len(lines) == 2
    for line in lines:
        assert (line.verdict, line.score, line.pending) == (Verdict.ACCEPTED, 0.0, 0.0)
        assert line.message.endswith("; no points: a GPU stops at the misaligned access")


@pytest.mark.parametrize(
    "findings",
    [
        (),
        (sample_reports.finding("out_of_bounds", 16),),
        (replace(MISALIGNED, severity="warning"),),
        (replace(MISALIGNED, kernel=None),),  # in host code, which a CPU runs
    ],
)
def test_right_cases_keep_their_points_with_another_finding(findings: tuple[Finding, ...]) -> None:
    assert sum(line.score or 0.0 for line in stopped(*findings)) == 75.0


# --- counters --------------------------------------------------------------------------------

COUNTED = replace(KERNEL, points={CheckName.CORRECTNESS: 90.0, CheckName.COUNTERS: 10.0})


def counters(
    verdict: Verdict, *, correct: bool | None, of: Kernel = COUNTED
) -> tuple[float | None, float, float]:
    outcome = CheckOutcome[CountersEvidence](diagnosis=Diagnosis(verdict, "it says so"))
    (check,) = check_results.check_results(of, CountersCheck(), [outcome], correct=correct)
    assert (check.check, check.name, check.verdict) == (CheckName.COUNTERS, "counters", verdict)
    return check.score, check.max_score, check.pending


def test_counters_within_bounds_earn_points_if_the_cases_are_right() -> None:
    assert counters(Verdict.ACCEPTED, correct=True) == (10.0, 10.0, 0.0)
    assert counters(Verdict.ACCEPTED, correct=False) == (0.0, 10.0, 0.0)
    assert counters(Verdict.ACCEPTED, correct=None) == (0.0, 10.0, 10.0)


def test_counters_beyond_a_bound_lose_their_points_alone() -> None:
    assert counters(Verdict.TOO_SLOW, correct=True) == (0.0, 10.0, 0.0)
    assert counters(Verdict.NOT_MEASURED, correct=True) == (0.0, 10.0, 10.0)


def test_counters_without_points_are_shown_only() -> None:
    assert counters(Verdict.ACCEPTED, correct=True, of=KERNEL) == (0.0, 0.0, 0.0)


def test_a_build_alone_does_not_make_a_kernel_accepted() -> None:
    pending = memory(Verdict.NOT_MEASURED, correct=True)
    assert kernel(check_results.build_result(BUILT), pending).verdict is Verdict.NOT_MEASURED
    assert kernel(check_results.build_result(BUILT)).verdict is Verdict.ACCEPTED


def test_an_error_of_the_grader_names_the_check_it_broke() -> None:
    error = check_results.grader_error(KERNEL, CheckName.MEMORY, GraderError("it broke"))
    assert (error.check, error.name, error.max_score) == (CheckName.MEMORY, "memory", 25.0)


# --- a kernel --------------------------------------------------------------------------------


def kernel(*checks: CheckResult, language: Language = Language.CUDA) -> KernelResult:
    return score.kernel_result(KERNEL, language, checks)


def test_kernel_has_the_sum_of_its_checks_and_the_gravest_verdict() -> None:
    checks = [
        check_results.build_result(BUILT),
        *correctness(case(1), unseen(2, Verdict.WRONG_ANSWER)),
        memory(Verdict.NOT_MEASURED, correct=True),
    ]
    result = kernel(*checks)
    assert (result.verdict, result.score, result.pending) == (Verdict.WRONG_ANSWER, 38.0, 25.0)
    assert (result.max_score, result.counted, result.file) == (100.0, True, "silu.cu")
    assert result.checks == tuple(checks)


def test_kernel_file_is_that_of_its_language() -> None:
    assert kernel(language=Language.TRITON).file == "silu.py"


def test_an_error_of_the_grader_makes_the_score_of_a_kernel_unknown() -> None:
    error = check_results.grader_error(
        KERNEL, CheckName.CORRECTNESS, GraderError("the oracle raised", tip="fix it")
    )
    assert (error.verdict, error.score, error.max_score) == (Verdict.GRADER_ERROR, None, 100.0)
    assert error.message == "the grader failed, not your code: the oracle raised"
    assert error.hint == "fix it"
    result = kernel(check_results.build_result(BUILT), *correctness(case(1)), error)
    assert (result.verdict, result.score, result.max_score) == (Verdict.GRADER_ERROR, None, 100.0)


def test_an_error_of_the_grader_without_a_tip_has_no_hint() -> None:
    error = check_results.grader_error(KERNEL, CheckName.CORRECTNESS, GraderError("it broke"))
    assert error.hint == ""


def test_hundredths_add_up_without_dust() -> None:
    checks = [sample_reports.visible(score=0.1) for _ in range(3)]
    assert kernel(*checks).score == 0.3


def test_kernel_that_was_not_handed_in_has_no_file_and_no_points() -> None:
    result = score.not_submitted(KERNEL, "no silu.cu in homework")
    assert (result.language, result.file, result.verdict) == (None, None, Verdict.NOT_SUBMITTED)
    assert (result.score, result.max_score, result.pending) == (0.0, 100.0, 0.0)
    assert [(check.check, check.message) for check in result.checks] == [
        (CheckName.BUILD, "no silu.cu in homework")
    ]
    assert result.counted


# --- two languages ---------------------------------------------------------------------------


def in_language(
    language: Language, won: float | None, pending: float = 0.0, verdict: Verdict | None = None
) -> KernelResult:
    if verdict is None:
        verdict = Verdict.GRADER_ERROR if won is None else Verdict.ACCEPTED
    return replace(kernel(language=language), score=won, pending=pending, verdict=verdict)


def counted(cuda: KernelResult, triton: KernelResult) -> list[bool]:
    return [result.counted for result in score.mark_counted([cuda, triton])]


@pytest.mark.parametrize(
    ("cuda", "triton", "better"),
    [
        ((100.0, 0.0), (75.0, 0.0), Language.CUDA),
        ((75.0, 0.0), (100.0, 0.0), Language.TRITON),
        ((75.0, 0.0), (75.0, 25.0), Language.TRITON),  # the same points won, and more pending
        ((75.0, 0.0), (60.0, 40.0), Language.CUDA),  # points won come first
        ((75.0, 25.0), (75.0, 25.0), Language.CUDA),  # the order given
        ((0.0, 0.0), (0.0, 0.0), Language.CUDA),
        ((100.0, 0.0), (None, 0.0), Language.TRITON),  # it is unknown which is better
        ((None, 0.0), (100.0, 0.0), Language.CUDA),
    ],
)
def test_better_language_counts(
    cuda: tuple[float | None, float], triton: tuple[float | None, float], better: Language
) -> None:
    marks = counted(in_language(Language.CUDA, *cuda), in_language(Language.TRITON, *triton))
    assert marks == [better is Language.CUDA, better is Language.TRITON]


def test_one_language_counts_and_none_is_nothing() -> None:
    alone = replace(in_language(Language.CUDA, 0.0), counted=False)
    assert score.mark_counted([alone]) == [replace(alone, counted=True)]
    assert score.mark_counted([]) == []


WORTH = st.tuples(
    st.none() | st.sampled_from([0.0, 10.0, 20.0]), st.sampled_from([0.0, 5.0]), st.booleans()
)


@given(st.lists(WORTH, min_size=1, max_size=4))
def test_exactly_one_language_counts_and_none_is_better(
    worths: list[tuple[float | None, float, bool]],
) -> None:
    results = [
        replace(in_language(Language.CUDA, won, pending), counted=before)
        for won, pending, before in worths
    ]
    marked = score.mark_counted(results)
    assert [replace(result, counted=False) for result in marked] == [
        replace(result, counted=False) for result in results
    ]
    (best,) = [result for result in marked if result.counted]
    unknown = any(result.score is None for result in marked)
    assert (best.score is None) == unknown
    if not unknown:
        assert best.score == max(result.score or 0.0 for result in marked)


# --- a submission -------------------------------------------------------------------------------


def assemble(*kernels: KernelResult) -> Report:
    return score.assemble(
        ASSIGNMENT, kernels, filtered=False, wall_s=1.5, environment={"device": "cpu"}
    )


def test_submission_has_the_sum_of_the_kernels_that_count() -> None:
    better = in_language(Language.CUDA, 75.0, 25.0)
    worse = replace(in_language(Language.TRITON, 50.0, 10.0), counted=False)
    other = in_language(Language.CUDA, 33.33, verdict=Verdict.WRONG_ANSWER)
    report = assemble(better, worse, other)
    assert (report.score, report.max_score, report.pending) == (108.33, 200.0, 25.0)
    assert (report.verdict, report.handed_in, report.kernels_total) == (Verdict.WRONG_ANSWER, 2, 2)
    assert report.kernels == (better, worse, other)
    assert (report.assignment, report.title, report.wall_s) == ("silu", "SiLU", 1.5)
    assert report.environment == {"device": "cpu"}
    assert not report.filtered


def test_sums_of_points_are_rounded() -> None:
    report = assemble(in_language(Language.CUDA, 0.1, 0.1), in_language(Language.TRITON, 0.2, 0.2))
    assert (report.score, report.pending) == (0.3, 0.3)


def test_verdict_of_the_language_that_does_not_count_is_not_the_submissions() -> None:
    worse = replace(in_language(Language.TRITON, 0.0, verdict=Verdict.TAMPERED), counted=False)
    assert assemble(in_language(Language.CUDA, 75.0), worse).verdict is Verdict.ACCEPTED


def test_kernel_not_handed_in_costs_its_points_and_not_the_verdict() -> None:
    absent = score.not_submitted(KERNEL, "absent")
    report = assemble(in_language(Language.CUDA, 100.0), absent)
    assert (report.verdict, report.score, report.max_score) == (Verdict.ACCEPTED, 100.0, 200.0)
    assert (report.handed_in, report.kernels_total) == (1, 2)


def test_nothing_handed_in_is_not_submitted() -> None:
    report = assemble(score.not_submitted(KERNEL, "absent"))
    assert (report.verdict, report.score, report.handed_in) == (Verdict.NOT_SUBMITTED, 0.0, 0)


def test_an_error_of_the_grader_makes_the_score_of_the_submission_unknown() -> None:
    report = assemble(in_language(Language.CUDA, 100.0), in_language(Language.CUDA, None))
    assert (report.verdict, report.score, report.max_score) == (Verdict.GRADER_ERROR, None, 200.0)


def test_an_error_of_the_grader_in_a_language_that_would_lose_still_withholds_the_score() -> None:
    results = score.mark_counted(
        [in_language(Language.CUDA, 100.0), in_language(Language.TRITON, None)]
    )
    assert assemble(*results).score is None


def test_part_of_a_run_is_marked() -> None:
    report = score.assemble(ASSIGNMENT, [], filtered=True, wall_s=0.0, environment={})
    assert report.filtered
    assert (report.score, report.kernels_total) == (0.0, 0)


@pytest.mark.parametrize(
    ("seen", "hidden", "safe"), list(itertools.product([True, False], repeat=3))
)
def test_points_of_silu(seen: bool, hidden: bool, safe: bool) -> None:
    """12 visible cases and 3 hidden ones share 75; 25 are for memory, if all cases are right."""
    right = {True: Verdict.ACCEPTED, False: Verdict.WRONG_ANSWER}
    cases = [case(n, right[seen or n > 0]) for n in range(12)]
    cases += [unseen(n, right[hidden or n > 0]) for n in range(3)]
    checks = correctness(*cases)
    verdict = Verdict.ACCEPTED if safe else Verdict.MEMORY_ERROR
    result = kernel(*checks, memory(verdict, correct=seen and hidden))
    assert result.score == 60 * seen + 15 * hidden + 25 * (seen and hidden and safe)
    assert result.max_score == 100.0


@pytest.mark.parametrize("verdict", [Verdict.ACCEPTED, Verdict.WRONG_ANSWER])
def test_a_bonus_comes_on_top_and_decides_nothing(verdict: Verdict) -> None:
    regular = in_language(Language.CUDA, 75.0)
    bonus = replace(in_language(Language.CUDA, 10.0, verdict=verdict), bonus=True)
    report = assemble(regular, bonus)
    assert (report.score, report.max_score) == (85.0, 100.0)
    assert report.verdict is Verdict.ACCEPTED
    assert score.overall([bonus]) is verdict
