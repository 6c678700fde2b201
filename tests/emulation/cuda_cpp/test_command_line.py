"""`python -m grader.emulation.cuda_cpp FILE` with mistakes: messages, no tracebacks."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.build import host_compiler
from grader.emulation.cuda_cpp import Mode
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.system.toolchain import find_cxx

MAIN = "int main() { return 0; }\n"
SPINS = """#include <cstdio>
int main() { puts("here"); fflush(stdout); for (volatile int i = 0;;) {} }
"""


def tool(
    *arguments: str, folder: Path, text: str | bytes = MAIN
) -> subprocess.CompletedProcess[str]:
    """Run the tool in a folder with `kernel.cu` and a folder `folder.cu`."""
    (folder / "kernel.cu").write_bytes(text.encode() if isinstance(text, str) else text)
    (folder / "folder.cu").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "grader.emulation.cuda_cpp", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.cu"], "missing.cu: No such file or directory\n"),
        (["folder.cu"], "folder.cu: Is a directory\n"),
        (["-"], "-: No such file or directory\n"),
        (["kernel.cu", "--compiler", "no-g++"], "no-g++: No such file or directory\n"),
        (["kernel.cu", "--compiler", "false"], "`false` failed: it must be g++ 11 or later\n"),
        (["kernel.cu", "--records", "no/file"], "no/file: No such file or directory\n"),
    ],
)
def test_what_cannot_be_read_or_written(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    done = tool(*arguments, folder=tmp_path)
    assert (done.returncode, done.stderr) == (2, sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("__global__ void k() {}", "kernel.cu has no main: add one that launches the kernel."),
        ("", "kernel.cu has no main: add one that launches the kernel."),
        ("int main() { int x = ; }", "kernel.cu:1:22: error: expected primary-expression"),
        (b"\xff\xfe\0nothing", "error:"),
        ('#include "none.cuh"\n', "kernel.cu:1:10: fatal error: none.cuh"),
    ],
)
def test_what_does_not_compile(text: str | bytes, sentence: str, tmp_path: Path) -> None:
    done = tool("kernel.cu", folder=tmp_path, text=text)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_an_access_without_a_hook_is_told(tmp_path: Path) -> None:
    text = """#include <new>
struct Pair { float a, b; };
__device__ __noinline__ Pair swapped(Pair p) { return {p.b, p.a}; }
__global__ void swap(Pair* p) { new (p) Pair(swapped(*p)); }
int main() { Pair* p; cudaMallocManaged(&p, 8); *p = {1, 2};
    swap<<<1, 1>>>(p);
    return cudaFree(p); }
