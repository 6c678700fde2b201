"""The registers, shared memory and spills of a kernel, as ptxas prints them; no GPU is needed.

CUDA C++ is compiled by nvcc in the sandbox, as for grading, but without the cache, which does not
store the compiler's output. Of Triton the launches of one case are compiled, as by the compile
gate, whose cache has ptxas's output.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.build.artifact import Built, Rejected
from grader.build.compile_gate import CompiledLaunch, compile_launches, compiled_launches
from grader.build.nvcc import nvcc_compiler
from grader.build.ptxas import Resources, parse
from grader.build.trampoline import trampoline
from grader.checks.check import CheckContext
from grader.gpu.target import course_target
from grader.protocol.targets import Target
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.submission.reader import SourceFile
from grader.system.toolchain import Tool
from grader.vocabulary import CheckName, Language


def resources(
    assignment: Assignment, source: SourceFile, nvcc: Tool, architecture: tuple[int, int]
) -> tuple[Resources, ...]:
    """Compile a CUDA C++ file; return the resources of its kernels, () if it does not compile."""
    compiler = nvcc_compiler(nvcc, architecture)
    with scratch_folder("grade-profile-") as folder:
        command = compiler.command(write_sources(folder, assignment, source), Path(), Path("k.so"))
        ended = spawn.run(
            [*command, "--resource-usage"],
            cwd=folder,
            environment=spawn.clean_environment(folder) | compiler.environment,
            wall_s=assignment.limits.build_s,
        )
    kernels = parse(ended.output)
    names = demangled([used.kernel for used in kernels])
    return tuple(replace(used, kernel=names.get(used.kernel, used.kernel)) for used in kernels)


def architecture_of(file: CheckContext) -> tuple[int, int]:
    """Return the compute capability of this machine's GPU, else of the course's."""
    return file.gpu.compute_capability if file.gpu else course_target().version


def as_built(built: Built) -> SourceFile:
    """Return the file as it was compiled, which may be a translation."""
    headers = (SourceFile(path=name, text=text) for name, text in built.headers.items())
    return SourceFile(path=built.file, text=built.text, headers=tuple(headers))


def write_sources(folder: Path, assignment: Assignment, source: SourceFile) -> Path:
    """Write a CUDA C++ submission into a folder; return the name of the file to compile."""
    name, first = Path(source.path).name, Path("trampoline.cu")
    files = {**assignment.header_texts, **source.header_texts, name: source.text}
    files[first.name] = trampoline(assignment.signature, name)
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    return first


def demangled(names: list[str]) -> dict[str, str]:
    """Return the names as written in the source; nothing without binutils' c++filt."""
    try:
        done = subprocess.run(
            ["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(zip(names, done.stdout.splitlines(), strict=False))


def triton_launches(file: CheckContext) -> tuple[Case, list[dict[str, Any]], str]:
    """Execute one case of a Triton file without a GPU.

    Returns the case, the records of its launches, and what is wrong ("" if nothing).
    """
    # These import torch.
    from grader.checks.correctness.judging import check_correctness
    from grader.checks.counters.count import counting_case

    rng = file.rng(CheckName.COUNTERS)
    case = counting_case(file.assignment, file.file.kernel, Language.TRITON, file.public_seed, rng)
    launches: list[dict[str, Any]] = []

    def keep(record: dict[str, Any]) -> None:
        if record.get("record") == "launch":
            launches.append(record)

    verified = check_correctness(file.setup(), (case,), file.data, file.advance, keep)
    (result,) = verified.cases
    right = launches or result.verdict.earns_points
    return case, launches, "" if right else f"{case.name}: {result.message}"


def triton_resources(
    file: CheckContext, target: Target
) -> tuple[Case, tuple[CompiledLaunch, ...], str]:
    """Execute one case of a Triton file without a GPU, and compile its launches.

    Returns the case, the launches that compile, and what is wrong ("" if nothing).
    """
    case, launches, problem = triton_launches(file)
    if not launches:
        return case, (), problem
    decided = compile_launches(file.built, launches)
    problem = decided.message if isinstance(decided, Rejected) else ""
    return case, compiled_launches(launches, target), problem
