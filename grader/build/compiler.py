"""Run a compiler on a student's file, in the sandbox, into the cache.

    judge: sources and parts ──copy──→ scratch folder ←── compiler, confined to it
    judge: a large part      ──link──→        "            in memory that nobody can change
    judge: cache             ←──copy── kernel.so, if it is a regular file

The compiler sees neither the cache nor other folders of the grader: a file can include, embed or
print only what the toolchain's own folders contain.

`Compiler` describes nvcc and g++ alike: a name, a key of everything except the student's text, and
the command. The product's key is a hash of all inputs, so that an unchanged file is never compiled
twice. Errors in its lines are kept as well, unlike a failure that the machine may have caused.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import re
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.build import diagnostics
from grader.build.artifact import Rejected
from grader.errors import GraderError
from grader.report.evidence import BuildEvidence
from grader.report.verdict import Verdict
from grader.sandbox import scratch_dir, spawn
from grader.system.cache import cached_folder, content_key, stored_folder
from grader.system.retry import retry_start

LIBRARY = "kernel.so"
_OUTPUT = "compiler.txt"  # what the compiler printed, beside its product
_ERRORS = "-errors"  # ends the kind of an entry that has no product
_TRAMPOLINE = "trampoline"
# A kernel's library has some 100 KiB; no kernel needs an array of gigabytes in it.
_FILE_MIB = 256
# The message of a compiler's driver that could not start a process. The student's file can make
# the compiler print such a line too: `_run_once` handles that.
_REFUSED = re.compile(
    r"^[^\s:]*(?:g\+\+|gcc|clang|collect2)[^\s:]*: fatal error: .*fork: Resource temporarily", re.M
)
_REFUSALS = 3  # in a row, while an empty file compiles each time
_FULL = {os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT)}
_LARGE = 4 << 20  # bytes
_FIRST_DESCRIPTOR = 3  # in the compiler
_copying = threading.Lock()
_SPACE = 64 << 20  # bytes: more than any compilation needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A way to make a shared library, an object or a program out of source files.

    `command(source, include_folder, output)` returns the argv; `key` identifies the tool's version,
    its flags and all that is linked in. `parts` are files of the grader that the command names
    without a folder. `dump` is a file that the command may write beside its product.
    """

    name: str
    kind: str
    suffix: str
    key: str
    command: Callable[[Path, Path, Path], list[str]]
    environment: dict[str, str] = field(default_factory=dict)
    parts: Callable[[], tuple[Path, ...]] = tuple
    dump: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """The product, or None with the compiler's diagnostics and how the compiler ended."""

    library: Path | None
    evidence: BuildEvidence
    ended: spawn.Ended | None = None


class _FailedError(Exception):
    """The compilation failed: the result is not cached."""


def compile_file(
    compiler: Compiler,
    *,
    trampoline: str,
    file: str,
    text: str,
    header: tuple[str, str],
    wall_s: float,
    headers: Mapping[str, str] | None = None,
    others: Mapping[str, str] | None = None,
) -> Compiled:
    """Compile `text` as the file that `trampoline` includes; `header` is (name, text).

    `headers` are the student's own and given files that the file includes, `others` the headers of
    the assignment's other entries.

    A failed compilation is a value. Raises GraderError only if the compiler cannot be started.
    """
    source = f"{_TRAMPOLINE}{compiler.suffix}"
    own = dict(headers or {})
    sources = {source: trampoline, header[0]: header[1], **(others or {}), **own, file: text}
    return compile_sources(compiler, sources, source, LIBRARY, files=(file, *own), wall_s=wall_s)


