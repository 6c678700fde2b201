"""The g++ compilers that turn CUDA C++ into code for the CPU (see `grader.emulation.cuda_cpp`).

The student's file is rewritten line for line, compiled together with the trampoline, and linked
with the emulation's runtime, which is compiled once per machine.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from grader.assignment.libraries import LIBRARIES, forbidden_features
from grader.build.artifact import Rejected
from grader.build.compiler import Compiler, require_space
from grader.build.diagnostics import SHOWN
from grader.emulation import cuda_cpp
from grader.emulation.cuda_cpp import Mode
from grader.errors import ToolError
from grader.report.evidence import BuildEvidence, Diagnostic
from grader.report.verdict import Verdict
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.submission.reader import SourceFile
from grader.system.cache import cached_folder, content_key
from grader.system.toolchain import Tool

_OWN_WALL_S = 300.0
# g++'s message for a name in emulation/cuda_cpp/include/grader_host/refused_names.h.
_POISONED = re.compile(r'attempt to use poisoned "(\w+)"')
# The libraries that the check `rules` finds on a GPU (`grader.checks.rules.symbol_rules`).
_FORBIDDEN_ON_A_GPU = frozenset(
    f"the {name} library"
    for name in ("CUB", "Thrust", "cuBLAS", "cuDNN", "cuFFT", "cuSPARSE", "cuSOLVER", "NCCL")
)
# Those that are no headers alone.
_LINKED = _FORBIDDEN_ON_A_GPU - {"the CUB library", "the Thrust library"}

_FORBIDDEN_HINT = "remove it: this kernel must be written by hand"


def prepare(
    source: SourceFile, *, mark_locals: bool = False, allowed: frozenset[str] | None = None
) -> str | Rejected:
    """Return the file's text rewritten for g++ (`cuda_cpp.rewrite`), or why it cannot run here.

    With `allowed`, every other library of `assignment.libraries` is forbidden.
    """
    try:
        rewritten = cuda_cpp.rewrite(source.text, file=source.path, mark_locals=mark_locals)
    except cuda_cpp.TooComplicatedError as error:
        return Rejected(
            verdict=Verdict.COMPILE_ERROR,
            message=f"{source.path} cannot be translated for a CPU: {error}",
            evidence=BuildEvidence(tool="host device", cached=False),
        )
    if rewritten.refused:
        return _rejected(Verdict.FORBIDDEN, rewritten.refused, "")
    forbidden = forbidden_features(allowed)
    for used in rewritten.unsupported:
        if used.feature in forbidden:
            place = f"{used.file}:{used.line}"
            refused = cuda_cpp.Refused(
                file=used.file,
                line=used.line,
                column=used.column,
                feature=used.feature,
                message=f"{place} uses {used.feature}, which this kernel may not use",
            )
            return _rejected(Verdict.FORBIDDEN, (refused,), _FORBIDDEN_HINT)
    # A library that the spec allows runs as far as the emulation has it.
    missing = (used for used in rewritten.unsupported if allowed is None or not used.emulated)
    uses = cuda_cpp.without_unused_includes(missing)
    headers = {used.feature for used in uses if used.header}
    # The linker finds what calls a library without its header, and forbids it.
    if unsupported := tuple(
        used
        for used in uses
        if used.header or used.feature in headers or used.feature not in _LINKED
    ):
        hint = _hint(unsupported[0].feature, allowed or frozenset())
        first = {used.feature: used for used in reversed(unsupported)}
        told = tuple(_told(used) for used in unsupported if first[used.feature] is used)
        return _rejected(Verdict.NOT_MEASURED, told, hint)
    return rewritten.text


def prepare_headers(
    source: SourceFile, *, mark_locals: bool = False, allowed: frozenset[str] | None = None
) -> SourceFile | Rejected:
    """Return the file with its headers rewritten as `prepare` rewrites, or why that fails."""
    headers = []
    for header in source.headers:
        text = prepare(header, mark_locals=mark_locals, allowed=allowed)
        if isinstance(text, Rejected):
            return text
        headers.append(replace(header, text=text))
    return replace(source, headers=tuple(headers))


def _told(used: cuda_cpp.Unsupported) -> cuda_cpp.Unsupported:
    """Return a use with why it does not run: of a library's emulated part, it is the course."""
    if not used.emulated:
        return used
    message = (
        f"{used.file}:{used.line} uses {used.feature}, which runs without a GPU only if the "
        "assignment allows it."
    )
    return replace(used, message=message)


