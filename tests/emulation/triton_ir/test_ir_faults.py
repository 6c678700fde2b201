"""Planted faults give a finding each at their lines; correct kernels give none."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import torch
from ir_kernels import Calls, Finding, load, triton, unwritten
from triton_samples import SAMPLES, files, marks

GUARD = 1024

# It asks for the compiled kernel: what the worker does around the launches.
ELSEWHERE = {"grid_from_what_was_compiled"}


@functools.cache
def called(file: Path) -> tuple[Calls, bool | None]:
    """Call a sample; return what was found, and whether its result is right, if it says so."""
    module = load(file)
    n = getattr(module, "N", 1000)
    given, output = (torch.zeros(n + 2 * GUARD)[GUARD : GUARD + n] for _ in range(2))
    calls, right = Calls(), None
    for call in range(getattr(module, "CALLS", 1)):
        torch.manual_seed(call)
        given.copy_(torch.randn(n))
        in_place = getattr(module, "IN_PLACE", False)
        output.copy_(given) if in_place else unwritten(output)
        calls = Calls(found=calls.found)
        calls.give("input", given, writable=False)
        calls.give("output", output, bare=not in_place)
        with calls.patched():
            module.entry(given, output, n)
        if hasattr(module, "expected"):
            # A product of tiles rounds its factors to tf32, as a GPU does.
            rough = "tl.dot(" in file.read_text()
            rtol, atol = (1e-2, 2e-2) if rough else (1e-4, 1e-5)
            close = torch.allclose(output, module.expected(given), rtol=rtol, atol=atol)
            right = close and right is not False
    return calls, right


def told(finding: Finding) -> tuple[int | None, str]:
    words = (finding.kind, finding.severity, finding.access, finding.tensor, finding.element)
    return finding.line, " ".join(map(str, words))


FAULTS = files("faults")
CORRECT = [file for file in files("correct") if file.stem not in ELSEWHERE]


@pytest.mark.parametrize("file", FAULTS, ids=lambda file: file.stem)
def test_planted_fault_is_found(file: Path) -> None:
    calls, _ = called(file)
    assert marks(file), "the file marks no fault"
    assert sorted(map(told, calls.findings)) == marks(file)


@pytest.mark.parametrize("file", FAULTS, ids=lambda file: file.stem)
def test_finding_is_told_in_full(file: Path) -> None:
    calls, _ = called(file)
    assert sum(finding.count for finding in calls.findings) == calls.found.occurrences
    for finding in calls.findings:
        assert finding.file == str(file)
        assert finding.count > 0
        assert finding.kernel and finding.hint


@pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
@pytest.mark.parametrize("file", CORRECT, ids=lambda file: file.stem)
def test_correct_kernel_has_no_finding(file: Path) -> None:
    calls, right = called(file)
    assert calls.launches
    assert list(map(told, calls.findings)) == []
    assert right is True


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
            "past_the_end_many_times",
            "reads 1 element past the end of `x` (element 1,000; the last is 999)",
        ),
        (
            "two_programs_store_one_element",
            "program 1 writes element 255 of `out`, which program 0 writes as well in the same "
            "launch: nothing says which comes first",
        ),
        (
            "scratch_never_written",
            "reads 4 elements of `partial` that nothing has written yet, the first 4",
        ),
        (
            "gather_outside",
            "tl.gather picks 1 element outside of its block, the first at index 256: the last is "
            "255",
        ),
        (
            "mask_without_other",
            "stores 1 element of `out` computed from lanes that the mask of the load in line 11 "
            "switches off: without `other` their value is undefined",
        ),
    ],
)
def test_wording(name: str, message: str) -> None:
    assert called(SAMPLES / "faults" / f"{name}.py")[0].findings[0].message == message


def test_an_overflow_is_named_where_its_value_is_an_address() -> None:
    (finding,) = called(SAMPLES / "faults" / "index_overflows.py")[0].findings
    assert finding.hint.startswith("the offset overflowed 32 bits in line 11: ")


def test_a_race_names_the_other_line() -> None:
    first = called(SAMPLES / "faults" / "plain_store_beside_atomics.py")[0].findings[0]
    assert (first.line, first.other_line) == (13, 12)
    assert first.other_program == (0, 0, 0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("stores_after_unlocking", "after it has released the lock"),
        ("unordered_last_program", 'with sem="relaxed" orders no other access'),
        ("lock_of_another_row", "programs run in any order"),
        ("two_lanes_store_one_element", "lanes of one program have one address"),
        ("promised_too_much", "promise only what holds in every program"),
        ("begins_outside", "no lane of this program is inside of the array"),
        ("promised_runs", "promise only what holds in every program"),
        ("wider_than_its_elements", "cast to a type of 4 bytes, but an element of `octets` has 1"),
    ],
)
def test_hints(name: str, words: str) -> None:
    found = called(SAMPLES / "faults" / f"{name}.py")[0].findings
    assert all(words in finding.hint for finding in found)


def test_lanes_outside_do_not_change_the_others() -> None:
    assert called(SAMPLES / "faults" / "load_past_the_end.py")[1] is True
    assert called(SAMPLES / "faults" / "store_past_the_end.py")[1] is True


def test_what_is_read_outside_is_not_a_number() -> None:
    module = load(SAMPLES / "faults" / "load_past_the_end.py")
    x, out = torch.zeros(1000), torch.zeros(1024)
    calls = Calls()
    calls.launch(module.kernel, (4,), x, out, 1024, BLOCK=256)
    assert bool((out[:1000] == 0).all())
    assert bool(out[1000:].isnan().all())


def test_enough_of_both() -> None:
    assert len(FAULTS) >= 24
    assert triton.__version__
