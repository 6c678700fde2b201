"""Counters equal the hardware's counts, and are the same in every run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.emulation.cuda_cpp import KernelCounters, Mode
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.access_counters import Request, read_counters
from grader.emulation.cuda_cpp.standalone import Program, build, run

KERNELS = Path(__file__).parent / "counters" / "kernels.cu"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("counters")
    runtime = runtime_object(Mode.CHECKED)
    return build(KERNELS, mode=Mode.CHECKED, folder=folder, runtime=runtime)


@pytest.fixture(scope="module")
def counted(program: Program) -> dict[str, KernelCounters]:
    report = run(program, settings="counted_blocks=0", capture=True, timeout_s=60).report
    assert report.findings == ()
    return {kernel.kernel: kernel for kernel in report.kernels}


# Sectors measured on an H200 with Nsight Compute (32,768 requests each way).
@pytest.mark.parametrize(
    ("kernel", "load_sectors", "store_sectors"),
    [
        ("transpose_naive", 131_072, 1_048_576),
        ("transpose_tile", 131_072, 131_072),
        ("transpose_padded", 131_072, 131_072),
    ],
)
def test_transpose_sectors_are_the_hardwares(
    counted: dict[str, KernelCounters], kernel: str, load_sectors: int, store_sectors: int
) -> None:
    k = counted[kernel]
    assert k.total("requests", space="global", operation="load") == 32_768
    assert k.total("sectors", space="global", operation="load") == load_sectors
    assert k.total("sectors", space="global", operation="store") == store_sectors


@pytest.mark.parametrize(
    ("kernel", "hardware"), [("transpose_tile", 1_052_355), ("transpose_padded", 33_081)]
)
def test_shared_wavefronts_are_within_two_percent(
    counted: dict[str, KernelCounters], kernel: str, hardware: int
) -> None:
    ours = counted[kernel].total("wavefronts", space="shared", operation="load")
    assert abs(ours - hardware) <= 0.02 * hardware


@pytest.mark.parametrize(
    ("kernel", "per_request"),
    [
        ("copy", 4),
        ("copy_shifted", 5),
        ("copy_every_second", 8),
        ("copy_reversed", 4),
        ("copy_float2", 8),
        ("copy_float4", 16),
        ("copy_bytes", 1),
        ("broadcast", 1),
        ("row_per_thread", 32),
    ],
)
def test_load_sectors_per_request(
    counted: dict[str, KernelCounters], kernel: str, per_request: int
) -> None:
    k = counted[kernel]
    requests = k.total("requests", space="global", operation="load")
    assert k.total("sectors", space="global", operation="load") == per_request * requests


def test_traffic_ratio(counted: dict[str, KernelCounters]) -> None:
    assert counted["copy"].traffic_ratio == 1.0
    assert counted["transpose_naive"].traffic_ratio == 4.5


def test_stride_of_four_words_is_a_four_way_conflict(counted: dict[str, KernelCounters]) -> None:
    lines = [line for line in counted["shared_stride"].lines if line.space == "shared"]
    assert {line.wavefronts // line.requests for line in lines} == {4}
    assert all(line.bank_conflicts == 3 * line.requests for line in lines)


@pytest.mark.slow
def test_same_in_every_run_and_schedule(program: Program) -> None:
    def counters(settings: str) -> list[str]:
        records = run(program, settings=settings, capture=True, timeout_s=60).records
        return [line for line in records.splitlines() if '"record":"access"' in line]

    first = counters("")
    assert len(first) > 50
    assert counters("") == first
    assert counters("schedule=random seed=3") == first


def test_the_worst_request_of_a_line_is_kept_with_its_lanes(
    counted: dict[str, KernelCounters],
) -> None:
    def worst(kernel: str, space: str, operation: str) -> Request:
        [line] = [
            line
            for line in counted[kernel].lines
            if (line.space, line.operation) == (space, operation)
        ]
        assert line.worst is not None
        return line.worst

    load = worst("transpose_naive", "global", "load")
    assert load.lanes == tuple(range(0, 128, 4))
    assert (load.transactions, load.ideal) == (4, 4)
    store = worst("transpose_naive", "global", "store")
    assert (store.transactions, store.ideal) == (32, 4)
    assert len({lane // 32 for lane in store.lanes if lane is not None}) == 32
    column = worst("transpose_tile", "shared", "load")
    assert (column.transactions, column.ideal) == (32, 1)
    assert len({lane // 4 % 32 for lane in column.lanes if lane is not None}) == 1
    assert worst("transpose_padded", "shared", "load").transactions == 1


@pytest.mark.parametrize(
    ("kernel", "barriers", "shared_bytes"),
    [("transpose_naive", 0, 0), ("transpose_tile", 1, 4096), ("transpose_padded", 1, 4224)],
)
def test_barriers_and_shared_memory_of_a_block(
    counted: dict[str, KernelCounters], kernel: str, barriers: int, shared_bytes: int
) -> None:
    assert (counted[kernel].barriers, counted[kernel].shared_bytes) == (barriers, shared_bytes)


LONG_BLOCKS = """
__global__ void triangle(const int* in, int* out) {
    int sum = 0;
    for (int n = 0; n < 100; ++n)
        for (int i = 0; i < threadIdx.x % 32; ++i) sum += in[i];  // lanes part
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
int main() {
    int *in, *out;
    cudaMalloc(&in, 128);
    cudaMalloc(&out, 16 * 128 * sizeof(int));
    cudaMemset(in, 0, 128);
    triangle<<<16, 128>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in);
    cudaFree(out);
}
"""


def test_of_long_blocks_fewer_are_counted_unless_all_are_asked_for(tmp_path: Path) -> None:
    source = tmp_path / "triangle.cu"
    source.write_text(LONG_BLOCKS)
    runtime = runtime_object(Mode.CHECKED)
    program = build(source, mode=Mode.CHECKED, folder=tmp_path / "built", runtime=runtime)
    for settings, blocks in (("counted_blocks=0", 16), ("", 1)):
        [kernel] = run(program, settings=settings, capture=True, timeout_s=60).report.kernels
        assert kernel.counted_blocks == blocks
        loads = [line for line in kernel.lines if line.operation == "load"]
        # The k-th load of all lanes that make one is one request.
        assert [(load.requests, load.lanes) for load in loads] == [
            (blocks * 4 * 31 * 100, blocks * 4 * 496 * 100)
        ]


def test_records_of_one_kernel_share_their_lines() -> None:
    """A submission can forge thousands of both, and each with each filled the judge's memory."""
    access = {"record": "access", "kernel": "k", "pc": 1, "space": "global", "operation": "load"}
    call: dict[str, Any] = {"record": "kernel", "kernel": "k", "truncated": False}
    call |= {"grid": [1, 1, 1], "block": [1, 1, 1], "launches": 1, "dynamic_shared": 0}
    call |= {"accesses": 1, "read_bytes": 4, "written_bytes": 4, "blocks": 1, "counted_blocks": 1}
    records: list[dict[str, Any]] = [{**access, "access_bytes": width} for width in (4, 8)]
    records += [call, call]
    first, second = read_counters(records, places={})
    assert [line.access_bytes for line in first.lines] == [4, 8]
    assert first.lines is second.lines
