"""CUDA C++ → a shared library for this machine's processor (see `grader.emulation.cuda_cpp`).

The student's file is rewritten line for line, compiled by g++ together with
the trampoline, and linked with our runtime, which is compiled once per machine.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from grader.build.artifact import Rejected
from grader.build.compiler import Compiler
from grader.build.diagnostics import SHOWN
from grader.emulation import cuda_cpp
from grader.emulation.cuda_cpp import Mode
from grader.errors import ToolError
from grader.report.evidence import BuildEvidence, Diagnostic
from grader.report.verdict import Verdict
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import box
from grader.submission.reader import SourceFile
from grader.system.cache import cached_folder, content_key
from grader.system.toolchain import Tool

_RUNTIME_FILE = "runtime.o"
_RUNTIME_WALL_S = 300.0
# g++ at a name of host/include/grader_host/refused_names.h.
_POISONED = re.compile(r'attempt to use poisoned "(\w+)"')


# What the check `rules` finds in a library that nvcc built (`grader.checks.rules.symbol_rules`).
_FORBIDDEN_ON_A_GPU = frozenset(
    f"the {name} library"
    for name in ("CUB", "Thrust", "cuBLAS", "cuDNN", "cuFFT", "cuSPARSE", "cuSOLVER", "NCCL")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A student's file as g++ is to see it."""

    text: str


def prepare(source: SourceFile) -> Prepared | Rejected:
    """Rewrite the file, or say what in it has no meaning on a processor."""
    try:
        rewritten = cuda_cpp.rewrite(source.text, file=source.path)
    except cuda_cpp.TooComplicatedError as error:
        return Rejected(
            verdict=Verdict.COMPILE_ERROR,
            message=f"{source.path} cannot be made to run on a processor: {error}",
            evidence=BuildEvidence(tool="host device", cached=False),
        )
    if rewritten.refused:
        return _rejected(Verdict.FORBIDDEN, rewritten.refused)
    if rewritten.unsupported:
        return _rejected(Verdict.NOT_MEASURED, rewritten.unsupported)
    return Prepared(text=rewritten.text)


def _rejected(
    verdict: Verdict, found: tuple[cuda_cpp.Refused, ...] | tuple[cuda_cpp.Unsupported, ...]
) -> Rejected:
    diagnostics = tuple(
        Diagnostic(
            file=item.file,
            line=item.line,
            column=item.column,
            # Not to be mended where only this machine cannot run it.
            severity="warning" if verdict is Verdict.NOT_MEASURED else "error",
            message=_plain(item),
        )
        for item in found[:SHOWN]
    )
    first = found[0]
    return Rejected(
        verdict=verdict,
        message=first.message,
        hint=_hint(first.feature) if verdict is Verdict.NOT_MEASURED else "",
        evidence=BuildEvidence(
            tool="host device",
            cached=False,
            diagnostics=diagnostics,
            diagnostics_total=len(found),
        ),
    )


def forbidden_switch(rejected: Rejected) -> Rejected:
    """Return the verdict on a text whose macros made a name that switches the checks off.

    What the rewriter sees it refuses itself; the compiler stops at the others.
    """
    for found in rejected.evidence.diagnostics:
        refused = _POISONED.fullmatch(found.message)
        if refused is not None:
            place = found.file if found.line is None else f"{found.file}:{found.line}"
            message = f"{place} {cuda_cpp.not_allowed(f'the attribute `{refused[1]}`')}"
            return replace(rejected, verdict=Verdict.FORBIDDEN, message=message)
    return rejected


def _hint(feature: str) -> str:
    hint = "grade it on a machine with a GPU"
    if feature in _FORBIDDEN_ON_A_GPU:
        hint += ", where a kernel that is to be written by hand may not use it"
    return hint


def _plain(item: cuda_cpp.Refused | cuda_cpp.Unsupported) -> str:
    """Return the message without its place, which a diagnostic has of its own."""
    return item.message.removeprefix(f"{item.file}:{item.line}").removeprefix(":").lstrip()


