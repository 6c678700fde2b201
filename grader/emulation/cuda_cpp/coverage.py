"""What of CUDA the emulation runs: the table of docs/host-coverage.md.

A supported or partly supported row names the programs under tests/emulation/cuda_cpp that use it;
a row that is not supported has a line of code that the front end refuses.

    python -m grader.emulation.cuda_cpp.coverage    prints the table
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from grader.emulation.cuda_cpp.ptx import instructions


class State(str, Enum):
    """How far a part of CUDA runs."""

    YES = "supported"
    PARTLY = "partly"
    NOT = "not"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A part of CUDA; `note` says what is missing or different."""

    subject: str
    state: State
    note: str = ""
    programs: tuple[str, ...] = ()
    refused: str = ""


def _yes(subject: str, *programs: str, note: str = "") -> Row:
    return Row(subject=subject, state=State.YES, note=note, programs=programs)


def _partly(subject: str, *programs: str, note: str) -> Row:
    return Row(subject=subject, state=State.PARTLY, note=note, programs=programs)


def _not(subject: str, refused: str, note: str = "") -> Row:
    return Row(subject=subject, state=State.NOT, note=note, refused=refused)


ROWS = (
    _yes("Launches, `cudaLaunchKernel`, `cudaLaunchKernelEx`", "launches", "launch_attributes"),
    _yes("Cooperative launches, `grid.sync()`", "grid_sync", "grid_sync_of_an_ordinary_launch",
         note="at most as many blocks as fit 16 multiprocessors of 2,048 threads"),
    _partly("Barriers across blocks made by hand", "barrier_by_hand",
            note="in a cooperative launch, with atomics or volatile reads; accesses before and "
            "after a change of blocks count as ordered"),
    _partly("Dynamic parallelism", "launches_by_kernels",
            note="children run after the launch of the host, in order; no `cudaDeviceSynchronize` "
            "in a kernel, as in CUDA 12"),
    _yes("Cooperative groups: tiles of any size, coalesced and labelled groups, `reduce`, `scan`, "
         "`memcpy_async`", "cooperative_tiles", "tiles_of_two_warps", "coalesced_filter",
         "wide_shuffles", "group_copies"),
    _yes("Warp functions: shuffles, votes, matches, reductions", "warps"),
    _yes("`cuda::atomic`, `atomic_ref`, scopes and orders", "message_by_atomic",
         "atomic_ref_histogram", note="values of 1 to 8 bytes"),
    _yes("`cuda::barrier`, mbarriers", "block_barrier", "barrier_of_too_many",
         note="without completion functions"),
    _yes("`cuda::pipeline`, `cuda::memcpy_async`", "shared_pipeline"),
    _yes("`__pipeline_memcpy_async` and its family", "pipeline_primitives"),
    _partly("`cuda::std`", "message_by_atomic", note="the host's standard library under that name"),
    _yes("half, bfloat16", "half_precision", "half_dot", "bfloat16_axpy",
         note="arithmetic in float, one rounding for each operation"),
    _yes("8-bit floats", "fp8_quantise", note="conversions, as CUDA has them"),
    _partly("Tensor cores: `wmma`, `mma`, `ldmatrix`", "wmma_gemm", "mma_by_ptx",
            note="half, bfloat16, tf32, int8, double; no sub-byte types, no sparsity, no `wgmma`; "
            "the order of a fragment's elements is the emulation's"),
    _yes("`malloc`, `new`, `free`, `delete` in kernels", "kernel_malloc", "kernel_new",
         note="a heap of 8 MiB, or what `cudaLimitMallocHeapSize` asks for"),
    _yes("`clock`, `clock64`, `%globaltimer`", "clocks", note="one time; 1.5 GHz"),
    _yes("Pitched and 3-D memory, arrays", "pitched_rows", "pitched_volume"),
    _partly("Texture objects", "textures",
            note="point and linear, all address modes, 1-D to 3-D, layered; fetches are neither "
            "checked nor counted; no cube maps, mipmaps, gathers"),
    _yes("Streams, events, host functions", "runtime_api", "streams_and_events",
         "launches_of_two_threads",
         note="in the order of the calls; work of streams that nothing orders is a race"),
    _yes("`cudaMallocAsync`, memory pools", "runtime_api",
         note="all pools are one"),
    _partly("Graphs and stream capture", "graph_replay",
            note="nodes run in the order in which they were added; no kernel nodes by hand, no "
            "conditional nodes"),
    _yes("Managed memory, prefetches, hints", "managed_memory", "managed_hints"),
    _partly("Inline PTX", "ptx_arithmetic", "ptx_copies", "named_barriers",
            note="the table below; no branches, no carries, templates of string literals"),
    _yes("SIMD intrinsics on bytes and halves", "bytes_of_a_word"),
    _yes("`cuComplex.h`, `math_constants.h`", "complex_numbers"),
    _yes("Extended lambdas", "extended_lambda"),
    _yes("C++17, C++20, C++23", "concepts", note="as far as g++ has them"),
    _yes("Sample headers, NVTX, unused includes of libraries", "sample_headers", "profiler_ranges"),
    _partly("OpenMP", "host_loops", note="one thread"),
    _partly("CUB", "cub_block", "cub_device",
            note="the emulation's own: reductions, scans, loads and stores of a warp or block; "
            "`DeviceReduce`, `DeviceScan`, `DeviceHistogram::HistogramEven`, `DeviceRadixSort`, "
            "`DeviceSelect`, each a launch of one thread, not counted by `grade`; another name is "
            "not measured"),
    _partly("Thrust", "thrust_vectors",
            note="the emulation's own: `device_vector`, `host_vector`, fill, copy, sequence, "
            "transform, reduce, scans, sorts, counts, extrema, each a launch of one thread, not "
            "counted by `grade`; another name is not measured"),
    _partly("cuRAND in kernels", "random_numbers",
            note="XORWOW and Philox4x32-10 by their papers; whether the numbers are cuRAND's has "
            "not been checked on a GPU, and normal numbers differ in the last bits"),
    _not("cuBLAS, cuFFT, cuRAND's host API, cuSOLVER, cuSPARSE, cuDNN, NPP, NCCL",
         "cublasHandle_t h;", "an unused include is allowed"),
    _not("Other parts of CUB and Thrust; CUTLASS, CuTe", "#include <thrust/unique.h>"),
    _not("The special functions of `<cmath>` (`std::legendre`, `std::cyl_bessel_j`)",
         "double f(double x) { return std::legendre(2, x); }"),
    _not("Surfaces", "cudaSurfaceObject_t s;"),
    _not("Thread-block clusters", "void f() { auto c = this_cluster(); }"),
    _not("The driver API, run-time compilation", "#include <nvrtc.h>\nnvrtcProgram p;"),
    _not("Several GPUs, memory between processes", "void f() { cudaIpcGetMemHandle(0, 0); }"),
    _not("Other PTX", 'void f() { asm volatile("wgmma.fence.sync.aligned;"); }'),
)  # fmt: skip


def table() -> str:
    """Return the table of the documentation, and the mnemonics of PTX."""
    lines = ["| part of CUDA | state | note |", "|---|---|---|"]
    lines += [f"| {row.subject} | {row.state.value} | {row.note} |" for row in ROWS]
    known = ", ".join(f"`{name}`" for name in instructions())
    return "\n".join([*lines, "", f"PTX: {known}."])


if __name__ == "__main__":
    print(table())
