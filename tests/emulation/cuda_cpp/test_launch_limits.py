"""Launches that no GPU makes are refused, with the figure, the limit and the launch's line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.emulation.cuda_cpp import Mode, symbolize
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import build, run

# Each launch, with what is refused, its figure, the limit and the error; None if it is made.
LAUNCHES = {
    "k<<<0, 256>>>(p);": ("grid.x", 0, 1, 9),
    "k<<<1, dim3(32, 0)>>>(p);": ("block.y", 0, 1, 9),
    "k<<<1, 1025>>>(p);": ("threads", 1025, 1024, 9),
    "k<<<1, dim3(64, 32)>>>(p);": ("threads", 2048, 1024, 9),
    "k<<<1, dim3(1, 1, 65)>>>(p);": ("block.z", 65, 64, 9),
    "k<<<dim3(1, 65536), 1>>>(p);": ("grid.y", 65536, 65535, 9),
    "k<<<dim3(1, 1, 65536), 1>>>(p);": ("grid.z", 65536, 65535, 9),
    "k<<<1, 1, 49153>>>(p);": ("dynamic_shared", 49153, 49152, 1),
    "k<<<1, 1, 131072>>>(p);": ("dynamic_shared", 131072, 101376, 1),
    "with_static<<<1, 1, 16384>>>(p);": ("shared", 16384 + 40000, 49152, 1),
    "ns::held<float, 2><<<1, 1024>>>(p);": ("registers", 73728, 65536, 701),
    "ns::held<float, 2><<<1, dim3(30, 29)>>>(p);": None,
    "k<<<1, 1024>>>(p);": None,
    "k<<<1, 1, 49152>>>(p);": None,
    "with_static<<<1, 1, 8192>>>(p);": None,
}
# What nvcc and the course's GPU tell the runtime.
SETTINGS = "shared_limit=101376 registers=held:72"
PROGRAM = """
#include <cstdio>
__global__ void k(int* p) {{ if (!threadIdx.x) *p = 1; }}
__global__ void with_static(int* p) {{ __shared__ int s[10000]; s[0] = *p; *p = s[0]; }}
namespace ns {{
template <class T, int N> __global__ void held(int* p) {{ if (!threadIdx.x) *p = N; }} }}
int main() {{
    int* p;
    cudaMalloc(&p, 4);
    cudaMemset(p, 0, 4);
{launches}
    cudaFree(p);
}}
"""
FIRST_LINE = 11  # of the launches


@pytest.mark.parametrize("mode", [Mode.FAST, pytest.param(Mode.CHECKED, marks=pytest.mark.slow)])
def test_each_refusal_says_what_and_where(mode: Mode, tmp_path: Path) -> None:
    lines = [f'    {launch} printf("%d ", cudaGetLastError());' for launch in LAUNCHES]
    source = tmp_path / "launches.cu"
    source.write_text(PROGRAM.format(launches="\n".join(lines)))
    folder = tmp_path / "build"
    folder.mkdir()
    program = build(source, mode=mode, folder=folder, runtime=runtime_object(mode))
    assert program.executable, program.diagnostics
    result = run(program, settings=SETTINGS, timeout_s=20, capture=True)
    records = [json.loads(line) for line in result.records.splitlines()]
    refused = [record for record in records if record["record"] == "refused_launch"]
    places = symbolize(program.executable, {r["pc"] for r in refused}, files=program.sources)
    found = {places[r["pc"]].line: (r["what"], r["value"], r["limit"], r["error"]) for r in refused}
    numbered = dict(enumerate(LAUNCHES.values(), start=FIRST_LINE))
    assert found == {line: wanted for line, wanted in numbered.items() if wanted}


def test_opting_in_allows_as_much_as_the_gpu_has(tmp_path: Path) -> None:
    source = tmp_path / "opt_in.cu"
    source.write_text(
        """
#include <cstdio>
__global__ void k(int* p) { extern __shared__ int s[]; s[25000] = 1; *p = s[25000]; }
int main() {
    int *p, most;
    cudaMalloc(&p, 4);
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    for (int bytes = 101377; bytes > 101375; --bytes) {
        cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        printf("%d ", cudaGetLastError());
        k<<<1, 1, bytes>>>(p);
        printf("%d ", cudaGetLastError());
    }
    printf("%d", most);
    cudaFree(p);
}
"""
    )
    folder = tmp_path / "build"
    folder.mkdir()
    program = build(source, mode=Mode.FAST, folder=folder, runtime=runtime_object(Mode.FAST))
    assert program.executable, program.diagnostics
    result = run(program, settings=SETTINGS, timeout_s=20, capture=True)
    assert result.stdout == "1 1 0 0 101376"