def host_compiler(cxx: Tool, mode: Mode = Mode.FAST) -> Compiler:
    """Return the compiler for this processor.

    Raises ToolError if the runtime itself does not compile here.
    """
    runtime_key = _runtime_key(cxx, mode)

    def command(trampoline: Path, include: Path, output: Path) -> list[str]:
        return cuda_cpp.compile_command(
            compiler=str(cxx.path),
            mode=mode,
            source=trampoline,
            runtime=Path(_RUNTIME_FILE),
            output=output,
            include_dirs=(include,),
        )

    flags = cuda_cpp.compile_command(
        compiler=str(cxx.path), mode=mode, source=Path(), runtime=Path(), output=Path()
    )
    return Compiler(
        name=f"g++ {cxx.version}",
        kind=f"host-{mode}",
        suffix=".cpp",
        key=content_key(runtime_key, *flags),
        command=command,
        parts=lambda: (_runtime(cxx, mode, runtime_key),),
    )


def host_object_compiler(cxx: Tool) -> Compiler:
    """Return the compiler of a part of a program for this processor."""
    compiler = str(cxx.path)

    def command(source: Path, include: Path, output: Path) -> list[str]:
        return cuda_cpp.object_command(
            compiler=compiler, mode=Mode.FAST, source=source, output=output, include_dirs=(include,)
        )

    return Compiler(
        name=f"g++ {cxx.version}",
        kind="host-object",
        suffix=".cpp",
        # Our headers are part of the runtime's key.
        key=content_key(_runtime_key(cxx, Mode.FAST), *command(Path(), Path(), Path())),
        command=command,
    )


def host_program_compiler(cxx: Tool, first: str, part: Path, part_key: str) -> Compiler:
    """Return the compiler of a whole program: the file `first`, the source, the object `part`."""
    runtime_key = _runtime_key(cxx, Mode.FAST)

    def command(source: Path, include: Path, output: Path) -> list[str]:
        return cuda_cpp.program_command(
            compiler=str(cxx.path),
            mode=Mode.FAST,
            sources=(Path(first), source),
            objects=(Path(part.name),),
            runtime=Path(_RUNTIME_FILE),
            output=output,
            include_dirs=(include,),
        )

    return Compiler(
        name=f"g++ {cxx.version}",
        kind="host-program",
        suffix=".cpp",
        key=content_key(runtime_key, part_key, *command(Path(), Path(), Path())),
        command=command,
        parts=lambda: (_runtime(cxx, Mode.FAST, runtime_key), part),
    )


def runtime(cxx: Tool, mode: Mode) -> Path:
    """Return our runtime for this machine, from the cache or compiled into it.

    Raises ToolError if g++ cannot compile it.
    """
    return _runtime(cxx, mode, _runtime_key(cxx, mode))


def _runtime_key(cxx: Tool, mode: Mode) -> str:
    version = f"{cxx.name} {cxx.version}"
    return content_key(*cuda_cpp.runtime_key_parts(compiler_version=version, mode=mode))


def _runtime(cxx: Tool, mode: Mode, key: str) -> Path:
    """Return our runtime, compiled for this machine."""

    def make(folder: Path) -> None:
        with box("grade-runtime-") as scratch:
            ended = spawn.run(
                cuda_cpp.runtime_command(
                    compiler=str(cxx.path), mode=mode, output=Path(_RUNTIME_FILE)
                ),
                cwd=scratch,
                environment=spawn.clean_environment(scratch),
                wall_s=_RUNTIME_WALL_S,
            )
            if ended.ok:
                shutil.copyfile(scratch / _RUNTIME_FILE, folder / _RUNTIME_FILE)
        if not ended.ok:
            raise ToolError(
                f"{cxx.path} cannot compile the host runtime:\n{ended.output[-2000:]}",
                tip="`grade doctor` says which g++ is needed",
            )

    return cached_folder("host-runtime", key, make, alone=True) / _RUNTIME_FILE
