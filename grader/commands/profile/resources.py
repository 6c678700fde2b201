"""The registers, shared memory and spills of a kernel, as ptxas prints them.

Needs nvcc, but no GPU. The student's file is compiled in the sandbox, as for grading,
but without the cache, which does not store the compiler's output.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from grader.assignment.model import Assignment
from grader.build.nvcc import nvcc_compiler
from grader.build.trampoline import trampoline
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.submission.reader import SourceFile
from grader.system.toolchain import Tool

_REGISTERS_PER_SM = 65536  # on every architecture from sm_70 to sm_120
_REGISTER_STEP = 8  # the allocation granularity of a thread's registers
_WARP = 32

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """One kernel's use: registers and spilled bytes per thread, static shared bytes per block."""

    kernel: str
    registers: int
    shared_bytes: int
    spill_bytes: int

    @property
    def threads_by_registers(self) -> int:
        """The number of threads whose registers fit into a multiprocessor."""
        each = -(-max(self.registers, 1) // _REGISTER_STEP) * _REGISTER_STEP
        return _REGISTERS_PER_SM // (each * _WARP) * _WARP


def resources(
    assignment: Assignment, source: SourceFile, nvcc: Tool, architecture: tuple[int, int]
) -> tuple[Resources, ...]:
    """Compile a CUDA C++ file; return the resources of its kernels, () if it does not compile."""
    signature, name = assignment.signature, Path(source.path).name
    compiler = nvcc_compiler(nvcc, architecture)
    with scratch_folder("grade-profile-") as folder:
        (folder / "trampoline.cu").write_text(trampoline(signature, name), encoding="utf-8")
        (folder / f"{signature.entry}.h").write_text(signature.header(), encoding="utf-8")
        (folder / name).write_text(source.text, encoding="utf-8")
        command = compiler.command(Path("trampoline.cu"), Path(), Path("kernel.so"))
        ended = spawn.run(
            [*command, "--resource-usage"],
            cwd=folder,
            environment=spawn.clean_environment(folder) | compiler.environment,
            wall_s=assignment.limits.build_s,
        )
    kernels = parse(ended.output)
    names = _demangled([used.kernel for used in kernels])
    return tuple(replace(used, kernel=names.get(used.kernel, used.kernel)) for used in kernels)


def parse(output: str) -> list[Resources]:
    """Parse ptxas's lines: an entry function, its spills, then its registers and memory."""
    found: list[Resources] = []
    kernel, spill_bytes = "", 0
    for line in output.splitlines():
        if entry := _ENTRY.search(line):
            kernel, spill_bytes = entry[1], 0
        elif spills := _SPILLS.search(line):
            spill_bytes = int(spills[2]) + int(spills[3])
        elif kernel and (used := _REGISTERS.search(line)):
            shared = _SHARED.search(line)
            found.append(
                Resources(
                    kernel=kernel,
                    registers=int(used[1]),
                    shared_bytes=int(shared[1]) if shared else 0,
                    spill_bytes=spill_bytes,
                )
            )
            kernel = ""
    return found


def _demangled(names: list[str]) -> dict[str, str]:
    """Return the names as written in the source; nothing without binutils' c++filt."""
    try:
        done = subprocess.run(
            ["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(zip(names, done.stdout.splitlines(), strict=False))
