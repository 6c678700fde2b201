"""What a submission prints during hidden cases is not shown: it may print their sizes."""

from __future__ import annotations

from pathlib import Path

from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.evidence import CorrectnessEvidence
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Visibility

TALKATIVE = """
#include <cstdio>
__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}
extern "C" void silu(const float* input, float* output, int n)
{
    printf("n is %d;", n);
    silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}
"""


def test_only_visible_sizes_are_in_the_output(tmp_path: Path) -> None:
    (tmp_path / "silu.cu").write_text(TALKATIVE)
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    options = Options(checks=frozenset({CheckName.CORRECTNESS}))
    report = grade(assignment, read_submission(tmp_path, assignment), options, Progress())
    hidden: set[int] = set()
    shown = ""
    for check in report.kernels[0].checks:
        if isinstance(check.evidence, CorrectnessEvidence):
            if check.visibility is Visibility.HIDDEN:
                hidden |= {int(case.sizes["n"]) for case in check.evidence.cases}
            shown += check.evidence.output + check.message
    assert "n is 1025;" in shown
    assert len(hidden) == 3
    assert not [n for n in hidden if str(n) in shown]
