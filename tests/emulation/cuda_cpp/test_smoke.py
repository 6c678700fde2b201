"""The shared object, loaded as in the worker: with ctypes, and buffers from descriptors."""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from grader.emulation.cuda_cpp import Mode, compile_command, rewrite
from grader.emulation.cuda_cpp.__main__ import runtime_object

GUARD = 65536
KERNEL = """
__global__ void silu_kernel(const float* input, float* output, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}
void silu(const float* input, float* output, int n) {
    silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}
"""
TRAMPOLINE = """
#include "silu.cu"
extern "C" int grader_call(const unsigned long long* arguments) {
    silu((const float*)arguments[0], (float*)arguments[1], (int)arguments[2]);
    cudaError_t error = cudaGetLastError();
    return error ? error : cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module", params=list(Mode))
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    mode: Mode = request.param
    folder = tmp_path_factory.mktemp(mode.value)
    (folder / "silu.cu").write_text(rewrite(KERNEL, file="silu.cu").text)
    (folder / "trampoline.cpp").write_text(TRAMPOLINE)
    command = compile_command(
        compiler="g++",
        mode=mode,
        source=folder / "trampoline.cpp",
        runtime=runtime_object(mode),
        output=folder / "silu.so",
        include_dirs=(folder,),
    )
    subprocess.run(command, check=True)
    return folder / "silu.so"


def shared_file(data: bytes, *, sealed: bool) -> int:
    fd = os.memfd_create("buffer", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, GUARD + len(data) + GUARD)
    with mmap.mmap(fd, 0) as view:
        view[:] = b"\xa5" * len(view)
        view[GUARD : GUARD + len(data)] = data
    if sealed:
        f_seal_future_write = 0x10
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, f_seal_future_write)
    return fd


def attach(library: ctypes.CDLL, fd: int, size: int, *, writable: bool, name: str) -> int:
    library.grader_attach.restype = ctypes.c_void_p
    library.grader_attach.argtypes = [
        ctypes.c_int,
        *[ctypes.c_ulonglong] * 3,
        ctypes.c_int,
        ctypes.c_char_p,
    ]
    pointer = library.grader_attach(
        fd, GUARD + size + GUARD, GUARD, size, int(writable), name.encode()
    )
    assert pointer
    return int(pointer)


def test_silu_on_attached_buffers(library: Path) -> None:
    n = 1000
    values = array("f", [i / 100 - 5 for i in range(n)])
    source = shared_file(values.tobytes(), sealed=True)
    target = shared_file(bytes(4 * n), sealed=False)
    loaded = ctypes.CDLL(str(library))
    arguments = (ctypes.c_ulonglong * 3)(
        attach(loaded, source, 4 * n, writable=False, name="input"),
        attach(loaded, target, 4 * n, writable=True, name="output"),
        n,
    )
    assert loaded.grader_call(arguments) == 0
    loaded.grader_detach_all()
    with mmap.mmap(target, 0, prot=mmap.PROT_READ) as view:
        result = array("f", view[GUARD : GUARD + 4 * n])
        assert view[:GUARD] == view[GUARD + 4 * n :] == b"\xa5" * GUARD
    assert result[500] == 0.0
    assert result[900] == pytest.approx(4 / (1 + 2.718281828459045**-4))


FAULT = """
import ctypes, sys, os
library = ctypes.CDLL(sys.argv[1])
library.grader_open_report(1)
library.grader_attach.restype = ctypes.c_void_p
fd = os.memfd_create("buffer")
os.ftruncate(fd, 4096)
pointer = library.grader_attach(
    fd, ctypes.c_ulonglong(4096), ctypes.c_ulonglong(0), ctypes.c_ulonglong(4096), 1, b"output")
ctypes.memset(pointer + 40, 1, 4)
"""


def test_host_access_to_device_memory_is_a_recorded_fault(library: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULT, str(library)], capture_output=True, text=True
    )
    assert done.returncode == -11
    record = json.loads(done.stdout.splitlines()[0])
    assert record["record"] == "fault"
    assert record["message"] == "host code accessed device memory"
    assert (record["buffer"], record["offset"], record["in_kernel"]) == ("output", 40, False)
