"""Before a time limit is told: once more by itself, if the machine may be the cause.

A program that queues for a processor is not charged (`sandbox.own_time`). But it may have waited
for a slow disk, for the GPU, or for a lock that another program held. So a run that used up its
limit mostly idle is repeated once, in a new worker, and on a GPU without other gradings beside it.
A program that waits for a GPU uses the processor: on a GPU it is also repeated if another grading
was using it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from grader.checks.common.diagnosis import Diagnosis
from grader.judge.time_budget import TimeBudget
from grader.report.verdict import Verdict
from grader.vocabulary import Device

T = TypeVar("T")


def second_try(
    budget: TimeBudget,
    device: Device,
    first: T,
    again: Callable[[], T],
    failure_of: Callable[[T], Diagnosis | None],
    *,
    crowded: bool = False,
) -> T:
    """Return the result of `again` if the machine may have caused the time limit of `first`.

    Both runs are on `device`; on the CPU they do not wait for a GPU that other gradings use. With
    `crowded`, other programs of this grading ran beside the first run. A submission whose budget of
    idle time is used up is not tried again.
    """
    failure = failure_of(first)
    if failure is None or failure.verdict is not Verdict.TIME_LIMIT or budget.used_up:
        return first
    if device is Device.CPU:
        return again() if failure.waited or crowded else first
    with budget.alone() as shared:
        return again() if failure.waited or shared or crowded else first
