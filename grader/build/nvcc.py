"""nvcc: CUDA C++ → a shared library for this machine's GPU.

Line information for the sanitizer's messages; the GPU's own architecture, so
that no time goes into compiling PTX at the first launch.
"""

from __future__ import annotations

from pathlib import Path

from grader import toolchain
from grader.build.compiler import Compiler
from grader.cache import content_key
from grader.toolchain import Tool

# What course machines have at least, and every nvcc of today knows.
_GATE_ARCHITECTURE = 80

_FLAGS = ("-std=c++17", "-O3", "-lineinfo", "-Xcompiler=-fPIC,-Wall,-g1", "--threads=2")


def nvcc_gate(nvcc: Tool) -> Compiler:
    """Return the compiler that only asks whether nvcc accepts a file; it needs no GPU."""
    flags = ("-std=c++17", "-c", f"-arch=sm_{_GATE_ARCHITECTURE}", "-Xcompiler=-fPIC")

    def command(trampoline: Path, include: Path, output: Path) -> list[str]:
        return [str(nvcc.path), *flags, f"-I{include}", "-o", str(output), str(trampoline)]

    return Compiler(
        name=f"nvcc {nvcc.version}",
        kind="nvcc-gate",
        suffix=".cu",
        key=content_key("nvcc-gate", nvcc.version, str(nvcc.path), *flags),
        command=command,
    )


def nvcc_compiler(nvcc: Tool, architecture: tuple[int, int]) -> Compiler:
    """Return the compiler for GPUs of `architecture` (compute capability)."""
    major, minor = architecture
    flags = (*_FLAGS, f"-arch=sm_{major}{minor}", *toolchain.nvcc_link_flags(nvcc))

    def command(trampoline: Path, include: Path, output: Path) -> list[str]:
        return [
            str(nvcc.path),
            "-shared",
            *flags,
            f"-I{include}",
            "-o",
            str(output),
            str(trampoline),
        ]

    return Compiler(
        name=f"nvcc {nvcc.version}",
        kind="nvcc",
        suffix=".cu",
        key=content_key("nvcc", nvcc.version, str(nvcc.path), *flags),
        command=command,
    )
