"""The nvcc compilers: a library, an object or a program for this machine's GPU, and a gate.

Line information (`-lineinfo`) is for compute-sanitizer's messages. Code is compiled for the GPU's
own architecture, so that the first launch does not compile PTX. ptxas prints what each kernel uses
(`grader.build.ptxas`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.build.compiler import Compiler
from grader.gpu.target import course_target
from grader.system import toolchain
from grader.system.cache import content_key
from grader.system.toolchain import Tool

_FLAGS = ("-std=c++17", "-O3", "-lineinfo", "-Xcompiler=-fPIC,-Wall,-g1", "--threads=2")
_SAY_WHAT_IS_USED = "-Xptxas=-v"  # registers and shared memory of each kernel


def nvcc_gate(nvcc: Tool, *, links: tuple[str, ...] | None = None) -> Compiler:
    """Return the compiler that only tests whether nvcc accepts a file for the course's GPU.

    It prints what each kernel uses of that GPU (`grader.build.ptxas`). Without `links`, the flags
    of libraries, it stops before the host compiler and the linkers, which would take a quarter of
    its time and say nothing new of a file that g++ has compiled and linked.
    """
    all_links = None if links is None else (*toolchain.nvcc_link_flags(nvcc), *links)
    last = ("-cuda",) if all_links is None else ("-shared", *all_links)
    target = f"-arch={course_target().name}"
    flags = ("-std=c++17", target, "-Xcompiler=-fPIC", _SAY_WHAT_IS_USED, *last)
    return _compiler(nvcc, "nvcc-gate", flags)


def nvcc_compiler(
    nvcc: Tool, architecture: tuple[int, int], libraries: tuple[str, ...] = ()
) -> Compiler:
    """Return the compiler of shared libraries for GPUs of `architecture` (compute capability).

    `libraries` are the flags that link with those of the toolkit.
    """
    links = (*toolchain.nvcc_link_flags(nvcc), *libraries)
    flags = ("-shared", *_flags(architecture), _SAY_WHAT_IS_USED, *links)
    return _compiler(nvcc, "nvcc", flags)


def nvcc_object_compiler(nvcc: Tool, architecture: tuple[int, int]) -> Compiler:
    """Return the compiler of object files for GPUs of `architecture`."""
    return _compiler(nvcc, "nvcc-object", (*_flags(architecture), "-c"))


def nvcc_code_compiler(nvcc: Tool, architecture: tuple[int, int], form: str) -> Compiler:
    """Return the compiler of a file's code for GPUs of `architecture`; `form` is ptx or cubin."""
    return _compiler(nvcc, f"nvcc-{form}", (*_flags(architecture), f"-{form}"))


def nvcc_program_compiler(
    nvcc: Tool,
    architecture: tuple[int, int],
    first: str,
    part: Path,
    part_key: str,
    linker_flags: Sequence[str],
    libraries: tuple[str, ...] = (),
) -> Compiler:
    """Return the compiler of a program out of the file `first`, the source and the object `part`.

    `part_key` identifies the object's content, `libraries` are flags.
    """
    own = tuple(f"-Xlinker={flag}" for flag in linker_flags)
    flags = (*_flags(architecture), *toolchain.nvcc_link_flags(nvcc), *libraries, *own)
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
