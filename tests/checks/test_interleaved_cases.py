"""The correctness check on the CPU: a CUDA C++ kernel that is right in one order only is wrong."""

from __future__ import annotations

import dataclasses

import pytest
from paths import REPOSITORY

from grader.assignment.cases import CaseTemplate
from grader.assignment.reader import read_assignment
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.evidence import CorrectnessEvidence
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Language, Visibility

NAME = "rms_norm_vector"
SAMPLES = REPOSITORY / "reference" / NAME / "samples"


@pytest.mark.usefixtures("no_nvcc")
def test_an_update_that_blocks_lose_is_a_wrong_answer_in_every_case() -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / NAME)
    sizes = {"cols": 1000, "epsilon": 1e-5}
    cases = (
        CaseTemplate(sizes=sizes, memory=True),
        CaseTemplate(sizes={**sizes, "cols": 3000}, visibility=Visibility.HIDDEN),
    )
    assignment = dataclasses.replace(assignment, cases=cases)
    folder = SAMPLES / "memory_error" / "total-without-atomics"
    options = Options(
        languages=frozenset({Language.CUDA}), checks=frozenset({CheckName.CORRECTNESS})
    )
    report = grade(assignment, read_submission(folder, assignment), options, Progress())
    results = [c for k in report.kernels for c in k.checks if c.check is CheckName.CORRECTNESS]
    assert [check.verdict for check in results] == [Verdict.WRONG_ANSWER] * 2
    for check in results:
        assert isinstance(check.evidence, CorrectnessEvidence)
        (case,) = check.evidence.cases
        assert case.message.startswith("if threads and blocks take turns, as on a GPU: ")
        assert case.mismatches
