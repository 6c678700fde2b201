"""The g++ command lines for the runtime (once per machine) and for each source file.

The runtime is an object, and the header `cuda_runtime.h` precompiled: with it a file compiles
in a third of the time. g++ takes it from the folder in which it runs, or reads the header itself.

The caller runs the commands in its sandbox and caches the results; `runtime_key_parts`
lists everything that the runtime's object depends on.

*fast* is an optimised build without checks. *checked* has the thread sanitizer's calls
before every access, and the undefined-behaviour sanitizer's calls for array indices and
alignment. It is linked with neither library: the runtime defines the called functions.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import subprocess
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

_HERE = Path(__file__).parent
INCLUDE_DIR = _HERE / "include"
RUNTIME_DIR = _HERE / "runtime"
# The names under which the runtime's files lie beside a source file.
OBJECT = "runtime.o"
HEADER = "cuda_runtime.h.gch"
# What g++ writes beside its product when it compiles one file: its intermediate code.
DUMP = "code.dump"
_PRELUDE = ("-include", "cuda_runtime.h")


class Mode(str, Enum):
    """The kind of build."""

    FAST = "fast"
    CHECKED = "checked"

    def __str__(self) -> str:
        return self.value


STANDARD = "c++17"
STANDARDS = ("c++17", "c++20", "c++23")
_COMMON = (
    # Ubuntu's g++ defines it: memcpy would become __memcpy_chk, which the runtime cannot check.
    "-U_FORTIFY_SOURCE",
    "-fPIC",
    # Direct calls between the student's functions, without the linker's table.
    "-fvisibility=hidden",
    "-fno-semantic-interposition",
    # With this model a read of threadIdx is one instruction.
    "-ftls-model=initial-exec",
    # No fusing of multiply and add: g++'s rules differ from a GPU's.
    "-ffp-contract=off",
)

_CONTRACT = (
    "-ffp-contract=fast",
    "-DGRADER_CONTRACT",
    *(("-mfma",) if platform.machine() == "x86_64" else ()),
)

_STUDENT: dict[Mode, tuple[str, ...]] = {
    Mode.FAST: (
        *("-O2", "-g1", "-DGRADER_CHECKED=0", "-DGRADER_SPACES=1"),
        # What kernels need of -O3. All of it takes values for uninitialized that are guarded alike,
        # and g++'s warnings are shown to students.
        *("-ftree-vectorize", "-fvect-cost-model=dynamic", "-fpeel-loops", "-funswitch-loops"),
        *("-fsplit-loops", "-fsplit-paths"),
        # A loop that never ends keeps its accesses, and so its line.
        *("-fno-finite-loops", "-fno-tree-dce"),
        # Kernels are expanded in the loop over a block's threads.
        *("--param=max-inline-insns-auto=400", "--param=max-inline-insns-single=400"),
    ),
    Mode.CHECKED: (
        # -O1 sinks an unguarded load into a later `if`, and the bug disappears.
        "-Og",
        "-gdwarf-4",
        "-DGRADER_CHECKED=1",
        "-fsanitize=thread,bounds-strict,alignment,signed-integer-overflow",
        # The one macro of the compiler that tells this build from the fast one: a file that asked
        # for it could have another kernel checked than the one that counts.
        "-U__SANITIZE_THREAD__",
        # Volatile accesses are flags or spin loops; they get separate calls.
        "--param=tsan-distinguish-volatile=1",
        # memcpy and memset stay calls, which cuda_runtime.h renames to checked ones.
        "-fno-builtin",
        # Copies of arguments and results become statements of their own, which have hooks.
        "-fno-elide-constructors",
        # Function entries need no call: a finding's inlined frames come from DWARF.
        "--param=tsan-instrument-func-entry-exit=0",
    ),
}

# Local variables without a value get one that shows in the outputs. g++ 11 does not know it.
_FILLING = ("-ftrivial-auto-var-init=pattern",)

_RUNTIME = {
    Mode.FAST: ("-O2", "-g1", "-DGRADER_CHECKED=0"),
    Mode.CHECKED: ("-O2", "-g1", "-DGRADER_CHECKED=1"),
}

# The compiler's pass after which it writes DUMP, which then shows the source's calls in the fast
# build (`execution_space`), and the hooks in the checked build (`unhooked`).
_DUMPED_AFTER = {Mode.FAST: "cfg", Mode.CHECKED: "tsan"}

# How GRADER_SPACES spells the marks of functions (include/grader_host/vocabulary.h).
SPACE_ATTRIBUTES = {
    "__global__": "noclone",
    "__device__": "no_profile_instrument_function",
    "__host__": "no_icf",
}

# Warnings that do not matter for kernels.
_WARNINGS = (
    *("-Wno-unknown-pragmas", "-Wno-attributes", "-Wno-unused-result"),
    *("-Wuninitialized", "-Wmaybe-uninitialized", "-Wtype-limits"),
)

# -fsanitize links the sanitizers' libraries unless all libraries are named.
_LIBRARIES = ("-nodefaultlibs", "-lstdc++", "-lm", "-lpthread", "-lgcc_s", "-lgcc", "-lc")


def runtime_sources() -> tuple[Path, ...]:
    """Return the runtime's source files, in a fixed order."""
    return tuple(sorted(RUNTIME_DIR.glob("*.cpp")))


def runtime_command(*, compiler: str, mode: Mode, output: Path) -> list[str]:
    """Return the command that builds the runtime: one relocatable object, `output`.

    All sources are one translation unit: most of the time goes into the standard headers.
    """
    included = (word for source in runtime_sources() for word in ("-include", str(source)))
    return [
        compiler,
        f"-std={STANDARD}",
        *_COMMON,
        *_RUNTIME[mode],
        "-fno-exceptions",
        "-fno-rtti",
        f"-I{INCLUDE_DIR}",
        f"-I{RUNTIME_DIR}",
        "-r",
        "-nostdlib",
        "-o",
        str(output),
        *included,
        *("-x", "c++", os.devnull),
    ]