def compile_sources(
    compiler: Compiler,
    sources: Mapping[str, str],
    source: str,
    product: str,
    *,
    files: Sequence[str],
    wall_s: float,
) -> Compiled:
    """Compile `source`, one of `sources` (text by name), into a file called `product`.

    `files` are the student's and given ones, whose lines the diagnostics name, the one with the
    entry first. A failed compilation is a value.
    Raises GraderError only if the compiler cannot be started.
    """
    key = content_key(compiler.key, _OUTPUT, *(part for pair in sources.items() for part in pair))
    texts = {name: sources.get(name, "") for name in files}
    errors = f"{compiler.kind}{_ERRORS}"
    if (kept := stored_folder(errors, key)) is not None:
        output = (kept / _OUTPUT).read_text(encoding="utf-8")
        evidence = _evidence(compiler, output, True, texts)
        return Compiled(library=None, evidence=evidence, ended=_failed_before(output))
    ended: list[spawn.Ended] = []

    def make(folder: Path) -> None:
        output = folder / product
        ended.append(retry_start(lambda: _run_once(compiler, sources, source, output, wall_s)))
        if not ended[0].ok:
            raise _FailedError
        keep(folder)

    def keep(folder: Path) -> None:
        (folder / _OUTPUT).write_text(ended[0].output, encoding="utf-8")

    try:
        folder = cached_folder(compiler.kind, key, make)
        library = folder / product
        output = (folder / _OUTPUT).read_text(encoding="utf-8")
    except _FailedError:
        library, output = None, ended[0].output
    evidence = _evidence(compiler, output, not ended, texts)
    if library is not None:
        return Compiled(library=library, evidence=evidence)
    if _would_fail_again(ended[0], evidence):
        cached_folder(errors, key, keep)
    return Compiled(library=None, evidence=evidence, ended=ended[0])


def _failed_before(output: str) -> spawn.Ended:
    return spawn.Ended(end=spawn.End.EXITED, exit_code=1, signal=None, output=output, wall_s=0.0)


def _would_fail_again(ended: spawn.Ended, evidence: BuildEvidence) -> bool:
    """True if the compiler has found an error in a line of the student's files.

    A header that is missing may be installed later.
    """
    errors = [
        found
        for found in evidence.diagnostics
        if found.severity == "error" and found.line is not None
    ]
    missing = any(diagnostics.is_missing_header(found.message) for found in errors)
    return ended.end is spawn.End.EXITED and bool(errors) and not missing


def _run_once(
    compiler: Compiler, sources: Mapping[str, str], source: str, output: Path, wall_s: float
) -> spawn.Ended:
    """Compile; raise BlockingIOError if the machine refused the compiler a process.

    The compiler's message alone does not prove that: a file can make its compiler print any line.
    So an empty file is compiled too. If that succeeds again and again, the message came from the
    student's file.
    """
    for _ in range(_REFUSALS):
        ended = _compile_once(compiler, sources, source, output, wall_s)
        if ended.waited:  # perhaps for a slow disk
            ended = _compile_once(compiler, sources, source, output, wall_s)
        if not _says_refused(ended):
            return ended
        empty = _compile_once(compiler, dict.fromkeys(sources, ""), source, None, wall_s)
        if _says_refused(empty):
            raise BlockingIOError(errno.EAGAIN, "a compiler could not start its parts")
    return ended


def _says_refused(ended: spawn.Ended) -> bool:
    return not ended.ok and _REFUSED.search(ended.output) is not None


def _compile_once(
    compiler: Compiler, sources: Mapping[str, str], source: str, output: Path | None, wall_s: float
) -> spawn.Ended:
    """Run the compiler and copy its product to `output`."""
    product = output.name if output is not None else LIBRARY
    with scratch_dir.scratch_folder("grade-build-") as scratch:
        for name, text in sources.items():
            (scratch / name).write_text(text, encoding="utf-8")
        descriptors = _give(compiler.parts(), scratch)
        # By relative paths, so that __FILE__ and messages have the student's own path.
        ended = spawn.run(
            compiler.command(Path(source), Path(), Path(product)),
            cwd=scratch,
            environment=spawn.clean_environment(scratch) | compiler.environment,
            wall_s=wall_s,
            limits=spawn.Limits(file_mib=_FILE_MIB),
            descriptors=descriptors,
        )
        if ended.exit_code == 127 and "cannot run" in ended.output:
            raise GraderError(f"{compiler.name} could not be started: {ended.output.strip()}")
        require_space(scratch, ended)
        if ended.ok and output is not None:
            try:
                made = scratch_dir.read(scratch / product, _FILE_MIB << 20)
            except FileNotFoundError as error:
                message = f"{compiler.name} ended without an error and wrote no {product}"
                raise GraderError(message) from error
            output.write_bytes(made)
            output.chmod(0o700)  # a program must be executable
            if compiler.dump:  # of which a caller may do without
                with contextlib.suppress(FileNotFoundError):
                    dump = scratch_dir.read(scratch / compiler.dump, _FILE_MIB << 20)
                    output.with_name(compiler.dump).write_bytes(dump)
        return ended


