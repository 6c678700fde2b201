"""Arrays of the caller in host memory: named, bounds-checked, inaccessible to kernels."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from grader.emulation.cuda_cpp import Mode, Report, compile_command, read_report, rewrite, symbolize
from grader.emulation.cuda_cpp.__main__ import runtime_object

# A worker in miniature: `h_A` in host memory, read-only, between guards; `d_A` on the device.
WORKER = """
import ctypes, mmap, os, sys
library = ctypes.CDLL(sys.argv[1])
u64, guard, rows, cols = ctypes.c_ulonglong, 65536, 10, 3
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
def memory(name, size):
    fd = os.memfd_create(name)
    os.ftruncate(fd, 2 * guard + size)
    return fd
library.grader_open_report(1)
fd = memory("h_A", 4 * rows * cols)
here = libc.mmap(None, 2 * guard + 4 * rows * cols, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
tell = library.grader_attach_host
tell.argtypes = [ctypes.c_void_p, u64, u64, u64, ctypes.c_int, ctypes.c_char_p]
tell.restype = None
tell(here, 2 * guard + 4 * rows * cols, guard, 4 * rows * cols, 0, b"h_A")
attach = library.grader_attach
attach.restype = ctypes.c_void_p
attach.argtypes = [ctypes.c_int, u64, u64, u64, ctypes.c_int, ctypes.c_char_p]
there = attach(memory("d_A", 4 * rows), 2 * guard + 4 * rows, guard, 4 * rows, 1, b"d_A")
result = library.grader_call((u64 * 4)(here + guard, there, rows, cols))
library.grader_flush_report()
print(result, file=sys.stderr)
"""
TRAMPOLINE = """
#include "copy.cu"
extern "C" int grader_call(const unsigned long long* arguments) {
    go((const float*)arguments[0], (float*)arguments[1], (int)arguments[2], (int)arguments[3]);
    cudaError_t error = cudaGetLastError();
    return error ? error : cudaDeviceSynchronize();
}
"""
# The statement is in line 6; `pick` reads one element of each row.
SOURCE = """
__global__ void pick(const float* matrix, float* column, int cols) {
    column[threadIdx.x] = matrix[threadIdx.x * cols];
}
void go(const float* h_A, float* d_A, int rows, int cols) {
    STATEMENT
}
"""
COLUMN = "cudaMemcpyHostToDevice"


@pytest.fixture(scope="module")
def runtime() -> Path:
    return runtime_object(Mode.CHECKED)


def call(statement: str, folder: Path, runtime: Path) -> tuple[str, Report]:
    """Build `go` with the statement and call it; return the CUDA error and the report."""
    text = rewrite(SOURCE.replace("STATEMENT", statement), file="copy.cu").text
    (folder / "copy.cu").write_text(text)
    (folder / "trampoline.cpp").write_text(TRAMPOLINE)
    library = folder / "copy.so"
    command = compile_command(
        compiler="g++",
        mode=Mode.CHECKED,
        source=folder / "trampoline.cpp",
        runtime=runtime,
        output=library,
        include_dirs=(folder,),
    )
    subprocess.run(command, check=True)
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(library)], capture_output=True, text=True, timeout=60
    )
    locate = partial(symbolize, library, files=["copy.cu"])
    report = read_report(done.stdout, locate=locate, sources={"copy.cu": text})
    return done.stderr.strip(), report


def test_a_copy_of_the_column_is_clean_and_counted(tmp_path: Path, runtime: Path) -> None:
    error, report = call(
        f"cudaMemcpy2D(d_A, 4, h_A, 4 * cols, 4, rows, {COLUMN});", tmp_path, runtime
    )
    assert (error, report.findings, report.accesses, report.copied_bytes) == ("0", (), 0, 40)


@pytest.mark.parametrize(
    ("statement", "kind", "buffer", "words"),
    [
        (f"cudaMemcpy2D(d_A, 4, h_A, 4 * rows, 4, rows, {COLUMN});", "invalid_copy", "h_A", "end"),
        (f"cudaMemcpy(d_A, h_A, 4 * rows * cols, {COLUMN});", "invalid_copy", "d_A", "end"),
        ("cudaMemcpy((void*)h_A, d_A, 4, cudaMemcpyDeviceToHost);", "invalid_copy", "h_A", "input"),
        ("pick<<<1, 10>>>(h_A, d_A, cols);", "out_of_bounds", "h_A", "in a kernel"),
    ],
)
def test_misuse_is_an_error_that_names_the_array(
    statement: str, kind: str, buffer: str, words: str, tmp_path: Path, runtime: Path
) -> None:
    error, report = call(statement, tmp_path, runtime)
    (finding,) = report.errors
    assert (finding.kind, finding.buffer, finding.line) == (
        kind,
        buffer,
        3 if "<" in statement else 6,
    )
    assert words in finding.message
    assert error != "0"


def test_rows_longer_than_a_pitch_are_an_error(tmp_path: Path, runtime: Path) -> None:
    statement = f"cudaMemcpy2D(d_A, 4, h_A, 4 * cols, 4 * cols, rows, {COLUMN});"
    error, report = call(statement, tmp_path, runtime)
    (finding,) = report.errors
    assert (finding.kind, finding.line, error) == ("invalid_copy", 6, "12")
    assert "pitch" in finding.message


def test_host_code_beyond_the_array_is_an_error(tmp_path: Path, runtime: Path) -> None:
    statement = f"float x = h_A[rows * cols]; cudaMemcpy(d_A, &x, 4, {COLUMN});"
    error, report = call(statement, tmp_path, runtime)
    (finding,) = report.findings
    assert (finding.severity, finding.kind, finding.buffer) == ("error", "out_of_bounds", "h_A")
    assert (finding.line, finding.element, error) == (6, 30, "0")


@pytest.mark.slow
def test_registered_memory_is_a_kernel_s_too(tmp_path: Path, runtime: Path) -> None:
    register = "cudaHostRegister((void*)h_A, 4 * rows * cols, {});"
    use = (
        "float* p = 0; cudaHostGetDevicePointer(&p, (void*)h_A, 0); pick<<<1, 10>>>(p, d_A, cols);"
    )
    end = "cudaDeviceSynchronize(); cudaHostUnregister((void*)h_A);"
    flag = "cudaHostRegisterReadOnly"
    error, report = call(f"{register.format(flag)} {use} {end}", tmp_path, runtime)
    assert (error, report.findings, report.accesses) == ("0", (), 20)


def test_read_only_memory_is_registered_as_such_only(tmp_path: Path, runtime: Path) -> None:
    error, report = call("cudaHostRegister((void*)h_A, 4, 0);", tmp_path, runtime)
    assert (error, report.findings) == ("1", ())


def test_a_kernel_beyond_the_registered_part_is_said(tmp_path: Path, runtime: Path) -> None:
    register = "cudaHostRegister((void*)h_A, rows * cols, cudaHostRegisterReadOnly);"
    _, report = call(f"{register} pick<<<1, 10>>>(h_A, d_A, cols);", tmp_path, runtime)
    (finding,) = report.findings
    assert finding.message == "host memory outside its registered part is accessed in a kernel"
