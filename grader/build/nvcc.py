"""The nvcc compilers: a library, an object or a program for this machine's GPU, and a gate.

Line information (`-lineinfo`) is for compute-sanitizer's messages. Code is compiled for the GPU's
own architecture, so that the first launch does not compile PTX.
"""

from __future__ import annotations

from pathlib import Path

from grader.build.compiler import Compiler
from grader.gpu.target import course_target
from grader.system import toolchain
from grader.system.cache import content_key
from grader.system.toolchain import Tool

_FLAGS = ("-std=c++17", "-O3", "-lineinfo", "-Xcompiler=-fPIC,-Wall,-g1", "--threads=2")


def nvcc_gate(nvcc: Tool, libraries: tuple[str, ...] = ()) -> Compiler:
    """Return the compiler that only tests whether nvcc accepts a file for the course's GPU.

    It prints what each kernel uses of that GPU (`grader.build.ptxas`). `libraries` are flags.
    """
    # Linked, too: the linkers' verdict on an object that g++'s linker refuses.
    links = (*toolchain.nvcc_link_flags(nvcc), *libraries)
    target = f"-arch={course_target().name}"
    flags = ("-std=c++17", "-shared", target, "-Xcompiler=-fPIC", "-Xptxas=-v", *links)
    return _compiler(nvcc, "nvcc-gate", flags)


def nvcc_compiler(
    nvcc: Tool, architecture: tuple[int, int], libraries: tuple[str, ...] = ()
) -> Compiler:
    """Return the compiler of shared libraries for GPUs of `architecture` (compute capability).

    `libraries` are the flags that link with those of the toolkit.
    """
    links = (*toolchain.nvcc_link_flags(nvcc), *libraries)
    return _compiler(nvcc, "nvcc", ("-shared", *_flags(architecture), *links))


def nvcc_object_compiler(nvcc: Tool, architecture: tuple[int, int]) -> Compiler:
    """Return the compiler of object files for GPUs of `architecture`."""
    return _compiler(nvcc, "nvcc-object", (*_flags(architecture), "-c"))


def nvcc_program_compiler(
    nvcc: Tool,
    architecture: tuple[int, int],
    first: str,
    part: Path,
    part_key: str,
    libraries: tuple[str, ...] = (),
) -> Compiler:
    """Return the compiler of a program out of the file `first`, the source and the object `part`.

    `part_key` identifies the object's content, `libraries` are flags.
    """
    flags = (*_flags(architecture), *toolchain.nvcc_link_flags(nvcc), *libraries)
    return _compiler(nvcc, "nvcc-program", flags, first=first, part=part, part_key=part_key)


def _flags(architecture: tuple[int, int]) -> tuple[str, ...]:
    major, minor = architecture
    return (*_FLAGS, f"-arch=sm_{major}{minor}")


def _compiler(
    nvcc: Tool,
    kind: str,
    flags: tuple[str, ...],
    *,
    first: str | None = None,
    part: Path | None = None,
    part_key: str = "",
) -> Compiler:
    def command(source: Path, include: Path, output: Path) -> list[str]:
        files = [*([first] if first else []), str(source), *([part.name] if part else [])]
        return [str(nvcc.path), *flags, f"-I{include}", "-o", str(output), *files]

    return Compiler(
        name=f"nvcc {nvcc.version}",
        kind=kind,
        suffix=".cu",
        key=content_key(kind, nvcc.version, str(nvcc.path), *flags, first or "", part_key),
        command=command,
        parts=lambda: (part,) if part else (),
    )
