"""What the interpreter cannot do is told as such, and is nobody's fault."""

from __future__ import annotations

from pathlib import Path

import pytest

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
