"""The registers, shared memory and spills of a kernel, as ptxas prints them.

Needs nvcc, but no GPU. The student's file is compiled in the sandbox, as for grading,
but without the cache, which does not store the compiler's output.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from grader.assignment.model import Assignment
from grader.build.nvcc import nvcc_compiler
from grader.build.ptxas import Resources, parse
from grader.build.trampoline import trampoline
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.submission.reader import SourceFile
from grader.system.toolchain import Tool


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


def _demangled(names: list[str]) -> dict[str, str]:
    """Return the names as written in the source; nothing without binutils' c++filt."""
    try:
        done = subprocess.run(
            ["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(zip(names, done.stdout.splitlines(), strict=False))
