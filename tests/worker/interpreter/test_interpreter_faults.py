"""Planted faults are found at their lines; correct kernels give no finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from samples import files, findings, marks, records, result


@pytest.mark.parametrize("file", files("faults"), ids=lambda file: file.stem)
def test_planted_fault_is_found(file: Path) -> None:
    found = result("faults", file.stem)
    assert marks(file), "the file marks no fault"
    assert found["status"] == 0, "the process died"
    assert found["error"] is None
    assert sorted(findings(found)) == sorted(marks(file))


@pytest.mark.parametrize("file", files("faults"), ids=lambda file: file.stem)
def test_finding_is_told_in_full(file: Path) -> None:
    found = result("faults", file.stem)
    told = records(found, "finding")
    total = records(found, "findings")[-1]
    assert sum(record["count"] for record in told) == total["occurrences"]
    assert len(findings(found)) == total["told"] == total["distinct"]
    for record in told:
        assert record["file"] == str(file)
        assert record["count"] > 0
        assert len(record["program"]) == 3
        assert record["kernel"]
        assert record["hint"]


@pytest.mark.parametrize("file", files("correct"), ids=lambda file: file.stem)
def test_correct_kernel_has_no_finding(file: Path) -> None:
    found = result("correct", file.stem)
    assert found["error"] is None, found["traceback"]
    assert found["right"] is True
    assert findings(found) == []
    assert records(found, "counters"), "no access was seen"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "load_past_the_end",
            "reads 24 elements past the end of `x` (elements 1,000 to 1,023; the last is 999)",
        ),
        (
            "load_before_the_start",
            "reads 1 element before the start of `x` (element -1; the last is 999)",
        ),
        (
            "two_programs_store_one_element",
            "program 1 writes element 255 of `out`, which program 0 writes as well in the same "
            "launch: nothing says which comes first",
        ),
        (
            "writes_what_others_have_read",
            "program 3 writes element 3 of `data`, which program 2 reads in the same launch: "
            "nothing says which comes first",
        ),
        (
            "scratch_never_written",
            "reads 4 elements of `partial` that nothing has written yet, the first 4",
        ),
        (
            "mask_without_other",
            "stores 1 element of `out` computed from lanes that the mask of the load in line 11 "
            "switches off: without `other` their value is undefined",
        ),
    ],
)
def test_wording(name: str, message: str) -> None:
    assert records(result("faults", name), "finding")[0]["message"] == message


def test_a_race_names_the_other_line() -> None:
    first = records(result("faults", "plain_store_beside_atomics"), "finding")[0]
    assert (first["line"], first["other_line"]) == (13, 12)
    assert first["other_program"] == [0, 0, 0]


def test_the_judges_buffer_is_named() -> None:
    first = records(result("faults", "beyond_the_view"), "finding")[0]
    assert (first["tensor"], first["buffer"]) == ("row", "input")


def test_inputs_are_left_alone() -> None:
    first = records(result("faults", "store_to_input"), "finding")[0]
    assert first["read_only"] is True
    assert result("faults", "store_to_input")["right"] is True


def test_lanes_outside_do_not_change_the_others() -> None:
    assert result("faults", "load_past_the_end")["right"] is True
    assert result("faults", "store_past_the_end")["right"] is True


def test_garbage_shows_in_the_result() -> None:
    assert result("faults", "mask_without_other")["right"] is False


def test_every_configuration_is_taken() -> None:
    told = records(result("correct", "autotuned"), "autotune")
    assert [record["call"] for record in told] == [0, 1, 2, 3]
    blocks = [record["config"].split(",")[0] for record in told]
    assert blocks == ["BLOCK: 32", "BLOCK: 64", "BLOCK: 256", "BLOCK: 32"]


def test_enough_of_both() -> None:
    assert len(files("faults")) >= 20
    assert len(files("correct")) >= 20
