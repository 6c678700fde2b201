"""The first line of a sample: valid lines, and the messages for wrong ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.commands.verify.samples import (
    Expectation,
    Planted,
    find_samples,
    parse,
    samples_of,
    stray_files,
)

FAULT = 'kind=race line=13,16 cpu=warning gpu=blind why="shared memory only"'


def test_a_planted_fault_is_read() -> None:
    planted = Planted(kind="race", cpu="warning", gpu="blind")
    assert parse(f"# expect: {FAULT}\nx", "memory_error") == Expectation(
        lines=(13, 16), why="shared memory only", planted=planted
    )
    of_an_entry = parse(f"# expect: kernel=backward {FAULT}\n", "memory_error")
    assert of_an_entry is not None and of_an_entry.kernel == "backward"
    assert planted.severity("cpu") == "warning" and not planted.convicts("cpu")
    assert planted.severity("cuda") == "warning", "the CPU's checker runs there, too"
    tool = Planted(kind="race", cpu="error", gpu="racecheck", gpu_severity="warning")
    assert tool.convicts("cuda")
    assert tool.convicts("cpu")


def test_other_verdicts_may_say_more() -> None:
    line = '// expect: message="rows and cols" line=7 check=correctness\n'
    assert parse(line, "wrong_answer") == Expectation(
        message="rows and cols", lines=(7,), check="correctness"
    )
    assert parse('# expect: device=cuda why="slow"', "too_slow") == Expectation(
        device="cuda", why="slow"
    )
    assert parse("// What to expect: see the page.\n// SiLU\n", "wrong_answer") is None
    assert parse("// SiLU\nint a;\n// expect: line=1", "wrong_answer") is None


def test_a_memory_error_may_be_another_checks() -> None:
    """For example in a PyTorch rung, which has no memory check."""
    assert parse("# expect: check=correctness", "memory_error") == Expectation(check="correctness")


@pytest.mark.parametrize(
    ("verdict", "line", "phrase"),
    [
        ("memory_error", "kind=race line=3 cpu=error", "missing: gpu"),
        ("memory_error", "kind=race line=3 cpu=error gpu=blind because=x", "unknown here: because"),
        ("memory_error", "kind=racing line=3 cpu=error gpu=blind", "kind=racing is none of"),
        ("memory_error", "kind=race line=3 cpu=maybe gpu=blind", "cpu=maybe is none of"),
        ("memory_error", "kind=race line=3 cpu=error gpu=gdb", "gpu=gdb is none of"),
        ("memory_error", "kind=race line=3 cpu=error gpu=memcheck:loud", "only `:warning` may"),
        ("memory_error", "kind=race line=3 cpu=error gpu=blind", "why is missing"),
        ("memory_error", "kind=race line=x cpu=error gpu=memcheck", "no line number"),
        ("memory_error", "kind=race line=3, cpu=error gpu=memcheck", "no line number"),
        ("memory_error", "kind=race line=0 cpu=error gpu=memcheck", "no line number"),
        ("memory_error", "kind=race kind=leak line=3 cpu=error gpu=blind", "twice"),
        ("memory_error", "kind=race line=3 cpu=error gpu=blind or so", "`or so` is not key=value"),
        ("memory_error", "line=3", "missing: kind, cpu, gpu"),
        ("wrong_answer", "kind=race line=3 cpu=error gpu=memcheck", "for samples in memory_error/"),
        ("wrong_answer", "lines=3", "unknown here: lines"),
        ("wrong_answer", "check=speed", "check=speed is none of"),
        ("wrong_answer", "device=gpu why=x", "device=gpu is none of cpu, cuda"),
        ("wrong_answer", "device=cuda", "why is missing"),
        ("wrong_answer", 'message=""', "message is empty"),
        ("wrong_answer", 'message="row', "the quote of message is not closed"),
        ("wrong_answer", 'line=3 message="row and', "`and` is not key=value"),
        ("wrong_answer", "", "nothing follows"),
        ("too_slow", "line=3", "needs device=cuda"),
    ],
)
def test_an_invalid_line_is_reported(verdict: str, line: str, phrase: str) -> None:
    with pytest.raises(ValueError, match=re.escape(phrase)):
        parse(f"// expect: {line}\n", verdict)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("// expect kind=race line=3", 1),
        ("// Expect: line=3", 1),
        ("# expected: line=3", 1),
        ("// expect : line=3", 1),
        ("// SiLU\n//\n// expect: line=3", 3),
    ],
)
def test_a_line_that_looks_like_one_is_reported(text: str, number: int) -> None:
    with pytest.raises(ValueError, match=f"line {number}, `.*`, is not read"):
        parse(f"{text}\nint a;\n", "wrong_answer")


@pytest.mark.parametrize("verdict", ["memory_error", "too_slow"])
def test_some_verdicts_need_a_line(verdict: str) -> None:
    with pytest.raises(ValueError, match=r"needs device=cuda|there is no `expect:` line"):
        parse("// nothing\n", verdict)


def test_expected_lines_are_recognised() -> None:
    expected = Expectation(lines=(13, 16))
    assert expected.named_by(13) and expected.named_by(16, 13)
    assert not expected.named_by(None) and not expected.named_by(14)
    assert not expected.named_by(13, 9)


def test_samples_are_found_in_order_and_strays_reported(tmp_path: Path) -> None:
    reference = tmp_path / "reference" / "gemm"
    for path in (
        "wrong_answer/b/v1.cu",
        "accepted/a/v1.py",
        "accepted/a/v1.cu",
        "accepted/a/x.txt",
    ):
        (reference / "samples" / path).parent.mkdir(parents=True, exist_ok=True)
        (reference / "samples" / path).write_text("x")
    (reference / "samples" / "accepted" / "loose.cu").write_text("x")
    found = list(find_samples(tmp_path / "reference"))
    assert [(s.title, s.language) for s in found] == [
        ("accepted/a/v1.cu", "cuda"),
        ("accepted/a/v1.py", "triton"),
        ("wrong_answer/b/v1.cu", "cuda"),
    ]
    assert list(samples_of(reference)) == found
    assert [path.name for path in stray_files(reference)] == ["x.txt", "loose.cu"]


def test_a_byte_order_mark_hides_no_first_line(tmp_path: Path) -> None:
    file = tmp_path / "samples" / "wrong_answer" / "a" / "v1.cu"
    file.parent.mkdir(parents=True)
    file.write_text("// expect: line=3\r\nx", encoding="utf-8-sig")
    (found,) = samples_of(tmp_path)
    assert found.expectation() == Expectation(lines=(3,))


def test_a_program_belongs_to_the_kernel_beside_it(tmp_path: Path) -> None:
    for path in ("accepted/both/v1.cu", "accepted/both/main.cu", "accepted/alone/main.cu"):
        (tmp_path / "samples" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "samples" / path).write_text("x")
    found = {sample.title: sample.has_program for sample in samples_of(tmp_path)}
    assert found == {"accepted/alone/main.cu": False, "accepted/both/v1.cu": True}
    assert list(stray_files(tmp_path)) == []
