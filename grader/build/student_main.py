"""Build a student's own main.cu: an object file first, then a program with one of the kernels.

    main.cu ─────────────→ main.o ─┐
    kernel, entry renamed ─────────┼─→ program, the same one for every run
    shim (defines the entry) ──────┘

There are two steps, because main.cu can be compiled before it is known which of the student's
kernels is correct.
"""

from __future__ import annotations

import re
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath

from grader.assignment.libraries import allowed_libraries, link_flags
from grader.assignment.model import Assignment
from grader.build import diagnostics, main_shim
from grader.build.artifact import Built, Rejected, reject_source
from grader.build.compiler import Compiled, Compiler, compile_sources, failure
from grader.build.host_compiler import (
    host_object_compiler,
    host_program_compiler,
    prepare,
    prepare_headers,
)
from grader.build.kernel_file import build_on_cpu, build_on_gpu, first_error
from grader.build.nvcc import nvcc_object_compiler, nvcc_program_compiler
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.system import toolchain
from grader.system.retry import Pool
from grader.vocabulary import Device, Language

_OBJECT = "main.o"
_PROGRAM = "program"

# The linker's messages; a file name and line may precede them.
_UNDEFINED = re.compile(
    r"^(?:.*?(?P<file>[^\s/:]+):(?P<line>\d+): )?.*undefined reference to [`‘'](?P<name>.+?)['’]$",
    re.M,
)
_TWICE = re.compile(r"multiple definition of [`‘'](?P<name>.+?)['’]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The device to build for; `architecture` is a GPU's compute capability."""

    device: Device
    architecture: tuple[int, int] | None = None


class ProgramBuilds:
    """The running builds of main.cu: `part` is the object file, with one program per kernel."""

    def __init__(
        self, assignment: Assignment, main: SourceFile, target: Target, pool: Pool
    ) -> None:
        self._assignment = assignment
        self._main = main
        self._target = target
        self._pool = pool
        self._programs: dict[str, Future[Built | Rejected]] = {}
        self.part = pool.submit(build_main, assignment, main, target)

    @property
    def futures(self) -> tuple[Future[Built | Rejected], ...]:
        """All builds that were started."""
        return (self.part, *self._programs.values())

    def start(self, kernel: SourceFile) -> Future[Built | Rejected]:
        """Start linking with a kernel that builds, unless that has started already."""
        if kernel.path not in self._programs:
            self._programs[kernel.path] = self._pool.submit(self._link, kernel)
        return self._programs[kernel.path]

    def _link(self, kernel: SourceFile) -> Built | Rejected:
        # `part` was submitted before this, so it is running or done: no deadlock.
        part = self.part.result()
        if isinstance(part, Rejected):
            return part
        return build_program(self._assignment, self._main, part, kernel, self._target)


def build_main(assignment: Assignment, source: SourceFile, target: Target) -> Built | Rejected:
    """Compile main.cu by itself; the product is an object file.

    Raises GraderError if a compiler breaks down.
    """
    if source.problem is not None:
        return reject_source(source.problem, source.hint)
    compile_with = partial(_compile_main, assignment, source, target)
    if target.device is Device.CUDA:
        assert target.architecture is not None
        compiler = partial(nvcc_object_compiler, architecture=target.architecture)
        return build_on_gpu(source, compile_with, compiler)
    return build_on_cpu(
        source,
        compile_with,
        lambda cxx, here, text: _compile_main(
            assignment, here, target, host_object_compiler(cxx), text
        ),
    )


def _compile_main(
    assignment: Assignment, source: SourceFile, target: Target, compiler: Compiler, text: str
) -> Built | Rejected:
    signature = assignment.signature
    compiled = compile_sources(
        compiler,
        {**source.header_texts, source.path: text, signature.header_name: signature.header()},
        source.path,
        _OBJECT,
        files=(source.path, *source.header_texts),
        wall_s=assignment.limits.build_s,
    )
    if compiled.library is not None:
        return Built(
            language=Language.CUDA,
            device=target.device,
            path=compiled.library,
            file=source.path,
            entry=signature.entry,
            evidence=compiled.evidence,
        )
    message = first_error(compiled)
    files = [PurePosixPath(f).name for k in assignment.kernels for f in k.files.values()]
    # g++ and nvcc both quote the name of a missing header.
    kernel = next((file for file in files if file in message), None)
    hint = diagnostics.advice(message)
    if hint and kernel is not None:
        hint = f'write #include "{signature.header_name}": {kernel} is linked by the grader'
    return failure(compiled, message, hint)


def build_program(
    assignment: Assignment, main: SourceFile, part: Built, kernel: SourceFile, target: Target
) -> Built | Rejected:
    """Link the object `part`, made of `main`, with a kernel that builds, and the shim.

    An error of the linker is a compile error of main.cu. If the kernel itself cannot be compiled
    in this form, the verdict is not_measured, because the kernel was accepted before.
    """
    signature = assignment.signature
    text = kernel.text
    part_key = part.path.parent.name
    flags = main_shim.linker_flags()
    if target.device is Device.CUDA:
        nvcc = toolchain.find_nvcc()
        assert nvcc is not None  # it compiled `part`
        assert target.architecture is not None
        compiler = nvcc_program_compiler(
            nvcc,
            target.architecture,
            main_shim.SHIM_FILE,
            part.path,
            part_key,
            flags,
            link_flags(allowed_libraries(assignment, kernel.path)),
        )
    else:
        cxx = toolchain.find_cxx()
        assert cxx is not None
        allowed = allowed_libraries(assignment, kernel.path)
        prepared = prepare(kernel, allowed=allowed)
        here = prepare_headers(kernel, allowed=allowed)
        if isinstance(prepared, Rejected):
            return prepared
        if isinstance(here, Rejected):
            return here
        text, kernel = prepared, here
        compiler = host_program_compiler(cxx, main_shim.SHIM_FILE, part.path, part_key, flags)
    file = PurePosixPath(kernel.path).name
    source = f"{main_shim.KERNEL_FILE}{compiler.suffix}"
    compiled = compile_sources(
        compiler,
        {
            main_shim.SHIM_FILE: main_shim.shim_source(signature),
            main_shim.SHIM_HEADER: main_shim.shim_header(),
            source: main_shim.kernel_source(signature, file),
            **kernel.header_texts,
            file: text,
            signature.header_name: signature.header(),
        },
        source,
        _PROGRAM,
        files=(file, *kernel.header_texts),
        wall_s=assignment.limits.build_s,
    )
    if compiled.library is not None:
        # Keep the diagnostics of main.cu.
        return replace(part, path=compiled.library)
    found = link_problem(assignment, main.path, kernel.path, compiled)
    if found is not None:
        return failure(compiled, *found)
    rejected = failure(compiled, f"{main.path} and {kernel.path} cannot be linked here")
    if rejected.verdict is not Verdict.COMPILE_ERROR:
        return rejected
    return Rejected(
        verdict=Verdict.NOT_MEASURED,
        message=f"{rejected.message}: {first_error(compiled)}",
        evidence=compiled.evidence,
    )


def link_problem(
    assignment: Assignment, main: str, kernel: str, compiled: Compiled
) -> tuple[str, str] | None:
    """Return (message, hint) if the linker's messages are about the student's own names."""
    assert compiled.ended is not None
    output = compiled.ended.output
    entry, header = assignment.signature.entry, assignment.signature.header_name
    twice = _TWICE.search(output)
    if twice is not None:
        name = twice["name"]
        if name.split("(")[0] == entry:
            return (
                f"{main} defines `{entry}` itself: it must call the one in {kernel}",
                f'remove it, and write #include "{header}"',
            )
        if name == "main":
            return f"{kernel} defines `main`, too: {main} is the program", "remove it"
        return (f"{main} and {kernel} both define `{name}`", "put `static` before it in both files")
    missed = list(_UNDEFINED.finditer(output))
    if any(match["name"] == "main" for match in missed):
        return f"{main} defines no function `main`", "expected: int main()"
    for match in missed:
        name = match["name"]
        place = f"{main}:{match['line']}" if match["file"] == main else main
        if name.split("(")[0] == entry:
            return (
                f"{place}: the declaration of `{name}` does not match its definition",
                f'write #include "{header}" instead of a declaration',
            )
        return f"{place}: `{name}` is used but not defined", "define it in the file"
    return None
