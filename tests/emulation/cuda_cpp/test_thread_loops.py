"""Kernels that the fast build cuts into loops over threads, and those that it leaves as they are.

What the cut ones compute is in `programs/loops_over_threads.cu`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.emulation.cuda_cpp import Mode, rewrite
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import build, run

PROGRAM = Path(__file__).parent / "programs" / "loops_over_threads.cu"

FILE = """
constexpr int B = 32;
#define WAIT __syncthreads()
#define COUNT 4
#undef COUNT
#define COUNT (wait(), 4)
__device__ void wait() {{ __syncthreads(); }}
__device__ void set(int& x) {{ x = 1; }}
__device__ int twice(int x) {{ return 2 * x; }}
__device__ int fetch(volatile int* p) {{ while (*p == 0) {{}} return *p; }}
struct Pair {{ int x, y; }};
__global__ void k(int* a, int n, Pair p) {{
    __shared__ int s[B];
    int t = threadIdx.x;
    {}
}}
"""

COOPERATIVE = """
#include "loops.cu"
int main() {
    int *x, *sums_of, n = 1000;
    cudaMallocManaged(&x, n * sizeof(int));
    cudaMallocManaged(&sums_of, 2 * sizeof(int));
    for (int i = 0; i < n; ++i) x[i] = i;
    sums_of[0] = sums_of[1] = 0;
    int* largest = sums_of + 1;
    void* arguments[] = {&x, &sums_of, &largest, &n};
    cudaLaunchCooperativeKernel(sums<BLOCK>, dim3(4), dim3(BLOCK), arguments, 0, 0);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && sums_of[0] == 499500 && *largest == 999);
    others();
}
"""

FAULT = """
__global__ void k(int* a) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads(); a[s[threadIdx.x]] = 1;
}
int main() {
    k<<<1, 32>>>(nullptr);
    return cudaDeviceSynchronize();
}
"""


def is_cut(body: str) -> bool:
    return "GRADER_LOOPS" in rewrite(FILE.format(body), file="k.cu").text


@pytest.mark.parametrize(
    "body",
    [
        "s[t] = a[t]; __syncthreads(); a[t] = s[B - 1 - t];",
        "s[t] = twice(a[t]); __syncthreads(); if (t >= n) return; a[t] = s[0];",
        "for (int i = t; i < n; i += blockDim.x) a[i] += 1;",
        "for (int d = B / 2; d > 0; d /= 2) { __syncthreads(); if (t < d) s[t] += s[t + d]; }",
        "for (int i = 0; i < n; ++i) { s[t] = i; __syncthreads(); a[t] += s[0]; __syncthreads(); }",
        "s[t] = 0; __syncthreads(); atomicAdd(&s[a[t]], 1); __syncthreads(); a[t] = s[t];",
        "for (int i = t; i < n; i += B) { atomicAdd(&a[i], 1); ++a[i]; } __syncthreads(); *a = 1;",
        "s[t] = a[t]; __syncthreads(); for (int i = 0; i < n; ++i) { if (s[i]) break; a[i] = 1; }",
    ],
)
def test_kernels_are_cut_at_their_barriers(body: str) -> None:
    assert is_cut(body)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("a[t] = 1;", id="no barrier"),
        pytest.param("if (t < n) __syncthreads(); a[t] = 1;", id="barrier in a branch"),
        pytest.param("while (n) { __syncthreads(); }", id="while"),
        pytest.param("for (int i = t; i < n; ++i) { __syncthreads(); a[i] = 1; }", id="own count"),
        pytest.param("for (int i = 0; i < s[0]; ++i) { __syncthreads(); }", id="count in memory"),
        pytest.param(
            "for (int i = 0; i < n; ++i) { __syncthreads(); if (a[t]) ++i; }", id="changed count"
        ),
        pytest.param(
            "for (int i = 0; i < n; ++i) { __syncthreads(); if (a[t]) break; }", id="break"
        ),
        pytest.param("if (t >= n) return; __syncthreads(); a[t] = 1;", id="early return"),
        pytest.param("__syncthreads(); ++n; a[t] = n;", id="changed parameter"),
        pytest.param("__syncthreads(); a += t; *a = 1;", id="moved pointer"),
        pytest.param("__syncthreads(); *a++ = 1;", id="pointer moved by one"),
        pytest.param("int* q = &n; __syncthreads(); *q = 1;", id="parameter by address"),
        pytest.param("__syncthreads(); set(n); a[t] = n;", id="parameter by reference"),
        pytest.param("__syncthreads(); p.x += 1; a[t] = p.x;", id="changed member"),
        pytest.param("__syncthreads(); wait(); a[t] = 1;", id="barrier in a function"),
        pytest.param("__syncthreads(); WAIT; a[t] = 1;", id="barrier in a macro"),
        pytest.param("__syncthreads(); a[t] = COUNT;", id="macro with two meanings"),
        pytest.param("__syncthreads(); a[t] = fetch(a);", id="a thread may spin"),
        pytest.param("__syncthreads(); a[t] = __shfl_sync(~0u, t, 0);", id="shuffle"),
        pytest.param("__syncthreads(); __syncwarp(); a[t] = 1;", id="barrier of a warp"),
        pytest.param("__syncthreads(); a[t] = atomicAdd(a, 1);", id="result of an atomic"),
        pytest.param("__syncthreads(); while (atomicCAS(a, 0, 1)) {} a[t] = 1;", id="lock"),
        pytest.param("volatile int* v = a; __syncthreads(); v[t] = 1;", id="volatile"),
        pytest.param("int own[4] = {}; __syncthreads(); a[t] = own[n];", id="array of a thread"),
        pytest.param("int& r = a[t]; __syncthreads(); r = 1;", id="reference"),
        pytest.param("auto f = [=] { return t; }; __syncthreads(); a[t] = f();", id="lambda"),
        pytest.param("Pair q = p; __syncthreads(); a[t] = q.x;", id="other type"),
        pytest.param("__syncthreads(); a[t] = unknown;", id="unknown name"),
        pytest.param(
            "for (int i = 0; i < n; ++i) { s[t] = i; __syncthreads(); a[t] += s[0]; }",
            id="second barrier is missing",
        ),
        pytest.param(
            "s[t] = 0; for (int i = t; i < n; i += B) atomicAdd(&s[a[i]], 1); __syncthreads();",
            id="barrier after clearing is missing",
        ),
        pytest.param('asm volatile("bar.sync 0;"); __syncthreads();', id="assembly"),
        pytest.param("for (;;__syncthreads()) {}", id="barrier in a header"),
    ],
)
def test_other_kernels_stay_as_they_are(body: str) -> None:
    assert not is_cut(body)


@pytest.mark.parametrize(
    ("loop", "expanded"),
    [
        ("for (int i = 0; i < B; ++i) x += s[i];", True),
        ("for (int i = 0; i < 8; i++) for (int j = 0; j < n; ++j) x += s[j];", False),
        ("\n#pragma unroll\nfor (int i = 0; i < B; ++i) x += s[i];", True),
        ("for (int i = 0; i < n; ++i) x += s[i];", False),
        ("for (int i = t; i < B; ++i) x += s[i];", False),
        ("for (int i = 0; i < B; i += 2) x += s[i];", False),
        ("for (int i = 0; i < B; ++i) if (s[i]) x += s[i];", False),
        ("for (int i = 0; i < B; ++i) { int y = s[i]; x += y; }", True),
        ("for (int i = 0; i < B; ++i) { int y = s[i]; if (y) x += y; }", False),
        ("for (int i = 0; i < B; ++i) x += i < n ? s[i] : 0;", False),
    ],
)
def test_short_loops_of_plain_statements_are_expanded(loop: str, expanded: bool) -> None:
    body = f"s[t] = a[t]; __syncthreads(); int x = 0; {loop} a[t] = x;"
    assert is_cut(body)
    text = rewrite(FILE.format(body), file="k.cu").text
    assert text.count("GRADER_UNROLL for") == expanded


def test_the_checked_build_has_the_kernel_as_written() -> None:
    text = rewrite(FILE.format("s[t] = a[t]; __syncthreads(); a[t] = s[0];"), file="k.cu").text
    assert "GRADER_BARRIER" in text
    assert text.count("\n") == FILE.count("\n")


def test_cut_kernels_are_right_in_every_order_and_cooperative(tmp_path: Path) -> None:
    source = tmp_path / "program.cu"
    source.write_text(COOPERATIVE)
    (tmp_path / "loops.cu").write_text(PROGRAM.read_text().replace("int main", "void others"))
    (tmp_path / "expect.cuh").write_text((PROGRAM.parent / "expect.cuh").read_text())
    program = build(
        source, mode=Mode.FAST, folder=tmp_path / "build", runtime=runtime_object(Mode.FAST)
    )
    assert program.executable, program.diagnostics
    for settings in ("os_threads=1", "schedule=reverse", "schedule=random seed=3 os_threads=2"):
        result = run(program, settings=settings, timeout_s=30, capture=True)
        assert (result.exit_code, result.stdout) == (0, ""), settings


def test_a_fault_in_a_cut_kernel_names_its_line(tmp_path: Path) -> None:
    source = tmp_path / "fault.cu"
    source.write_text(FAULT)
    program = build(source, mode=Mode.FAST, folder=tmp_path, runtime=runtime_object(Mode.FAST))
    assert program.executable, program.diagnostics
    (fault,) = run(program, timeout_s=30, capture=True).report.faults
    assert (fault.signal, fault.line, fault.kernel) == ("SIGSEGV", 5, "k")
