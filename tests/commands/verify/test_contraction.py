"""Exact results that depend on whether the compiler rounds a * b + c once: a warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.commands.verify.judgement import judge_contracted
from grader.commands.verify.row import State
from grader.emulation.cuda_cpp import contracts
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.submission.reader import SourceFile, Submission
from grader.vocabulary import CheckName, Language

COURSES = REPOSITORY / "tests" / "courses"
KERNEL = (COURSES / "reference/square/square.cu").read_text(encoding="utf-8")
SUMS = "expected(inputs):\n    return {'y': (inputs['x'] * inputs['x'] + inputs['x']).double()}\n"


@pytest.mark.slow
@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.skipif(not contracts(), reason="this CPU rounds every operation")
@pytest.mark.parametrize(
    ("formula", "state"),
    [
        ("x[i] * x[i] + x[i]", State.WARNING),
        ("__fadd_rn(__fmul_rn(x[i], x[i]), x[i])", State.AGREES),
        ("__fadd_rn(x[i] * x[i], x[i])", State.AGREES),
    ],
)
def test_a_contracted_sum_is_warned_of(
    formula: str, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "square"
    folder.mkdir()
    source = COURSES / "assignments/square"
    spec = (source / "assignment.toml").read_text(encoding="utf-8")
    (folder / "assignment.toml").write_text(spec, encoding="utf-8")
    oracle = (source / "oracle.py").read_text(encoding="utf-8")
    begin, _, rest = oracle.partition("expected(inputs):\n")
    text = f"{begin}{SUMS}{rest[rest.index(chr(10)) :]}"
    (folder / "oracle.py").write_text(text, encoding="utf-8")
    kernel = KERNEL.replace("x[i] * x[i]", formula)
    submission = Submission(
        source=tmp_path, files={"square.cu": SourceFile(path="square.cu", text=kernel)}
    )
    options = Options(
        languages=frozenset({Language.CUDA}),
        checks=frozenset({CheckName.CORRECTNESS}),
        contract=True,
    )
    row = judge_contracted(grade(read_assignment(folder), submission, options, Progress()))
    assert (row.state, row.check) == (state, "contracted")
