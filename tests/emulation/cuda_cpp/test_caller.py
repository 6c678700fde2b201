"""The C interface for the judge's worker: findings in attached buffers, faults, schedules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from grader.emulation.cuda_cpp import Mode, Report, compile_command, read_report, rewrite, symbolize
from grader.emulation.cuda_cpp.__main__ import runtime_object

# A worker in miniature: attaches `input` (read-only) and `output`, calls, flushes.
WORKER = """
import ctypes, fcntl, os, sys
library = ctypes.CDLL(sys.argv[1])
u64 = ctypes.c_ulonglong
library.grader_open_report(1)
assert library.grader_configure(sys.argv[2].encode()) == 0
attach = library.grader_attach
attach.restype = ctypes.c_void_p
attach.argtypes = [ctypes.c_int, u64, u64, u64, ctypes.c_int, ctypes.c_char_p]
def buffer(size, writable, name):
    fd = os.memfd_create(name, os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 131072 + size)
    os.pwrite(fd, bytes(range(256)) * (size // 256 + 1), 65536)
    os.ftruncate(fd, 131072 + size)
    if not writable:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 0x10)
    return attach(fd, 131072 + size, 65536, size, writable, name.encode())
n = 1000
pointers = buffer(4 * n, 0, "input"), buffer(4 * n, 1, "output")
library.grader_expect_output.argtypes = [ctypes.c_void_p]
library.grader_expect_output(pointers[1])
result = library.grader_call((u64 * 3)(*pointers, n))
library.grader_flush_report()
print(result, file=sys.stderr)
"""

TRAMPOLINE = """
#include "kernel.cu"
extern "C" int grader_call(const unsigned long long* arguments) {
    go((const float*)arguments[0], (float*)arguments[1], (int)arguments[2]);
    cudaError_t error = cudaGetLastError();
    return error ? error : cudaDeviceSynchronize();
}
"""


def call(
    body: str, folder: Path, *, mode: Mode = Mode.CHECKED, settings: str = ""
) -> tuple[int, str, Report]:
    """Build a kernel whose launcher is `go`; return (exit code, stderr, report)."""
    text = rewrite(body, file="kernel.cu").text
    (folder / "kernel.cu").write_text(text)
    (folder / "trampoline.cpp").write_text(TRAMPOLINE)
    library = folder / "kernel.so"
    command = compile_command(
        compiler="g++",
        mode=mode,
        source=folder / "trampoline.cpp",
        runtime=runtime_object(mode),
        output=library,
        include_dirs=(folder,),
    )
    subprocess.run(command, check=True)
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(library), settings],
        capture_output=True,
        text=True,
        timeout=30,
    )
    locate = partial(symbolize, library, files=["kernel.cu"])
    report = read_report(done.stdout, locate=locate, sources={"kernel.cu": text})
    return done.returncode, done.stderr.strip(), report


def kernel(statement: str) -> str:
    return f"""
__global__ void work(const float* input, float* output, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {statement}
}}
void go(const float* input, float* output, int n) {{ work<<<4, 256>>>(input, output, n); }}
"""


def test_overrun_of_an_attached_buffer(tmp_path: Path) -> None:
    _, result, report = call(kernel("output[i] = input[i < n ? i : 0];"), tmp_path)
    (finding,) = report.findings
    assert (finding.kind, finding.severity, finding.file, finding.line) == (
        "out_of_bounds",
        "error",
        "kernel.cu",
        4,
    )
    assert (finding.buffer, finding.element, finding.elements) == ("output", 1000, 1000)
    assert (finding.kernel, finding.block, finding.thread) == ("work", (3, 0, 0), (232, 0, 0))
    assert (finding.write, finding.access_bytes, finding.count) == (True, 4, 24)
    assert result == "0"
    assert report.accesses == 2 * 1024


def test_a_null_pointer_in_a_library_is_a_finding(tmp_path: Path) -> None:
    text = kernel("if (i < n) output[i] = input[i];").replace(
        "(input, output, n)", "(input, nullptr, n)"
    )
    _, result, report = call(text, tmp_path)
    (finding,) = report.findings
    assert (finding.kind, finding.severity, finding.line) == ("out_of_bounds", "error", 4)
    assert "null pointer" in finding.message
    assert not report.faults
    assert result == "700"


def test_output_read_before_it_is_written(tmp_path: Path) -> None:
    *_, report = call(kernel("if (i < n) output[i] += input[i];"), tmp_path)
    (finding,) = report.findings
    assert (finding.kind, finding.buffer, finding.count) == ("uninitialized", "output", 1000)


def test_writing_an_input_ends_the_launch(tmp_path: Path) -> None:
    exit_code, result, report = call(
        kernel("if (i < n) const_cast<float*>(input)[i] = 0;"), tmp_path
    )
    (finding,) = report.findings
    assert (exit_code, result) == (0, "700")
    assert finding.buffer == "input"
    assert finding.message == "a read-only input is written"


def test_writing_an_input_is_a_fault_in_the_fast_build(tmp_path: Path) -> None:
    body = kernel("if (i < n) const_cast<float*>(input)[i] = 0;")
    exit_code, _, report = call(body, tmp_path, mode=Mode.FAST)
    (fault,) = report.faults
    assert exit_code == -11
    assert (fault.message, fault.buffer, fault.kernel) == (
        "a read-only input was written",
        "input",
        "work",
    )


def test_host_loop_over_device_memory(tmp_path: Path) -> None:
    body = "void go(const float* input, float* output, int n) { output[0] = input[1]; }"
    exit_code, _, report = call(body, tmp_path)
    assert exit_code == -11
    assert report.faults[0].message == "host code accessed device memory"
    assert report.findings[0].message == "host code accesses device memory"
    assert report.findings[0].line == 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_runaway_recursion(mode: Mode, tmp_path: Path) -> None:
    body = (
        "__device__ float deep(float* p, int n) { volatile float here[64]; here[n % 64] = n;"
        " return n < 0 ? 0 : here[n % 64] + deep(p, n + 1) + *p; }"
    ) + kernel("output[i] = deep(output, 1);")
    exit_code, _, report = call(body, tmp_path, mode=mode)
    assert exit_code == -11
    assert report.faults[0].message == "a thread's stack is exhausted"


def test_access_limit_ends_an_endless_loop(tmp_path: Path) -> None:
    body = kernel("while (input[0] == input[0] || i) output[0] = 1; output[1] = i;")
    _, result, report = call(body, tmp_path, settings="access_limit=100000")
    assert result == "702"
    assert report.over_limit


@pytest.mark.slow
def test_schedule_shows_an_order_dependent_result(tmp_path: Path) -> None:
    body = kernel("if (i < n) atomicExch(output, (float)i);")
    counts = {
        schedule: call(body, tmp_path, settings=f"schedule={schedule}")[2].findings
        for schedule in ("forward", "reverse")
    }
    assert counts["forward"] == counts["reverse"] == ()


def test_leak_is_reported_once_an_allocation(tmp_path: Path) -> None:
    body = """