def _give(parts: Sequence[Path], scratch: Path) -> dict[int, int]:
    """Put parts where the compiler runs; return the descriptors that it needs, by number there.

    A large part, the precompiled header, is a link to one of them: a copy for each compilation
    takes a tenth of the time of a small one. If the compiler cannot follow the link, it reads the
    header.
    """
    descriptors: dict[int, int] = {}
    for part in parts:
        (scratch / part.name).unlink(missing_ok=True)  # a student's file of that name
        number = _FIRST_DESCRIPTOR + len(descriptors)
        with _copying:  # two compilations of a grading begin together
            copy = _sealed_copy(part) if part.stat().st_size > _LARGE else None
        if copy is not None:
            (scratch / part.name).symlink_to(f"/proc/self/fd/{number}")
            descriptors[number] = copy
        else:
            shutil.copyfile(part, scratch / part.name)
    return descriptors


@functools.cache
def _sealed_copy(part: Path) -> int | None:
    """Return a descriptor of a copy in memory that nobody can change; None if there is none."""
    content = part.read_bytes()
    try:
        copy = os.memfd_create("grade-part", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError:
        return None
    try:
        with open(copy, "wb", closefd=False) as file:
            file.write(content)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(copy, fcntl.F_ADD_SEALS, seals)
    except OSError:
        os.close(copy)
        return None
    return copy


def require_space(folder: Path, ended: spawn.Ended) -> None:
    """Raise OSError if a compiler failed in this folder because the disk, or a quota, is full.

    Its message alone does not prove that: a file can make its compiler print any line.
    """
    if ended.ok or not any(text in ended.output for text in _FULL):
        return
    with (folder / "space").open("xb") as file:
        os.posix_fallocate(file.fileno(), 0, _SPACE)


def _evidence(
    compiler: Compiler, output: str, cached: bool, texts: Mapping[str, str]
) -> BuildEvidence:
    (file, text), *others = texts.items()
    found = diagnostics.parse(output, file, text, dict(others))
    return BuildEvidence(
        tool=compiler.name,
        cached=cached,
        diagnostics=found[: diagnostics.SHOWN],
        diagnostics_total=len(found),
        output=output,
    )


def failure(compiled: Compiled, message: str, hint: str = "") -> Rejected:
    """Return the verdict on a failed compilation: an exceeded limit, else `message`."""
    assert compiled.ended is not None
    verdict = Verdict.COMPILE_ERROR
    match compiled.ended.end:
        case spawn.End.TIME_LIMIT:
            verdict = Verdict.TIME_LIMIT
            message, hint = f"compiling took longer than {compiled.ended.limit_s:.0f} s", ""
        case spawn.End.MEMORY_LIMIT:
            verdict = Verdict.MEMORY_LIMIT
            message, hint = "the compiler exceeded its memory limit", ""
        case spawn.End.FOLDER_LIMIT:
            message, hint = "the compiler wrote more files than it may", ""
        case spawn.End.OUTPUT_LIMIT:
            message, hint = "the compiler printed more than a megabyte", ""
    return Rejected(verdict=verdict, message=message, hint=hint, evidence=compiled.evidence)
