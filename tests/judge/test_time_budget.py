"""The time of a whole submission: idling, compiling, and a second try by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from grader.assignment.model import Limits
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.second_try import second_try
from grader.judge.outcome import compiled_s
from grader.judge.time_budget import TimeBudget
from grader.report.verdict import Verdict
from grader.sandbox.own_time import Spent
from grader.vocabulary import Device

WAITED = Diagnosis(Verdict.TIME_LIMIT, "slow", waited=True)
BURNT = Diagnosis(Verdict.TIME_LIMIT, "slow")
WRONG = Diagnosis(Verdict.WRONG_ANSWER, "wrong")


@pytest.fixture
def budget() -> TimeBudget:
    return TimeBudget(Limits(call_s=10, build_s=60))


def test_idle_calls_use_the_budget_up(budget: TimeBudget) -> None:
    for _ in range(4):
        assert not budget.used_up
        assert budget.exhaustion == ""
        budget.spend("silu.py", Spent(wall_s=12, processor_s=1.75))
    assert budget.used_up
    assert budget.exhaustion == (
        "slept for 41 s in 4 calls; all calls of a submission together may sleep for 40 s"
    )


@pytest.mark.parametrize(
    "spent",
    [
        Spent(wall_s=9, processor_s=8.75),
        Spent(wall_s=90, processor_s=9, queued_s=80.75),
        Spent(wall_s=40, processor_s=10, compiled_s=39.75),
        Spent(wall_s=0.9, processor_s=0.5),
    ],
)
def test_a_call_that_does_not_idle_uses_none(budget: TimeBudget, spent: Spent) -> None:
    for _ in range(100):
        budget.spend("silu.cu", spent)
    assert budget.idle_left_s() == 40


def test_a_call_after_that_may_still_idle_for_a_moment(budget: TimeBudget) -> None:
    budget.spend("silu.py", Spent(wall_s=100))
    assert budget.idle_left_s() == 0.5


def test_waiting_for_the_driver_is_no_sleep(budget: TimeBudget) -> None:
    """With 16 runs of a `main.cu` beside six other gradings, an H100 was waited for 52 s."""
    for _ in range(16):
        budget.spend("main.cu", Spent(wall_s=5, processor_s=0.5), opens_gpu=True)
    assert (budget.used_up, budget.idle_left_s(opens_gpu=True)) == (False, 48)
    budget.spend("main.cu", Spent(wall_s=9.5), opens_gpu=True)
    assert budget.idle_left_s() == 38.5


def test_each_file_has_its_time_for_compiling(budget: TimeBudget) -> None:
    budget.spend("one.py", Spent(wall_s=50, compiled_s=45))
    assert budget.compile_left_s("one.py") == 15
    assert budget.compile_left_s("other.py") == 60


@pytest.mark.parametrize(
    ("records", "expected_s"),
    [
        ([], 0.0),
        ([("compiling", 10.0), ("compiled", 12.5)], 2.5),
        ([("compiling", 10.0), ("compiled", 12.5), ("compiling", 18.0)], 4.5),
        ([("compiling", 10.0), ("compiled", 1e300)], 10.0),
        ([("compiling", -1e300), ("compiled", 5.0), ("compiling", 21.0)], 1e300),
        ([("compiled", 12.5), ("compiling", "now"), ("compiled", None), ("returned", 3)], 0.0),
    ],
)
def test_what_a_worker_says_that_it_compiled(
    records: list[tuple[str, object]], expected_s: float
) -> None:
    told = [{"record": kind, "at_s": at_s} for kind, at_s in records]
    assert compiled_s(told, 20.0) == expected_s


class SharedGpu(TimeBudget):
    """A budget on a GPU that another grading uses, or does not; None if nobody may ask for it."""

    def __init__(self, shared: bool | None) -> None:
        super().__init__()
        self._shared = shared

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        assert self._shared is not None, "a run on the CPU waits for a GPU"
        yield self._shared


@pytest.mark.parametrize(
    ("first", "device", "shared", "tries"),
    [
        (WAITED, Device.CUDA, False, 2),
        (BURNT, Device.CUDA, False, 1),
        (BURNT, Device.CUDA, True, 2),
        (WRONG, Device.CUDA, True, 1),
        (None, Device.CUDA, True, 1),
        (WAITED, Device.CPU, None, 2),
        (BURNT, Device.CPU, None, 1),
    ],
)
def test_when_there_is_a_second_try(
    first: Diagnosis | None, device: Device, shared: bool | None, tries: int
) -> None:
    done = [first]

    def again() -> Diagnosis | None:
        done.append(WAITED)
        return done[-1]

    result = second_try(SharedGpu(shared), device, first, again, lambda failure: failure)
    assert len(done) == tries
    assert result is done[-1]


def test_no_second_try_for_a_submission_that_has_idled_enough(budget: TimeBudget) -> None:
    budget.spend("silu.py", Spent(wall_s=100))

    def again() -> Diagnosis:
        raise AssertionError("it was tried again")

    assert second_try(budget, Device.CPU, WAITED, again, lambda failure: failure) is WAITED