"""
    done = tool("kernel.cu", "--no-counters", folder=tmp_path, text=text)
    assert done.returncode == 0
    assert done.stderr == "kernel.cu:4: not checked: a function's result goes straight to memory\n"


@pytest.mark.parametrize("build", [[], ["--fast"]], ids=["checked", "fast"])
def test_how_a_program_ended(build: list[str], tmp_path: Path) -> None:
    text = "#include <csignal>\nint main() { raise(SIGKILL); }\n"
    done = tool("kernel.cu", *build, folder=tmp_path, text=text)
    assert done.returncode == 1
    assert "the program was killed by SIGKILL\n" in done.stdout


def test_crash_of_the_fast_build_is_said(tmp_path: Path) -> None:
    done = tool("kernel.cu", "--fast", folder=tmp_path, text="int main() { *(int*)8 = 1; }\n")
    assert done.returncode == 1
    assert done.stdout == "kernel.cu:1: SIGSEGV: a null pointer was dereferenced\n"


def test_time_limit(tmp_path: Path) -> None:
    done = tool("kernel.cu", "--timeout", "0.5", folder=tmp_path, text=SPINS)
    assert (done.returncode, done.stderr) == (1, "stopped after 0.5 s\n")


def test_interrupt_stops_the_program(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(SPINS)
    with subprocess.Popen(
        [sys.executable, "-m", "grader.emulation.cuda_cpp", "kernel.cu"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        time.sleep(0.1)  # the tool waits for the program now
        os.killpg(process.pid, signal.SIGINT)  # like Ctrl-C in a terminal
        try:
            _, stderr = process.communicate(timeout=20)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, stderr) == (130, "interrupted\n")


def test_reader_that_goes_away(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(MAIN)
    with subprocess.Popen(
        [sys.executable, "-m", "grader.emulation.cuda_cpp", "kernel.cu"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


@pytest.mark.parametrize("place", ["file", "function"])
def test_more_shared_memory_than_a_kernel_may_declare_is_reported(
    tmp_path: Path, place: str
) -> None:
    shared = "__shared__ float tile[13000];"
    outside, inside = (shared, "") if place == "file" else ("", shared)
    text = f"""#include <cuda_runtime.h>
{outside}
__global__ void k() {{ {inside} tile[threadIdx.x] = 1; }}
int main() {{ k<<<1, 32>>>(); return cudaDeviceSynchronize() == cudaSuccess; }}
"""
    done = tool("kernel.cu", folder=tmp_path, text=text)
    assert "kernel k: its __shared__ variables need more than 48 KiB" in done.stderr


def test_a_program_that_is_stopped_shows_what_was_found(tmp_path: Path) -> None:
    text = (
        "__global__ void k(int* a) { a[10] = 1; }\n"
        "int main() { int* d; cudaMalloc(&d, 40); k<<<1, 1>>>(d); for (volatile int i = 0;;) {} }\n"
    )
    done = tool("kernel.cu", "--timeout", "1", folder=tmp_path, text=text)
    assert (done.returncode, done.stderr) == (1, "stopped after 1 s\n")
    assert "kernel.cu:1: error: out of bounds" in done.stdout


def test_grade_run_takes_several_files_and_the_arguments_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(
        "__global__ void k(int* x) { x[blockIdx.x] = 1; }\n"
        "void launch(int* x) { k<<<2, 1>>>(x); }\n"
    )
    (tmp_path / "main.cu").write_text(
        "#include <cstdio>\nvoid launch(int*);\n"
        "int main(int n, char** words) {\n"
        "    int* x; cudaMalloc(&x, sizeof(int)); launch(x); cudaFree(x);\n"
        "    for (int i = 1; i < n; i++) puts(words[i]);\n}\n"
    )
    words = ["run", "in/main.cu", "in/kernel.cu", "--no-counters", "--", "-5", "--fast", "x.cu"]
    (tmp_path / "in").mkdir()
    for name in ("main.cu", "kernel.cu"):
        (tmp_path / name).rename(tmp_path / "in" / name)
    done = subprocess.run(
        [sys.executable, "-m", "grader", *words],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["-5", "--fast", "x.cu"]
    assert lines[3].startswith("in/kernel.cu:1: error: out of bounds: ")


def test_included_files_of_any_name_may_launch(tmp_path: Path) -> None:
    """A finding in an included file has its path; -I and -D reach the program."""
    for name, text in {
        "src/main.cu": '#include "../lib/fill.cuh"\n#include <size.h>\nint main() { run(SIZE); }\n',
        "lib/fill.cuh": '#pragma once\n#include "fill.inl"\n',
        "lib/fill.inl": (
            "template <class T> __global__ void fill(T* x, T v) { x[threadIdx.x + OFF] = v; }\n"
            "inline void run(int n) {\n"
            "    int* x; cudaMalloc(&x, n * sizeof(int)); fill<int><<<1, n>>>(x, 1); cudaFree(x);\n"
            "}\n"
        ),
        "include/size.h": "#define SIZE 32\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    words = ["run", "-I", "include", "-D", "OFF=1", "--no-counters", "src/main.cu"]
    done = subprocess.run(
        [sys.executable, "-m", "grader", *words],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("lib/fill.inl:1: error: out of bounds: ")


def test_only_code_that_is_compiled_needs_a_gpu(tmp_path: Path) -> None:
    text = (
        "#include <cublas_v2.h>\n"
        "#ifdef CUBLAS_API_H_\ncublasHandle_t handle;\n#endif\n"
        'int main() { asm volatile("wgmma.fence.sync.aligned;"); }\n'
    )
    done = tool("kernel.cu", folder=tmp_path, text=text)
    message = "kernel.cu:5 uses the PTX instruction `wgmma.fence.sync.aligned`, which only a GPU"
    assert (done.returncode, done.stderr) == (2, f"{message} can run.\n")


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        (
            "int (*f)(int) = n > 9 ? one : nullptr; x[0] = f(1);",
            "a null function pointer is called",
        ),
        ("x[0] = 7 / (n - 1);", "integer division by zero"),
        ("x[0] = deep(n << 20);", "a thread's stack is exhausted"),
        ("assert(n > 1);", "assert in kernel k: the assertion `n > 1` failed"),
        ("if (n == 1) __trap();", "__trap() in kernel k: the kernel ended itself"),
    ],
)
@pytest.mark.slow
def test_what_ends_a_kernel_has_its_line(statement: str, line: str, tmp_path: Path) -> None:
    text = (
        "__device__ int one(int x) { return x; }\n"
        "__device__ int deep(int n) { volatile int a[64] = {n}; return n ? deep(n - 1) + a[0] : 0;"
        " }\n"
        f"__global__ void k(int* x, int n) {{ {statement} }}\n"
        "int main() { int* x; cudaMalloc(&x, 4); k<<<1, 1>>>(x, 1); cudaFree(x); }\n"
    )
    done = tool("kernel.cu", folder=tmp_path, text=text)
    assert done.returncode == 1
    place = 2 if "deep" in statement else 3
    signal = "SIG" if line[0] != "_" and "assert" not in line else line
    assert done.stdout.startswith(f"kernel.cu:{place}: {signal}")
    assert line in done.stdout


@pytest.mark.parametrize(
    ("body", "notes"),
    [
        (
            "s[threadIdx.x] = 1;\n    o[threadIdx.x] = s[63 - threadIdx.x];",
            ["kernel.cu:3: note: `__syncthreads()` between lines 3 and 4 parts these accesses"],
        ),
        (
            "for (int i = 0; i < 2; ++i) {\n        s[threadIdx.x] = i;\n        __syncthreads();\n"
            "        o[threadIdx.x] = s[63 - threadIdx.x];\n    }",
            [
                "kernel.cu:6: note: `__syncthreads()` between line 6 and line 4 of the next round "
                "parts these accesses"
            ],
        ),
    ],
)
def test_a_race_names_the_barrier_that_is_missing(
    body: str, notes: list[str], tmp_path: Path
) -> None:
    text = (
        f"__global__ void k(int* o) {{\n    __shared__ int s[64];\n    {body}\n}}\n"
        "int main() { int* o; cudaMalloc(&o, 256); k<<<1, 64>>>(o); cudaFree(o); }\n"
    )
    done = tool("kernel.cu", "--no-counters", folder=tmp_path, text=text)
    assert [line for line in done.stdout.splitlines() if "note:" in line] == notes


LUCKY = """
#include <cstdio>
__global__ void k(int* x) {
    if (threadIdx.x == 0) { x[0] = 1; __threadfence(); atomicExch(x + 1, 1); }
    if (threadIdx.x == 32) { atomicAdd(x + 1, 0); __threadfence(); x[2] = x[0]; }
}
int main() {
    int* x;
    cudaMalloc(&x, 12);
    cudaMemset(x, 0, 12);
    k<<<1, 64>>>(x);
    cudaFree(x);
    puts("once");
}
"""


def test_another_order_is_run_where_it_may_find_more(tmp_path: Path) -> None:
    done = tool("kernel.cu", "--no-counters", folder=tmp_path, text=LUCKY)
    assert (done.returncode, done.stdout.count("once")) == (1, 1)
    assert "error: race" in done.stdout
    (tmp_path / "again").mkdir()
    done = tool("kernel.cu", "--schedule", "forward", folder=tmp_path / "again", text=LUCKY)
    assert (done.returncode, done.stdout.count("race")) == (0, 0)


def test_programs_use_the_runtime_that_submissions_use() -> None:
    cxx = find_cxx()
    assert cxx is not None
    if str(cxx.path) != shutil.which("g++"):
        pytest.skip("CXX is another compiler")
    assert runtime_object(Mode.FAST) == host_compiler.runtime(cxx, Mode.FAST)[0]
