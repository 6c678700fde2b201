"""A Python file that is too much for its parser is its author's to mend."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_in_bench import REPOSITORY

from grader.build.product import Rejected
from grader.build.python import build_python
from grader.spec_reader import read_assignment
from grader.submission import HandIn
from grader.verdict import Verdict
from grader.words import Device
from grader.worker.inspect_python import inspect

SIGNATURE = read_assignment(REPOSITORY / "assignments" / "silu").signature


@pytest.mark.parametrize("depth", [300, 500, 900, 2500, 50_000])
@pytest.mark.parametrize(
    "text",
    [
        "def silu(input, output, n={}1): pass",
        "@f({}1)\ndef silu(input, output, n): pass",
        "def silu(input, output, n): return {}1",
    ],
)
def test_a_deep_file_is_a_compile_error_or_taken(tmp_path: Path, text: str, depth: int) -> None:
    hand_in = HandIn(path="silu.py", text=text.format("-" * depth))
    built = build_python(SIGNATURE, hand_in, Device.CPU, tmp_path)
    if isinstance(built, Rejected):
        assert built.verdict is Verdict.COMPILE_ERROR
        assert "silu.py" in built.message or "parser" in built.message


def test_what_the_parser_takes_may_be_too_deep() -> None:
    text = f"def silu(input, output, n={'-' * 800}1): pass"
    assert inspect(text.encode(), "silu")["syntax"]["message"] == "too deeply nested"


def test_a_warning_is_no_answer(tmp_path: Path) -> None:
    text = 'def silu(input, output, n):\n    return "\\d" is 1\n'
    hand_in = HandIn(path="silu.py", text=text)
    assert not isinstance(build_python(SIGNATURE, hand_in, Device.CPU, tmp_path), Rejected)