def _rejected(
    verdict: Verdict,
    found: tuple[cuda_cpp.Refused, ...] | tuple[cuda_cpp.Unsupported, ...],
    hint: str,
) -> Rejected:
    diagnostics = tuple(
        Diagnostic(
            file=item.file,
            line=item.line,
            column=item.column,
            # Only a warning if the code may be correct and only this machine cannot run it.
            severity="warning" if verdict is Verdict.NOT_MEASURED else "error",
            message=_plain(item),
        )
        for item in found[:SHOWN]
    )
    return Rejected(
        verdict=verdict,
        message=found[0].message,
        hint=hint,
        evidence=BuildEvidence(
            tool="host device", cached=False, diagnostics=diagnostics, diagnostics_total=len(found)
        ),
    )


def reject_disabled_checks(rejected: Rejected) -> Rejected:
    """Return FORBIDDEN if the file's macros produced a name that switches the checks off.

    The rewriter refuses such a name in the text itself; g++ stops at one that a macro produced.
    """
    for found in rejected.evidence.diagnostics:
        refused = _POISONED.fullmatch(found.message)
        if refused is not None:
            place = found.file if found.line is None else f"{found.file}:{found.line}"
            message = f"{place} {cuda_cpp.not_allowed(f'the attribute `{refused[1]}`')}"
            return replace(rejected, verdict=Verdict.FORBIDDEN, message=message)
    return rejected


def _hint(feature: str, allowed: frozenset[str]) -> str:
    hint = "grade it on a machine with a GPU"
    if feature in _FORBIDDEN_ON_A_GPU - {LIBRARIES[name] for name in allowed}:
        hint += ", where a kernel that must be written by hand may not use it"
    return hint


def _plain(item: cuda_cpp.Refused | cuda_cpp.Unsupported) -> str:
    """Return the message without its file and line, which a diagnostic has separately."""
    return item.message.removeprefix(f"{item.file}:{item.line}").removeprefix(":").lstrip()


def host_compiler(cxx: Tool, mode: Mode = Mode.FAST, *, contract: bool = False) -> Compiler:
    """Return the compiler of shared libraries for this CPU.

    With `contract`, it rounds a * b + c once, as nvcc does.

    Its `parts` raise ToolError if g++ cannot compile the runtime.
    """

    def command(trampoline: Path, include: Path, output: Path) -> list[str]:
        return cuda_cpp.compile_command(
            compiler=str(cxx.path),
            mode=mode,
            source=trampoline,
            runtime=Path(cuda_cpp.OBJECT),
            output=output,
            include_dirs=(include,),
            contract=contract,
            linker=_quick_linker(cxx),
        )

    return _compiler(cxx, mode, f"host-{mode}", command)


def host_object_compiler(cxx: Tool) -> Compiler:
    """Return the compiler of object files for this CPU."""

    def command(source: Path, include: Path, output: Path) -> list[str]:
        return cuda_cpp.object_command(
            compiler=str(cxx.path),
            mode=Mode.FAST,
            source=source,
            output=output,
            include_dirs=(include,),
        )

    return _compiler(cxx, Mode.FAST, "host-object", command)


def host_program_compiler(
    cxx: Tool, first: str, part: Path, part_key: str, linker_flags: Sequence[str]
) -> Compiler:
    """Return the compiler of a program out of the file `first`, the source and the object `part`.

    `part_key` identifies the object's content.
    """

    def command(source: Path, include: Path, output: Path) -> list[str]:
        program = cuda_cpp.program_command(
            compiler=str(cxx.path),
            mode=Mode.FAST,
            sources=(Path(first), source),
            objects=(Path(part.name),),
            runtime=Path(cuda_cpp.OBJECT),
            output=output,
            include_dirs=(include,),
        )
        return [*program, *(f"-Wl,{flag}" for flag in linker_flags)]

    made = _compiler(cxx, Mode.FAST, "host-program", command)
    return replace(
        made, key=content_key(made.key, part_key), parts=lambda: (*runtime(cxx, Mode.FAST), part)
    )


