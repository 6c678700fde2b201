"""Steps of different files run side by side, those of one file in order."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from grader.grading.side_by_side import run_side_by_side
from grader.system import signals

HANGS_S = 60.0


@dataclass(frozen=True, slots=True)
class Work:
    """One step of one file."""

    file: str
    cost: int


def of_one_file(step: Work, earlier: Work) -> bool:
    return step.file == earlier.file


def steps(files: str, costs: int) -> list[Work]:
    return [Work(file, cost) for cost in range(costs) for file in files]


def test_files_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=HANGS_S)
    # A barrier would break if the steps ran one after another.
    met: list[int] = []
    run_side_by_side(steps("ab", 3), 2, lambda step: met.append(both.wait()), waits_for=of_one_file)
    assert len(met) == 6


def test_steps_that_wait_for_each_other_run_in_order_and_never_together() -> None:
    running: set[str] = set()
    done: list[Work] = []
    lock = threading.Lock()

    def run(step: Work) -> None:
        with lock:
            assert step.file not in running
            running.add(step.file)
        with lock:
            running.remove(step.file)
            done.append(step)

    planned = steps("abcdefgh", 5)
    run_side_by_side(planned, 4, run, waits_for=of_one_file)
    assert sorted(done, key=planned.index) == planned
    for file in "abcdefgh":
        assert [step.cost for step in done if step.file == file] == [0, 1, 2, 3, 4]


def test_one_thread_is_the_callers_and_keeps_the_order() -> None:
    done: list[Work] = []
    threads: set[threading.Thread] = set()

    def run(step: Work) -> None:
        threads.add(threading.current_thread())
        done.append(step)

    run_side_by_side(steps("abc", 2), 1, run)
    assert done == steps("abc", 2)
    assert threads == {threading.current_thread()}


def test_a_step_waits_for_earlier_ones_of_other_files() -> None:
    done: list[Work] = []
    program = Work("main", 1)
    planned = [Work("a", 0), Work("b", 0), Work("c", 0), program, Work("a", 1)]
    run_side_by_side(
        planned, 4, done.append, waits_for=lambda step, other: step == program and other.cost == 0
    )
    assert set(done[: done.index(program)]) >= {Work("a", 0), Work("b", 0), Work("c", 0)}
    assert sorted(done, key=planned.index) == planned


def test_the_caller_hears_of_steps_in_its_own_thread() -> None:
    done: list[Work] = []
    heard: list[int] = []
    threads: set[threading.Thread] = set()

    def on_done() -> None:
        threads.add(threading.current_thread())
        heard.append(len(done))

    run_side_by_side(steps("ab", 3), 2, done.append, on_done=on_done)
    assert heard == sorted(heard)
    assert heard[-1] == 6
    assert threads == {threading.current_thread()}


def test_an_interrupted_caller_hears_once_more_of_what_ended() -> None:
    interrupted = threading.Event()
    heard: list[threading.Thread] = []

    def run(step: Work) -> None:
        assert step.cost == 0 or interrupted.wait(HANGS_S)

    def on_done() -> None:
        heard.append(threading.current_thread())
        if len(heard) == 1:
            interrupted.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_side_by_side(steps("ab", 2), 2, run, waits_for=of_one_file, on_done=on_done)
    assert heard == [threading.main_thread()] * 2


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_ends_the_run(threads: int) -> None:
    done: list[Work] = []

    def run(step: Work) -> None:
        if step.cost == 1:
            raise KeyError(step.file)
        done.append(step)

    with pytest.raises(KeyError):
        run_side_by_side(steps("abc", 3), threads, run, waits_for=of_one_file)
    assert {step.cost for step in done} == {0}


def test_a_deadline_of_the_caller_starts_no_further_step(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Work] = []
    killed = threading.Event()
    # The programs of running steps are killed, which ends the steps.
    monkeypatch.setattr("grader.system.process_tree.kill_all", killed.set)

    def run(step: Work) -> None:
        assert killed.wait(HANGS_S)
        done.append(step)

    with pytest.raises(signals.OutOfTime), signals.deadline(0.05):
        run_side_by_side(steps("ab", 3), 2, run, waits_for=of_one_file)
    assert {step.cost for step in done} == {0}


def test_a_step_that_cannot_be_stopped_does_not_hold_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grader.grading.side_by_side._STOP_S", 0.1)
    released = threading.Event()
    done: list[Work] = []

    def run(step: Work) -> None:
        released.wait(HANGS_S)
        done.append(step)

    with pytest.raises(signals.OutOfTime), signals.deadline(0.05):
        run_side_by_side(steps("ab", 2), 2, run)
    assert done == []
    released.set()


def test_no_more_steps_of_a_kind_run_than_may() -> None:
    running: list[Work] = []
    most = 0
    lock = threading.Lock()

    def run(step: Work) -> None:
        nonlocal most
        with lock:
            running.append(step)
            most = max(most, len([one for one in running if one.cost == 1]))
        with lock:
            running.remove(step)

    def crowded(step: Work, others: Sequence[Work]) -> bool:
        return step.cost == 1 and sum(one.cost == 1 for one in others) >= 2

    run_side_by_side(steps("abcdefgh", 2), 6, run, crowded=crowded)
    assert 1 <= most <= 2