def header_command(*, compiler: str, mode: Mode, output: Path) -> list[str]:
    """Return the command that precompiles the header before every file; `output` is `HEADER`."""
    # Not as the main file, where g++ ignores `#pragma once`.
    return [
        compiler,
        "-x",
        "c++-header",
        f"-std={STANDARD}",
        *_language(mode, compiler),
        f"-I{INCLUDE_DIR}",
        *_PRELUDE,
        "-o",
        str(output),
        os.devnull,
    ]


def contracts() -> bool:
    """True if this CPU can compute a * b + c with one rounding, as `compile_command` needs it."""
    if platform.machine() != "x86_64":
        return True
    with contextlib.suppress(OSError):
        return " fma " in f"{Path('/proc/cpuinfo').read_text(encoding='ascii', errors='replace')} "
    return False


def compile_command(
    *,
    compiler: str,
    mode: Mode,
    source: Path,
    runtime: Path,
    output: Path,
    include_dirs: Sequence[Path] = (),
    executable: bool = False,
    contract: bool = False,
    linker: Sequence[str] = (),
) -> list[str]:
    """Return the command that builds `source` with the runtime into `output`.

    `source` is the rewritten student file, or a C++ file that includes it. The student's
    files are found through `include_dirs`. The product is a shared object, or with
    `executable` a program with the source's `main`. `DUMP` is written beside it. With
    `contract`, a * b + c is rounded once, where g++ finds it: nvcc does so by default.
    `linker` is the flag of another linker for shared objects: of programs, the linker's
    messages are read (`build.student_main`).
    """
    return [
        *_student_flags(compiler, mode, include_dirs),
        *(_CONTRACT if contract else ()),
        _dump_flag(mode, output),
        str(source),
        "-x",
        "none",
        str(runtime),
        *(() if executable else ("-shared", *linker)),
        *_link_flags(output),
    ]


def object_command(
    *,
    compiler: str,
    mode: Mode,
    source: Path,
    output: Path,
    include_dirs: Sequence[Path] = (),
) -> list[str]:
    """Return the command that compiles `source` into an object file, with `DUMP` beside it."""
    flags = (*_student_flags(compiler, mode, include_dirs), _dump_flag(mode, output))
    return [*flags, "-c", "-o", str(output), str(source)]


def program_command(
    *,
    compiler: str,
    mode: Mode,
    sources: Sequence[Path],
    objects: Sequence[Path],
    runtime: Path,
    output: Path,
    include_dirs: Sequence[Path] = (),
    macros: Path | None = None,
    standard: str = STANDARD,
) -> list[str]:
    """Return the command that builds a program of sources and objects, linked in this order.

    `macros` is a file of the student's macros. With another standard, g++ cannot use the
    precompiled header. The checked build writes a dump of each source beside it, `*.tsan*`.
    """
    return [
        *_student_flags(compiler, mode, include_dirs, standard=standard),
        *((f"-fdump-tree-{_DUMPED_AFTER[mode]}-lineno-asmname",) * (mode is Mode.CHECKED)),
        # After the emulation's header, whose names they might be.
        *(() if macros is None else ("-include", str(macros))),
        *map(str, sources),
        "-x",
        "none",
        *map(str, objects),
        str(runtime),
        *_link_flags(output),
    ]


def _language(mode: Mode, compiler: str) -> tuple[str, ...]:
    """Return the flags that a precompiled header and its files must share."""
    filling = _FILLING if mode is Mode.CHECKED and _fills_locals(compiler) else ()
    return (*_COMMON, *_STUDENT[mode], *filling, *_WARNINGS)


@functools.cache
def _fills_locals(compiler: str) -> bool:
    """True for g++ 12 and newer."""
    try:
        done = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True)
    except OSError:
        return False
    major = done.stdout.partition(".")[0].strip()
    return major.isdecimal() and int(major) >= 12


def _student_flags(
    compiler: str, mode: Mode, include_dirs: Sequence[Path], *, standard: str = STANDARD
) -> tuple[str, ...]:
    """Return the start of a compiler command, up to the sources."""
    return (
        compiler,
        "-x",
        "c++",
        f"-std={standard}",
        *_language(mode, compiler),
        f"-I{INCLUDE_DIR}",
        *(f"-I{folder}" for folder in include_dirs),
        *_PRELUDE,
        # Last: only student code may follow.
        "-include",
        "grader_host/refused_names.h",
    )


def _dump_flag(mode: Mode, output: Path) -> str:
    return f"-fdump-tree-{_DUMPED_AFTER[mode]}-lineno-asmname={output.parent / DUMP}"


def _link_flags(output: Path) -> tuple[str, ...]:
    # Only this object uses its memcpy and hooks.
    return ("-Wl,-Bsymbolic", "-o", str(output), *_LIBRARIES)


def runtime_key_parts(*, compiler_version: str, mode: Mode) -> tuple[str | bytes, ...]:
    """Return everything the runtime depends on, for a cache key.

    `compiler_version` is the first line of `compiler --version`.
    """
    files = sorted(
        path
        for folder in (INCLUDE_DIR, RUNTIME_DIR)
        for path in folder.rglob("*")
        if path.is_file()
    )
    flags = (STANDARD, *_COMMON, *_STUDENT[mode], *_FILLING, *_WARNINGS, *_RUNTIME[mode])
    parts: list[str | bytes] = [compiler_version, mode.value, *flags]
    for path in files:
        parts.append(path.relative_to(_HERE).as_posix())
        parts.append(path.read_bytes())
    return tuple(parts)
