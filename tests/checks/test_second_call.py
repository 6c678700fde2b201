"""A wrong case is called again if that may show something: what is not written, or chance."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from paths import REPOSITORY

from grader.assignment.cases import CaseTemplate
from grader.assignment.reader import read_assignment
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.judge.session import Session
from grader.report.evidence import CaseResult, CorrectnessEvidence
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Language, Visibility

LENGTHS = (100, 200, 300, 400, 500, 600, 700)


def source(value: str) -> str:
    """Return a kernel that computes `value`; of 500 elements it leaves out the last one."""
    return f"""
#include "silu.h"
__global__ void silu_kernel(const float* input, float* output, int n)
{{
    static __device__ int calls = 0;
    const int i = threadIdx.x;
    if (i == 0) ++calls;
    __syncthreads();
    if (i < n && (n != 500 || i < n - 1)) output[i] = {value};
}}
extern "C" void silu(const float* input, float* output, int n)
{{
    silu_kernel<<<1, 1024>>>(input, output, n);
}}
"""


def judged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, value: str, hidden: tuple[int, ...] = ()
) -> tuple[list[CaseResult], list[int]]:
    """Grade the kernel; return the cases, and how often each was called."""
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    templates = tuple(
        CaseTemplate(
            sizes={"n": n}, visibility=Visibility.HIDDEN if n in hidden else Visibility.VISIBLE
        )
        for n in LENGTHS
    )
    assignment = dataclasses.replace(assignment, cases=templates)
    (folder / "silu.cu").write_text(source(value))
    calls: list[int] = []
    attach, call = Session.attach, Session.call

    def attached(session: Session, *given: Any, **named: Any) -> Any:
        calls.append(0)
        return attach(session, *given, **named)

    def called(session: Session, *given: Any, **named: Any) -> Any:
        calls[-1] += 1
        return call(session, *given, **named)

    monkeypatch.setattr(Session, "attach", attached)
    monkeypatch.setattr(Session, "call", called)
    options = Options(
        languages=frozenset({Language.CUDA}), checks=frozenset({CheckName.CORRECTNESS})
    )
    report = grade(assignment, read_submission(folder, assignment), options, Progress())
    evidence = [check.evidence for kernel in report.kernels for check in kernel.checks]
    cases = [c for e in evidence if isinstance(e, CorrectnessEvidence) for c in e.cases]
    return sorted(cases, key=lambda case: case.sizes["n"]), calls[: len(LENGTHS)]


@pytest.mark.usefixtures("no_nvcc")
def test_cases_after_three_steady_ones_are_called_again_only_for_what_was_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, calls = judged(tmp_path, monkeypatch, "input[i] * 3.0f + 1.0f")
    assert [case.mismatched for case in cases] == list(LENGTHS)
    assert calls == [2, 2, 2, 1, 2, 1, 1]
    told = [case.sizes["n"] for case in cases if "never written" in (case.pattern or "")]
    assert told == [500]


@pytest.mark.usefixtures("no_nvcc")
def test_a_case_that_gives_other_values_each_time_is_always_called_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, calls = judged(tmp_path, monkeypatch, "input[i] + float(calls)")
    assert calls == [2] * len(LENGTHS)


@pytest.mark.usefixtures("no_nvcc")
def test_a_result_that_is_not_finite_may_be_a_sum_with_what_the_output_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "output[i] + input[i] / (1.0f + expf(-input[i]))"
    cases, calls = judged(tmp_path, monkeypatch, value)
    assert calls == [2] * len(LENGTHS)
    assert cases[-1].pattern and "added to what the output held" in cases[-1].pattern


@pytest.mark.usefixtures("no_nvcc")
def test_a_hidden_case_has_no_pattern_after_a_visible_one_had_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, calls = judged(tmp_path, monkeypatch, "input[i]", hidden=(600, 700))
    assert [case.pattern is not None for case in cases] == [True] * 5 + [False] * 2
    assert cases[-1].mismatched == 700
    assert cases[-1].message == "700 of 700 elements are wrong"
    assert calls[-2:] == [1, 1]
