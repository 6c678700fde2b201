"""What the interpreter cannot do is told as such, and is nobody's fault."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from grader.worker.interpreter import limits

from samples import OPERATIONS, files, findings, marks, records, result


@pytest.mark.parametrize("file", files("unmeasured"), ids=lambda file: file.stem)
def test_not_measured(file: Path) -> None:
    found = result("unmeasured", file.stem)
    (record,) = records(found, "not_measured")
    assert [(record["line"], record["reason"])] == marks(file)
    assert found["error"] == f"InterpreterLimit: {record['message']}"
    assert findings(found) == []


def test_a_grid_too_large_stops_at_once() -> None:
    (record,) = records(result("unmeasured", "one_program_per_element"), "not_measured")
    assert record["message"] == (
        "too much for the interpreter: a grid of 1,000,000 programs (limit 20,000)"
    )


def test_a_launch_too_long_is_foretold() -> None:
    found = result("unmeasured", "many_programs")
    (counters,) = records(found, "counters")
    assert counters["operations"] < OPERATIONS / 2


@pytest.mark.parametrize(("programs", "stopped"), [(1, False), (2, True)])
def test_an_operation_that_is_slow_here_is_nobodys_fault(
    monkeypatch: pytest.MonkeyPatch, programs: int, stopped: bool
) -> None:
    """A single program that is late may never end, and is left to the judge's limit."""
    told: list[str] = []
    tell = SimpleNamespace(tell=lambda _, **words: told.append(words["message"]))
    monkeypatch.setattr("grader.worker.interpreter.limits.worker_log", tell)
    clock = iter([0.0, *range(100)])
    # Not the clock of the whole process: other threads look at that one.
    clock_of = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("grader.worker.interpreter.limits.time", clock_of)
    budget = limits.Budget(10_000, lambda _: None, seconds=3.0)
    budget.begin()
    budget.launch(programs)
    budget.program()
    caught = False
    try:
        for _ in range(9_000):
            budget.spend()
    except limits.InterpreterLimit:
        caught = True
    words = "too much for the interpreter: 1,280 operations in 1 programs took 3 s"
    assert (caught, told) == (stopped, [words] if stopped else [])
