"""What is wrong on a GPU gets the words of a machine without one, if it is the same that is wrong.

The results of a GPU are made here from those of the CPU, less what only the CPU knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.checks.correctness.judging import check_correctness
from grader.checks.correctness.without_gpu import explained_without_gpu
from grader.grading.context import FileContext, open_context
from grader.grading.file_state import FileState
from grader.grading.plan import Options, make_plan
from grader.report.evidence import CaseResult, CorrectnessEvidence
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile, Submission
from grader.vocabulary import Language, Visibility

SILU = read_assignment(REPOSITORY / "assignments" / "silu")
CUDA = """\
__global__ void silu_kernel(const float* input, float* output, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(const float* input, float* output, int n) {
  silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}
"""
TOO_FEW_BLOCKS = CUDA.replace("(n + 255) / 256", "n / 256 + (n < 256)")
TRITON = """\
import triton
import triton.language as tl


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(input + at, at < n)
    tl.store(output + at, x * tl.sigmoid(x), at < n)


def silu(input, output, n):
    silu_kernel[(triton.cdiv(n, 1024),)](input, output, n, BLOCK=1024)
"""


@contextmanager
def graded(
    language: Language, text: str
) -> Iterator[tuple[FileContext, CorrectnessEvidence, dict[str, CaseResult]]]:
    """Build and judge the file; yield its context, the results, and those that failed by name."""
    path = SILU.kernels[0].files[language]
    handed_in = Submission(source=REPOSITORY, files={path: SourceFile(path=path, text=text)})
    options = Options(languages=frozenset({language}))
    plan = make_plan(SILU, handed_in, options)
    with open_context(SILU, options, plan) as context:
        file = FileContext(context, FileState(file=plan.files[0]))
        file.wait_for_build()
        cases = [case for case in file.cases if case.sizes["n"] < 5000]
        verified = check_correctness(
            file.setup(), cases, file.data, lambda step: None, oracle=file.oracle
        )
        failed = {one.name: one for one in verified.cases if not one.verdict.earns_points}
        assert failed
        yield file, verified, failed


def blind(case: CaseResult) -> CaseResult:
    """Return the result of a wrong case as a GPU has it, where nothing sees a launch."""
    if case.pattern is None:
        return case
    pattern = case.pattern.partition("; `")[0]
    message = case.message.replace(case.pattern, pattern)
    return replace(case, message=message, pattern=pattern, hint="general")


def with_cases(verified: CorrectnessEvidence, cases: list[CaseResult]) -> CorrectnessEvidence:
    return replace(verified, cases=tuple(cases))


def with_error(verified: CorrectnessEvidence, message: str) -> CorrectnessEvidence:
    """Return the results with this message of each runtime error, as a GPU has it."""
    cases = [
        replace(one, message=message, hint="general")
        if one.verdict is Verdict.RUNTIME_ERROR
        else one
        for one in verified.cases
    ]
    return with_cases(verified, cases)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (Language.CUDA, TOO_FEW_BLOCKS),
        (Language.TRITON, TRITON.replace("triton.cdiv(n, 1024)", "max(n // 1024, 1)")),
    ],
    ids=["cuda", "triton"],
)
def test_a_wrong_case_gets_the_words_about_its_launch(language: Language, text: str) -> None:
    with graded(language, text) as (file, verified, _):
        on_gpu = with_cases(verified, list(map(blind, verified.cases)))
        assert "silu_kernel` ran with 1 " not in str(on_gpu)
        explained = explained_without_gpu(file, on_gpu)
        assert "silu_kernel` ran with 1 " in str(explained)
        assert explained.cases == tuple(
            one if one.visibility is Visibility.VISIBLE else blind(one) for one in verified.cases
        )


def test_a_case_that_is_wrong_in_another_way_keeps_its_words() -> None:
    with graded(Language.CUDA, TOO_FEW_BLOCKS) as (file, verified, failed):
        others = [
            replace(blind(one), mismatched=one.mismatched + 1) if one.name in failed else one
            for one in verified.cases
        ]
        on_gpu = with_cases(verified, others)
        assert explained_without_gpu(file, on_gpu) == on_gpu
        patterns = [
            replace(blind(one), pattern="every element is 0") if one.name in failed else one
            for one in verified.cases
        ]
        on_gpu = with_cases(verified, patterns)
        assert explained_without_gpu(file, on_gpu) == on_gpu


def test_an_invalid_argument_gets_its_cause() -> None:
    with graded(Language.CUDA, CUDA.replace(", 256>>>", ", 2048>>>")) as (file, verified, failed):
        error = "calling silu gave CUDA error 1: invalid argument"
        on_gpu = with_error(verified, error)
        explained = explained_without_gpu(file, on_gpu).cases[0]
        assert explained.message == (
            f"{error}: `silu_kernel` is launched with 2,048 threads in each block; the limit is "
            "1,024 (silu.cu:7)"
        )
        assert explained.hint == failed[explained.name].hint
        other = with_error(verified, error.replace("1:", "2:"))
        assert explained_without_gpu(file, other) == other


def test_a_crash_of_host_code_gets_its_cause() -> None:
    text = CUDA.replace("  silu_kernel<<<", "  output[0] = input[0];\n  silu_kernel<<<")
    with graded(Language.CUDA, text) as (file, verified, failed):
        on_gpu = with_error(verified, "calling silu crashed: segmentation fault")
        explained = explained_without_gpu(file, on_gpu).cases[0]
        assert "crashed: host code accessed device memory (`input`)" in explained.message
        assert explained == failed[explained.name]


def test_right_cases_and_files_that_only_a_gpu_runs_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with graded(Language.CUDA, TOO_FEW_BLOCKS) as (file, verified, failed):
        right = with_cases(verified, [one for one in verified.cases if one.name not in failed])
        assert explained_without_gpu(file, right) is right
        on_gpu = with_cases(verified, list(map(blind, verified.cases)))
        monkeypatch.setattr(type(file.support), "without_gpu", lambda self, context: None)
        assert explained_without_gpu(file, on_gpu) == on_gpu
