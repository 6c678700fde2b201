"""Realistic mistakes of students: the sentence that leads to the fix comes first.

`mistakes/mistakes.toml` changes the right kernels in `mistakes/base/`, or a solution in
`reference/` (a base with a folder), as students do, and pins for each what the first lines of the
terminal must say, before the table of checks. To see what a student reads:

    python tests/grading/test_mistakes.py grid-rounded-down

Where the sentence says `without a pattern that is known`, the grader has no better one yet.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "support")]

import pytest
from paths import REPOSITORY
from rich.console import Console

from grader.assignment.cases import CaseTemplate
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.formats.terminal import print_report
from grader.grading.plan import Options
from grader.pool.state import WorkerState
from grader.report.model import Report
from grader.submission.reader import SourceFile, Submission
from grader.vocabulary import CheckName, Visibility

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "mistakes"
MISTAKES: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "mistakes.toml").read_text("utf-8"))
# The assignment and the file that each base is handed in as.
HANDED_IN = {
    "copy.cu": "copy_first_column/copy_first_column.cu",
    "copy_kernel.cu": "copy_first_column/copy_first_column.cu",
    "copy_pitch.cu": "copy_first_column/copy_first_column.cu",
    "gemm.cu": "gemm/v1_simple.cu",
    "gemm.py": "gemm/v2_tiled.py",
    "gemm_tile.cu": "gemm/v2_tiled.cu",
    "rms_matrix.cu": "rms_norm_matrix/rms_norm_matrix.cu",
    "rms_matrix.py": "rms_norm_matrix/rms_norm_matrix.py",
    "rms_vector.cu": "rms_norm_vector/rms_norm_vector.cu",
    "rms_vector.py": "rms_norm_vector/rms_norm_vector.py",
    "silu.cu": "silu/silu.cu",
    "silu.py": "silu/silu.py",
    "silu_float4.cu": "silu/silu.cu",
    "silu_scratch.cu": "silu/silu.cu",
    "silu_tile.cu": "silu/silu.cu",
    "transpose.cu": "transpose/v2_coalesced.cu",
    "transpose.py": "transpose/v3_shared_tile.py",
    "transpose_tile.cu": "transpose/v3_shared_tile.cu",
}
# Sizes multiplied, of the cases that are graded: the smallest case that fails leads. Those of the
# memory check are larger, as are those that show what a `large` mistake is; one with `all_cases`
# fails in others only.
MOST_ELEMENTS, MOST_OF_LARGE = 2**13, 2**17
CALL_S = 0.5  # far more than such cases take
# Those that a leading sentence may come from.
CHECKS = frozenset({CheckName.RULES, CheckName.CORRECTNESS, CheckName.MEMORY})
QUICK = frozenset(
    {
        "no-guard", "grid-rounded-down", "tile-not-turned", "misspelt",
        "triton-subscript", "allocated-once",
    }
)  # fmt: skip


def submission(name: str) -> tuple[str, Submission]:
    """Return the assignment's name and the base with the mistake's changes."""
    base = MISTAKES[name]["base"]
    folder = REPOSITORY / "reference" if "/" in base else FOLDER / "base"
    text = (folder / base).read_text("utf-8")
    for old, new in MISTAKES[name]["changes"]:
        assert old in text, f"{base} has no {old!r}"
        text = text.replace(old, new)
    assignment, file = HANDED_IN.get(base, base).split("/")
    return assignment, Submission(source=FOLDER, files={file: SourceFile(path=file, text=text)})


def marks(name: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a mistake: all of them take six minutes."""
    if name in QUICK:
        return []
    return [pytest.mark.slow if list(MISTAKES).index(name) % 5 == 0 else pytest.mark.alike]


@functools.cache
def known(name: str) -> Assignment:
    return read_assignment(REPOSITORY / "assignments" / name)


def small(name: str, mistake: dict[str, Any]) -> Assignment:
    """Return the assignment with a short limit, and only the cases that lead as a rule."""
    assignment = known(name)
    limits = dataclasses.replace(assignment.limits, call_s=CALL_S)
    most = MOST_OF_LARGE if mistake.get("large") else MOST_ELEMENTS
    cases = tuple(
        case for case in assignment.cases if mistake.get("all_cases") or may_lead(case, most)
    )
    return dataclasses.replace(assignment, limits=limits, cases=cases)


def may_lead(case: CaseTemplate, most: int) -> bool:
    elements = math.prod(size for size in case.sizes.values() if isinstance(size, int))
    most = MOST_OF_LARGE if case.memory else most
    return case.visibility is Visibility.VISIBLE and elements <= most


def grade(name: str, state: WorkerState) -> Report:
    folder, handed_in = submission(name)
    assignment = small(folder, MISTAKES[name])
    (file,) = handed_in.files
    kernel = next(kernel for kernel in assignment.kernels if file in kernel.files.values())
    return state.grade(
        assignment, handed_in, Options(kernels=frozenset({kernel.name}), checks=CHECKS)
    )


def first_lines(report: Report, lines: int = 12) -> str:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    print_report(report, console, show_hidden=False)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(console.file.getvalue().splitlines()[:lines])


def lead(text: str) -> str:
    """Return what stands between the kernel's line and the table of checks, on one line."""
    _, _, *lines = text.splitlines()
    before = []
    for line in lines:
        if line.startswith(("  build ", "  correctness ")):
            break
        before.append(line)
    return " ".join(" ".join(before).split())


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in MISTAKES])
def test_the_sentence_that_leads_to_the_fix_comes_first(name: str, state: WorkerState) -> None:
    text = first_lines(grade(name, state))
    assert MISTAKES[name]["leads"] in lead(text), text


def test_there_are_mistakes_of_every_class_and_language() -> None:
    assert len(MISTAKES) >= 120
    classes = Counter(mistake["class"] for mistake in MISTAKES.values())
    assert min(classes[one] for one in ("bounds", "tail", "race", "index", "numbers", "host")) >= 10
    bases = {mistake["base"] for mistake in MISTAKES.values()}
    assert {HANDED_IN.get(base, base).split("/")[0] for base in bases} == {
        folder.name for folder in (REPOSITORY / "assignments").iterdir()
    }
    assert all(mistake["leads"] for mistake in MISTAKES.values())
    assert MISTAKES.keys() >= QUICK


if __name__ == "__main__":
    shared = WorkerState()
    for wanted in sys.argv[1:] or MISTAKES:
        print(f"===== {wanted} ({MISTAKES[wanted]['class']})")
        print(first_lines(grade(wanted, shared)), flush=True)
    shared.close()