__global__ void fill(float* p) { p[threadIdx.x] = 1; }
void go(const float* input, float* output, int n) {
    float* scratch;
    cudaMalloc(&scratch, 256);
    fill<<<1, 64>>>(scratch);
}
"""
    *_, report = call(body, tmp_path)
    (finding,) = report.findings
    assert (finding.kind, finding.line, finding.buffer) == ("leak", 5, "scratch")


def test_a_refused_name_that_a_macro_pastes_does_not_compile(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # The rewriter refuses the name in the text.
    body = kernel("").replace("__global__", "SILENT __global__")
    pieces = (
        '#define CAT(a, b) a##b\n#define SILENT __attribute__((CAT(no_, sanitize)("thread")))\n'
    )
    assert not rewrite(pieces + body, file="kernel.cu").refused
    with pytest.raises(subprocess.CalledProcessError):
        call(pieces + body, tmp_path)
    assert 'kernel.cu:4:1: error: attempt to use poisoned "no_sanitize"' in capfd.readouterr().err


def test_diagnostics_name_the_students_file_and_line(tmp_path: Path) -> None:
    text = rewrite("\n\n__global__ void k() { undeclared = 1; }\n", file="kernel.cu").text
    (tmp_path / "kernel.cu").write_text(text)
    (tmp_path / "trampoline.cpp").write_text('#include "kernel.cu"\n')
    command = compile_command(
        compiler="g++",
        mode=Mode.FAST,
        source=Path("trampoline.cpp"),
        runtime=runtime_object(Mode.FAST),
        output=tmp_path / "kernel.so",
    )
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "kernel.cu:3:23: error: " in done.stderr


def test_report_lines_are_json(tmp_path: Path) -> None:
    library = tmp_path / "kernel.so"
    call(kernel('if (i == 0) output["a\\"\\\\b"[0]] = input[n];'), tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(library), ""], capture_output=True, text=True
    )
    for line in done.stdout.splitlines():
        assert "record" in json.loads(line)


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_blocks_of_a_long_launch_run_on_several_cores(tmp_path: Path) -> None:
    body = """
#include <pthread.h>
__device__ unsigned long long first = 0, several = 0;
__global__ void work(float* output) {
    float x = threadIdx.x;
    for (int k = 0; k < 2000; ++k) x = sinf(x) + 1;
    __syncthreads();
    unsigned long long self = (unsigned long long)pthread_self();
    unsigned long long old = atomicCAS(&first, 0ull, self);
    if (old != 0 && old != self) atomicExch(&several, 1ull);
    output[threadIdx.x] = x;
}
void go(const float* input, float* output, int n) {
    work<<<256, 64>>>(output);
    unsigned long long seen = 0;
    cudaMemcpyFromSymbol(&seen, several, sizeof seen);
    if (!seen) work<<<0, 0>>>(output);
}
"""
    assert call(body, tmp_path, mode=Mode.FAST)[1] == "0"
    assert call(body, tmp_path, mode=Mode.FAST, settings="os_threads=1")[1] == "9"


def test_a_machine_with_many_cores_has_enough_mappings(tmp_path: Path) -> None:
    body = """
__global__ void work(float* out) {
    __shared__ float s[1024];
    s[threadIdx.x] = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 200; ++k) {
        __syncthreads();
        sum += __shfl_xor_sync(~0u, s[(threadIdx.x + k) % 1024], 1);
    }
    if (threadIdx.x == 0) out[0] = sum;
}

void go(const float* input, float* output, int n) { work<<<256, 1024>>>(output); }
"""
    assert call(body, tmp_path, mode=Mode.FAST, settings="os_threads=64")[1] == "0"
