"""Findings about a Python file before it runs: too deep for the parser, or not for a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from grading_bench import small_silu
from paths import HAND_INS, REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build.artifact import Built, Rejected
from grader.build.python_source import build_python
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.evidence import RulesEvidence
from grader.report.verdict import Verdict
from grader.sandbox import spawn
from grader.submission.reader import SourceFile, read_submission
from grader.system.cache import CACHE_DIR_VARIABLE
from grader.vocabulary import CheckName, Device
from grader.worker.inspect_python import inspect

RUN = spawn.run
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
    hand_in = SourceFile(path="silu.py", text=text.format("-" * depth))
    built = build_python(SIGNATURE, hand_in, Device.CPU, tmp_path)
    if isinstance(built, Rejected):
        assert built.verdict is Verdict.COMPILE_ERROR
        assert "silu.py" in built.message or "parser" in built.message


_MANY = "".join(f"def f{number:020}(): pass\n" for number in range(10_000))


@pytest.mark.parametrize("names", [_MANY, f"a = {'b' * 200_000} = 1\n", "é = 1\n" + "ü" * 500_000])
def test_a_file_with_many_or_long_names_is_no_fault_of_the_grader(
    tmp_path: Path, names: str
) -> None:
    text = f"def silu(input, output, n): pass\n{names}"
    built = build_python(SIGNATURE, SourceFile(path="silu.py", text=text), Device.CPU, tmp_path)
    if isinstance(built, Rejected):
        assert built.verdict is Verdict.COMPILE_ERROR


def test_a_file_is_parsed_once_and_a_failure_of_the_parser_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_DIR_VARIABLE, str(tmp_path / "cache"))
    started: list[spawn.End] = []
    end = spawn.End.TIME_LIMIT

    def run(*arguments: Any, **settings: Any) -> spawn.Ended:
        started.append(end)
        return replace(RUN(*arguments, **settings), end=end)

    monkeypatch.setattr(spawn, "run", run)
    hand_in = SourceFile(path="silu.py", text="def silu(input, output, n): pass\n")
    built = build_python(SIGNATURE, hand_in, Device.CPU, tmp_path)
    assert isinstance(built, Rejected)
    assert "parser failed" in built.message
    end = spawn.End.EXITED
    for _ in range(3):
        assert isinstance(build_python(SIGNATURE, hand_in, Device.CPU, tmp_path), Built)
    assert started == [spawn.End.TIME_LIMIT, spawn.End.EXITED]
    other = replace(hand_in, text="def silu(input, output): pass\n")
    assert isinstance(build_python(SIGNATURE, other, Device.CPU, tmp_path), Rejected)


def test_a_file_that_parses_may_be_too_deep() -> None:
    text = f"def silu(input, output, n={'-' * 800}1): pass"
    assert inspect(text.encode(), "silu")["syntax"]["message"] == "too deeply nested"


def test_a_parser_warning_is_ignored(tmp_path: Path) -> None:
    text = 'def silu(input, output, n):\n    return "\\d" is 1\n'
    hand_in = SourceFile(path="silu.py", text=text)
    assert not isinstance(build_python(SIGNATURE, hand_in, Device.CPU, tmp_path), Rejected)


NUMPY_IN_A_KERNEL = """
import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice


def with_numpy(x):
    x.handle.data = np.tanh(x.handle.data)


@triton.autotune(configs=[], key=["n"])
@triton.jit
def kernel(x, np2, n, BLOCK: tl.constexpr):
    value = libdevice.tanh(half(tl.load(x))) + float(n) + np2.dtype.itemsize
    with_numpy(value)
    np.copyto(value.handle.data, 0)


@triton.jit
def half(x):
    return 0.5 * x


def silu(input, output, n):
    half_of = np.float32(0.5)
"""


def test_what_is_not_of_tritons_language_is_reported(tmp_path: Path) -> None:
    built = build_python(
        SIGNATURE, SourceFile(path="silu.py", text=NUMPY_IN_A_KERNEL), Device.CPU, tmp_path
    )
    assert isinstance(built, Built)
    assert built.flags == (
        "line 16: the kernel `kernel` calls `with_numpy`, which is not of Triton's language",
        "line 17: the kernel `kernel` calls `np.copyto`, which is not of Triton's language",
        "line 17: the kernel `kernel` reaches into a tile (`.handle`)",
    )
    first = built.evidence.diagnostics[0]
    assert (first.line, first.severity) == (16, "warning")
    assert first.message.endswith("Triton's language: it does not compile for a GPU")


@pytest.mark.parametrize(
    "path",
    [
        path
        for place in ("assignments", "reference")
        for path in (REPOSITORY / place).rglob("*.py")
        if not path.stem.endswith("_numba")
    ],
    ids=lambda path: str(path.relative_to(REPOSITORY)),
)
def test_no_kernel_of_the_course_is_reported(path: Path) -> None:
    assert inspect(path.read_bytes(), "")["foreign"] == []


def test_staff_see_the_findings(tmp_path: Path) -> None:
    """It compiles, if the compiler computes the call: then nothing else shows it."""
    assignment = read_assignment(small_silu(tmp_path))
    right = (HAND_INS / "right.py").read_text()
    text = "import numpy as np\n" + right.replace("    tl.store(", "    np.abs(1)\n    tl.store(")
    assert text.count("np.abs") == 1
    folder = tmp_path / "hand_in"
    folder.mkdir()
    (folder / "silu.py").write_text(text)
    report = grade(
        assignment,
        read_submission(folder, assignment),
        Options(checks=frozenset({CheckName.RULES})),
        Progress(),
    )
    flags = [c.evidence.flags for k in report.kernels for c in k.checks
             if isinstance(c.evidence, RulesEvidence)]  # fmt: skip
    assert any("calls `np.abs`" in flag for of_check in flags for flag in of_check), report
