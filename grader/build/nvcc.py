"""nvcc: CUDA C++ → a shared library for this machine's GPU.

Line information for the sanitizer's messages; the GPU's own architecture, so
that no time goes into compiling PTX at the first launch.
"""

from __future__ import annotations

from pathlib import Path

from grader.build.compiler import Compiler
from grader.system import toolchain
from grader.system.cache import content_key
from grader.system.toolchain import Tool

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


def nvcc_object_compiler(nvcc: Tool, architecture: tuple[int, int]) -> Compiler:
    """Return the compiler of a part of a program for GPUs of `architecture`."""
    flags = (*_FLAGS, "-arch=sm_{}{}".format(*architecture), "-c")

    def command(source: Path, include: Path, output: Path) -> list[str]:
        return [str(nvcc.path), *flags, f"-I{include}", "-o", str(output), str(source)]

    return Compiler(
        name=f"nvcc {nvcc.version}",
        kind="nvcc-object",
        suffix=".cu",
        key=content_key("nvcc-object", nvcc.version, str(nvcc.path), *flags),
        command=command,
    )


def nvcc_program_compiler(
    nvcc: Tool, architecture: tuple[int, int], first: str, part: Path, part_key: str
) -> Compiler:
    """Return the compiler of a whole program: the file `first`, the source, the object `part`."""
    flags = (
        *_FLAGS,
        "-arch=sm_{}{}".format(*architecture),
        *toolchain.nvcc_link_flags(nvcc),
    )

    def command(source: Path, include: Path, output: Path) -> list[str]:
        parts = [first, str(source), part.name]
        return [str(nvcc.path), *flags, f"-I{include}", "-o", str(output), *parts]

    return Compiler(
        name=f"nvcc {nvcc.version}",
        kind="nvcc-program",
        suffix=".cu",
        key=content_key("nvcc-program", nvcc.version, str(nvcc.path), *flags, first, part_key),
        command=command,
        parts=lambda: (part,),
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
