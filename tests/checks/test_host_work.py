"""Who computed the result: host code may move a little, but not do the kernel's work."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from paths import REPOSITORY
from slow import slow_unless

from grader.assignment.cases import CaseTemplate
from grader.assignment.model import Assignment, Rules
from grader.assignment.reader import read_assignment
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.model import CheckResult
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Language

HEAD = """\
#include <cmath>
#include <cstring>
#include <vector>
__constant__ float table[1025];
__global__ void copy(const float* from, float* to, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}
__global__ void kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}
static void work(float* x, int n)
{
    for (int i = 0; i < n; ++i) x[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
ENTRY = 'extern "C" void silu(const float* input, float* output, int n) {{ {body} }}\n'
SIZE = "n * sizeof(float)"
LAUNCH = "<<<(n + 255) / 256, 256>>>"

BY_HOST = {
    "copies": f"std::vector<float> x(n); cudaMemcpy(x.data(), input, {SIZE}, cudaMemcpyDefault);"
    f" work(x.data(), n); cudaMemcpy(output, x.data(), {SIZE}, cudaMemcpyDefault);",
    "managed": f"float* x; cudaMallocManaged(&x, {SIZE}); copy{LAUNCH}(input, x, n);"
    f" cudaDeviceSynchronize(); work(x, n); copy{LAUNCH}(x, output, n); cudaFree(x);",
    "pinned": f"float* x; cudaMallocHost(&x, {SIZE}); cudaMemcpyAsync(x, input, {SIZE},"
    " cudaMemcpyDeviceToHost); cudaDeviceSynchronize(); work(x, n); cudaMemcpyAsync(output, x,"
    f" {SIZE}, cudaMemcpyHostToDevice); cudaDeviceSynchronize(); cudaFreeHost(x);",
    "staged": f"std::vector<float> x(n); float* m; cudaMallocManaged(&m, {SIZE});"
    f" copy{LAUNCH}(input, m, n); cudaDeviceSynchronize(); memcpy(x.data(), m, {SIZE});"
    f" work(x.data(), n); memcpy(m, x.data(), {SIZE}); copy{LAUNCH}(m, output, n); cudaFree(m);",
    "kernel for show": f"kernel{LAUNCH}(input, output, n); std::vector<float> x(n);"
    f" cudaMemcpy(x.data(), input, {SIZE}, cudaMemcpyDeviceToHost); work(x.data(), n);"
    f" cudaMemcpy(output, x.data(), {SIZE}, cudaMemcpyHostToDevice);",
    "rows": "std::vector<float> x(n); cudaMemcpy2D(x.data(), 4, input, 4, 4, n, cudaMemcpyDefault);"
    " work(x.data(), n); cudaMemcpy2D(output, 4, x.data(), 4, 4, n, cudaMemcpyDefault);",
}
BY_KERNEL = {
    "plain": f"kernel{LAUNCH}(input, output, n);",
    "reads the result": f"kernel{LAUNCH}(input, output, n); std::vector<float> x(n);"
    f" cudaMemcpy(x.data(), output, {SIZE}, cudaMemcpyDeviceToHost);",
    "uploads a table": "static float x[1025]; cudaMemcpyToSymbol(table, x, sizeof x);"
    f" kernel{LAUNCH}(input, output, n);",
    "staged and untouched": f"float* x; cudaMallocHost(&x, {SIZE}); cudaMemcpy(x, input, {SIZE},"
    f" cudaMemcpyDefault); float* y; cudaMalloc(&y, {SIZE}); cudaMemcpy(y, x, {SIZE},"
    f" cudaMemcpyDefault); kernel{LAUNCH}(y, output, n); cudaFree(y); cudaFreeHost(x);",
}


@pytest.fixture(scope="module")
def silu() -> Assignment:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    return dataclasses.replace(assignment, cases=(CaseTemplate(sizes={"n": 1025}),))


def graded(assignment: Assignment, folder: Path, body: str) -> list[CheckResult]:
    (folder / "silu.cu").write_text(HEAD + ENTRY.format(body=body))
    options = Options(
        languages=frozenset({Language.CUDA}),
        checks=frozenset({CheckName.CORRECTNESS, CheckName.RULES}),
    )
    report = grade(assignment, read_submission(folder, assignment), options, Progress())
    assert report.kernels[0].verdict is not Verdict.WRONG_ANSWER, report.kernels[0]
    return [check for check in report.kernels[0].checks if check.name is CheckName.RULES]


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize("name", slow_unless({"copies", "managed"}.__contains__, BY_HOST))
def test_work_of_the_host_is_forbidden(silu: Assignment, tmp_path: Path, name: str) -> None:
    (check,) = graded(silu, tmp_path, BY_HOST[name])
    assert check.verdict is Verdict.FORBIDDEN
    nothing_launched = name in ("copies", "pinned", "rows")
    part = "nothing was launched" if nothing_launched else "host code took 4,100 bytes from the GPU"
    assert part in check.message
    assert check.hint.startswith("compute every element in a kernel")


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize("name", slow_unless({"reads the result"}.__contains__, BY_KERNEL))
def test_work_of_a_kernel_is_not(silu: Assignment, tmp_path: Path, name: str) -> None:
    assert all(one.verdict is Verdict.ACCEPTED for one in graded(silu, tmp_path, BY_KERNEL[name]))


@pytest.mark.usefixtures("no_nvcc")
def test_an_assignment_may_allow_it(silu: Assignment, tmp_path: Path) -> None:
    kernels = tuple(
        dataclasses.replace(kernel, rules=Rules(host_allowed=True)) for kernel in silu.kernels
    )
    allowed = dataclasses.replace(silu, kernels=kernels)
    results = graded(allowed, tmp_path, BY_HOST["managed"])
    assert all(one.verdict is Verdict.ACCEPTED for one in results)
