"""Who computed the result: host code may move a little, but not do the kernel's work."""

from __future__ import annotations

import dataclasses
import re
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
from grader.vocabulary import CheckName, Language, Visibility

HEAD = """\
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <strings.h>
#include <thread>
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
__managed__ float managed_values[1025];
struct Chunk { float v[250]; };
__global__ void put(Chunk chunk, float* to, int n)
{
    if (threadIdx.x < n) to[threadIdx.x] = chunk.v[threadIdx.x];
}
__global__ void first_of_block(const float* x, float* firsts)
{
    if (threadIdx.x == 0) firsts[blockIdx.x] = x[blockIdx.x * 256];
}
static float silu_of(float x) { return x / (1.0f + std::exp(-x)); }
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
    "mapped": f"float* x; cudaHostAlloc(&x, {SIZE}, cudaHostAllocMapped);"
    f" copy{LAUNCH}(input, x, n); cudaDeviceSynchronize(); std::transform(x, x + n, x, silu_of);"
    f" copy{LAUNCH}(x, output, n); cudaDeviceSynchronize(); cudaFreeHost(x);",
    "registered": f"std::vector<float> x(n); cudaHostRegister(x.data(), {SIZE}, 0);"
    f" copy{LAUNCH}(input, x.data(), n); cudaDeviceSynchronize(); work(x.data(), n);"
    f" copy{LAUNCH}(x.data(), output, n); cudaDeviceSynchronize(); cudaHostUnregister(x.data());",
    "managed variable": f"float* s; cudaGetSymbolAddress((void**)&s, managed_values);"
    f" copy{LAUNCH}(input, s, n); cudaDeviceSynchronize(); work(managed_values, n);"
    f" copy{LAUNCH}(s, output, n); cudaDeviceSynchronize();",
    "by std::copy": f"float* m; cudaMallocManaged(&m, {SIZE}); copy{LAUNCH}(input, m, n);"
    " cudaDeviceSynchronize(); std::vector<float> x(m, m + n); work(x.data(), n);"
    f" std::copy(x.begin(), x.end(), m); copy{LAUNCH}(m, output, n); cudaFree(m);",
    "by bcopy": f"float* m; cudaMallocManaged(&m, {SIZE}); copy{LAUNCH}(input, m, n);"
    f" cudaDeviceSynchronize(); std::vector<float> x(n); bcopy(m, x.data(), {SIZE});"
    f" work(x.data(), n); bcopy(x.data(), m, {SIZE}); copy{LAUNCH}(m, output, n); cudaFree(m);",
    "in a thread": f"float* m; cudaMallocManaged(&m, {SIZE}); copy{LAUNCH}(input, m, n);"
    " cudaDeviceSynchronize(); std::thread t([=] { work(m, n); }); t.join();"
    f" copy{LAUNCH}(m, output, n); cudaFree(m);",
    "as arguments of kernels": f"std::vector<float> x(n); cudaMemcpy(x.data(), input, {SIZE},"
    " cudaMemcpyDeviceToHost); work(x.data(), n); for (int i = 0; i < n; i += 250) { Chunk c;"
    " int k = std::min(250, n - i); memcpy(c.v, x.data() + i, k * 4);"
    " put<<<1, 256>>>(c, output + i, k); }",
}
BY_KERNEL = {
    "partial sums": "int b = (n + 255) / 256; float* s; cudaMalloc(&s, b * 4);"
    " first_of_block<<<b, 256>>>(input, s); std::vector<float> h(b); cudaMemcpy(h.data(), s, b * 4,"
    " cudaMemcpyDeviceToHost); h[0] = std::accumulate(h.begin(), h.end(), 0.0f); cudaMemcpy(s,"
    f" h.data(), 4, cudaMemcpyHostToDevice); cudaFree(s); kernel{LAUNCH}(input, output, n);",
    "managed scratch": f"float* m; cudaMallocManaged(&m, {SIZE}); copy{LAUNCH}(input, m, n);"
    f" kernel{LAUNCH}(m, output, n); cudaDeviceSynchronize(); cudaFree(m);",
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


@pytest.mark.slow
@pytest.mark.usefixtures("no_nvcc")
def test_a_kernel_for_the_visible_sizes_hides_nothing(silu: Assignment, tmp_path: Path) -> None:
    hidden = CaseTemplate(sizes={"n": 2050}, visibility=Visibility.HIDDEN)
    assignment = dataclasses.replace(silu, cases=(*silu.cases, hidden))
    body = f"if (n == 1025) {{ {BY_KERNEL['plain']} return; }} {BY_HOST['by std::copy']}"
    (check,) = graded(assignment, tmp_path, body)
    assert check.verdict is Verdict.FORBIDDEN
    assert "in a hidden case, host code took an input from the GPU" in check.message
    assert not re.search(r"\d", check.message), "a number tells the size"


@pytest.mark.usefixtures("no_nvcc")
def test_an_assignment_may_allow_it(silu: Assignment, tmp_path: Path) -> None:
    kernels = tuple(
        dataclasses.replace(kernel, rules=Rules(host_allowed=True)) for kernel in silu.kernels
    )
    allowed = dataclasses.replace(silu, kernels=kernels)
    results = graded(allowed, tmp_path, BY_HOST["managed"])
    assert all(one.verdict is Verdict.ACCEPTED for one in results)
