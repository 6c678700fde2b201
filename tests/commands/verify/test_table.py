"""The printed result of a verification explains each cause once."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from rich.console import Console

from grader.commands.verify.row import Row, State
from grader.commands.verify.table import print_rows

CAUSE = "oracle.py: expected() returned `y` as torch.float32, not torch.float64"


def failed(subject: str, note: str = CAUSE, assignment: str = "silu") -> Row:
    return Row(
        assignment=assignment, subject=subject, check="verdict", state=State.FAILED,
        expected="accepted", actual="grader error", note=note,
    )  # fmt: skip


def printed(*rows: Row, part: int = 1, undone: str = "") -> str:
    text = StringIO()
    print_rows(rows, Console(file=text, width=100), title="silu", wall_s=1, undone=undone)
    return text.getvalue().split("\n\n")[part]


def test_what_is_right_so_far_is_not_all() -> None:
    right = replace(failed("silu.cu"), state=State.AGREES)
    assert printed(right, part=-1).startswith("all 1 agree · 1.0 s")
    said = printed(right, part=-1, undone="2 of 3 steps are left")
    assert said.startswith("all 1 so far agree · 2 of 3 steps are left · 1.0 s")
    said = printed(right, failed("silu.py"), part=-1, undone="2 of 4 steps are left")
    assert said.startswith("1 could not be judged · 2 of 4 steps are left")


def test_failures_with_one_cause_are_grouped() -> None:
    names = ["reference silu.cu", *(f"sample {n}" for n in range(6))]
    text = printed(*map(failed, names), failed("sample 6", "nvcc is not there"))
    assert text.startswith("8 grader errors")
    assert text.count(CAUSE) == 1
    assert "the same  in sample 0; sample 1; sample 2; sample 3; and 2 more" in text
    assert text.count("expected  accepted") == 2  # sample 6 has another cause
    assert "nvcc is not there" in text


def test_errors_without_a_note_or_of_other_assignments_are_not_grouped() -> None:
    text = printed(failed("a", ""), failed("b", ""), failed("c"), failed("d", assignment="gemm"))
    assert "the same" not in text
    assert text.count("expected  accepted") == 4


def test_what_causes_other_differences_comes_first() -> None:
    checks = ["current", "accepted, seed 0", "signature", "verdict"]
    rows = [replace(failed("a"), state=State.DIFFERS, check=check) for check in checks]
    text = printed(*rows)
    ordered = sorted(checks, key=text.index)
    assert ordered == ["signature", "accepted, seed 0", "verdict", "current"]
