"""schedule=interleaved: threads and blocks take turns, and an update without an atomic is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from slow import slow_unless

from grader.emulation.cuda_cpp import Mode
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import build, run

HERE = Path(__file__).parent
RIGHT = sorted((HERE / "correct").glob("*.cu"))

# The body of a kernel that 4 blocks of 32 threads run, and the total: expected, and in turns.
UPDATES = {
    "one thread of each block": ("if (threadIdx.x == 0) *total += 1;", 4, 1),
    "a device variable": ("if (threadIdx.x == 0) sum = sum + 1; *total = sum;", 4, 1),
    "all threads": ("*total += 1;", 128, 1),
    "shared memory": (
        "__shared__ int s; if (threadIdx.x == 0) s = 0; __syncthreads(); s += 1; __syncthreads();"
        " if (threadIdx.x == 0) atomicAdd(total, s);",
        128,
        4,
    ),
    "a test before the write": (
        "if (threadIdx.x == 0 && *total < 1) *total = 1 + atomicAdd(&sum, 1);",
        1,
        4,
    ),
    "atomics": ("atomicAdd(total, 1);", 128, 128),
    "a lock": (
        "if (threadIdx.x == 0) { while (atomicCAS(&sum, 0, 1)); __threadfence(); *total += 1;"
        " __threadfence(); atomicExch(&sum, 0); }",
        4,
        4,
    ),
    "a barrier of two blocks": (
        "if (blockIdx.x > 1) return; if (threadIdx.x == 0) { atomicAdd(&sum, 1);"
        " while (*(volatile int*)&sum < 2); atomicAdd(total, 1); }",
        None,
        2,
    ),
}
PROGRAM = """
#include <cstdio>
__device__ int sum;
__global__ void update(int* total) {{ {body} }}
int main() {{
    int *total, result;
    cudaMalloc(&total, 4);
    cudaMemset(total, 0, 4);
    update<<<4, 32>>>(total);
    cudaMemcpy(&result, total, 4, cudaMemcpyDeviceToHost);
    cudaFree(total);
    printf("%d", result);
}}
"""


@pytest.mark.parametrize(
    "name", slow_unless({"one thread of each block", "a lock"}.__contains__, UPDATES)
)
def test_an_update_without_order_is_lost(name: str, tmp_path: Path) -> None:
    body, in_order, in_turns = UPDATES[name]
    source = tmp_path / "update.cu"
    source.write_text(PROGRAM.format(body=body))
    folder = tmp_path / "build"
    folder.mkdir()
    mode = Mode.CHECKED
    program = build(source, mode=mode, folder=folder, runtime=runtime_object(mode))
    assert program.executable, program.diagnostics
    for schedule, total in (("forward", in_order), ("interleaved", in_turns)):
        if total is not None:
            result = run(program, settings=f"schedule={schedule}", timeout_s=20, capture=True)
            assert (schedule, result.stdout) == (schedule, str(total))


@pytest.mark.slow
@pytest.mark.parametrize("source", RIGHT, ids=lambda path: path.stem)
def test_right_programs_end_without_findings(source: Path, tmp_path: Path) -> None:
    mode = Mode.CHECKED
    program = build(source, mode=mode, folder=tmp_path, runtime=runtime_object(mode))
    result = run(program, settings="schedule=interleaved", timeout_s=20, capture=True)
    assert (result.exit_code, result.report.findings, result.report.faults) == (0, (), ())
