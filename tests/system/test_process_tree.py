"""Processes are killed until none is left, and the judge does not wait for ever."""

from __future__ import annotations

import itertools
import os
from types import SimpleNamespace

import pytest

from grader.errors import GraderError
from grader.system import process_tree
from grader.system.process_tree import kill_until_none


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes each time that somebody asks."""
    clock = SimpleNamespace(monotonic=itertools.count().__next__, sleep=lambda seconds: None)
    monkeypatch.setattr(process_tree, "time", clock)


def test_all_that_were_found_are_counted() -> None:
    rounds = iter([[7, 8], [8], []])
    assert kill_until_none(lambda: next(rounds)) == 3


def test_processes_that_multiply_are_given_up() -> None:
    pids = itertools.count(100)
    with pytest.raises(GraderError, match="starts processes faster than they can be killed"):
        kill_until_none(lambda: [next(pids)])
    assert next(pids) < 100 + 2 * process_tree._KILL_S


def test_a_process_that_does_not_end_is_waited_for_longer() -> None:
    """As on a GPU whose driver frees what the process held."""
    rounds = iter([[7]] * 30 + [[]])
    assert kill_until_none(lambda: next(rounds)) == 30


def test_a_process_that_never_ends_is_not_called_many() -> None:
    with pytest.raises(GraderError, match="process was killed 60 s ago and has not ended"):
        kill_until_none(lambda: [7])


def test_a_stray_that_never_ends_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "strays", lambda: [7])
    monkeypatch.setattr(os, "kill", lambda pid, signal: None)
    monkeypatch.setattr(os, "waitpid", lambda pid, options: (0, 0))
    with pytest.raises(GraderError, match="process was killed 60 s ago and has not ended"):
        process_tree.sweep()


def test_a_program_that_never_ends_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "_END_S", 0.01)
    pidfd = os.pidfd_open(os.getpid())
    try:
        with pytest.raises(GraderError, match="has not ended"):
            process_tree.wait_for_killed(pidfd)
    finally:
        os.close(pidfd)