def _quick_linker(cxx: Tool) -> tuple[str, ...]:
    """Return g++'s flag for gold where it links, else nothing.

    ld.bfd takes three times as long to read libstdc++. But ld.bfd passes over a link to nowhere
    among the libraries, as beside a copied g++, and gold fails at it.
    """
    return _linker_flag(cxx, os.environ.get("PATH"))


@functools.cache
def _linker_flag(cxx: Tool, path: str | None) -> tuple[str, ...]:
    """Return the flag if gold is on `path` and g++ can link with it: tried once on a machine."""
    gold = shutil.which("ld.gold", path=path)
    if gold is None:
        return ()
    flag, product = "-fuse-ld=gold", "empty.so"

    def make(folder: Path) -> None:
        empty = [str(cxx.path), "-shared", flag, "-o", product, "-x", "c++", os.devnull]
        with contextlib.suppress(ToolError):
            compile_own(empty, folder / product, "an empty library")

    key = content_key(str(cxx.path), cxx.version, gold, str(Path(gold).stat().st_mtime_ns))
    return (flag,) if (cached_folder("gold", key, make) / product).is_file() else ()


def _compiler(
    cxx: Tool, mode: Mode, kind: str, command: Callable[[Path, Path, Path], list[str]]
) -> Compiler:
    return Compiler(
        name=f"g++ {cxx.version}",
        kind=kind,
        suffix=".cpp",
        # The runtime's key covers the emulation's headers.
        key=content_key(_runtime_key(cxx, mode), *command(Path(), Path(), Path())),
        command=command,
        parts=lambda: runtime(cxx, mode),
        dump=cuda_cpp.DUMP,
    )


@functools.cache
def _runtime_key(cxx: Tool, mode: Mode) -> str:
    """Return the key of the runtime, whose files a process reads once."""
    version = f"{cxx.name} {cxx.version}"
    return content_key(*cuda_cpp.runtime_key_parts(compiler_version=version, mode=mode))


def runtime(cxx: Tool, mode: Mode) -> tuple[Path, Path]:
    """Return the emulation's runtime for this machine: the object and the precompiled header.

    From the cache or compiled into it. Raises ToolError if g++ cannot compile it.
    """
    files = (cuda_cpp.OBJECT, cuda_cpp.HEADER)
    commands = (cuda_cpp.runtime_command, cuda_cpp.header_command)

    def make(folder: Path) -> None:
        for file, command in zip(files, commands, strict=True):
            argv = command(compiler=str(cxx.path), mode=mode, output=Path(file))
            compile_own(argv, folder / file, "the host runtime")

    folder = cached_folder("host-runtime", _runtime_key(cxx, mode), make, exclusive=True)
    return folder / cuda_cpp.OBJECT, folder / cuda_cpp.HEADER


def compile_own(command: list[str], output: Path, what: str, *sources: Path) -> None:
    """Run a command on code of the grader's that writes `output.name`, and copy that to `output`.

    The sources are copied to where the command runs. Raises ToolError if it fails; `what` is the
    product's name in the message. Raises OSError if the disk is full.
    """
    with scratch_folder("grade-own-") as scratch:
        for source in sources:
            shutil.copyfile(source, scratch / source.name)
        ended = spawn.run(
            command,
            cwd=scratch,
            environment=spawn.clean_environment(scratch),
            wall_s=_OWN_WALL_S,
        )
        require_space(scratch, ended)
        if not ended.ok:
            raise ToolError(
                f"{command[0]} cannot compile {what}:\n{ended.output[-2000:]}",
                tip="`grade doctor` says which g++ is needed",
            )
        shutil.copyfile(scratch / output.name, output)
