"""Compile one student file, in the sandbox, into the cache.

    judge: sources and parts ──copy──→ box ←── compiler, confined to it
    judge: cache             ←──copy── kernel.so, if it is a regular file

The compiler sees neither the cache nor any folder of ours: what a file has it
include, embed or print can only be what the toolchain's own folders hold.

`Compiler` is what nvcc and the host build have in common: a name, a key of
everything but the student's text, and the command. The product's key is the
content of all that goes in, so that an unchanged file is never compiled twice.
"""

from __future__ import annotations

import contextlib
import errno
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.build import diagnostics
from grader.errors import GraderError
from grader.report.evidence import BuildEvidence
from grader.report.verdict import Verdict
from grader.sandbox import scratch_dir, spawn
from grader.system.cache import cached_folder, content_key
from grader.system.retry import patiently

LIBRARY = "kernel.so"
_TRAMPOLINE = "trampoline"
# A kernel's library has some 100 KiB; an array of gigabytes in it is no kernel's.
_FILE_MIB = 256
# A compiler's driver, refused a process: what it says of a file begins with the file's name and
# a line. A message of the file's own may hold a line like it: `_run_once` sees to that.
_REFUSED = re.compile(
    r"^[^\s:]*(?:g\+\+|gcc|clang|collect2)[^\s:]*: fatal error: .*fork: Resource temporarily",
    re.M,
)
_REFUSALS = 3  # one after another, each time with room for an empty file


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A way to make a shared library, an object or a program out of source files.

    `command(source, include_folder, output)` gives the argv; `key` stands for
    the tool's version, its flags and all that is linked in. `parts` are files of
    ours that the command names by their bare names.
    """

    name: str
    kind: str
    suffix: str
    key: str
    command: Callable[[Path, Path, Path], list[str]]
    environment: dict[str, str] = field(default_factory=dict)
    parts: Callable[[], tuple[Path, ...]] = tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """The product, or None with the compiler's complaint and how it ended."""

    library: Path | None
    evidence: BuildEvidence
    ended: spawn.Ended | None = None


class _FailedError(Exception):
    def __init__(self, ended: spawn.Ended) -> None:
        super().__init__()
        self.ended = ended


def compile_file(
    compiler: Compiler,
    *,
    trampoline: str,
    file: str,
    text: str,
    header: tuple[str, str],
    wall_s: float,
) -> Compiled:
    """Compile `text` as the file that `trampoline` includes; `header` is (name, text).

    A failed compilation is a value. Raises GraderError only if the compiler
    could not be started at all.
    """
    source = f"{_TRAMPOLINE}{compiler.suffix}"
    sources = {source: trampoline, header[0]: header[1], file: text}
    return compile_sources(compiler, sources, source, LIBRARY, file=file, wall_s=wall_s)


def compile_sources(
    compiler: Compiler,
    sources: Mapping[str, str],
    source: str,
    product: str,
    *,
    file: str,
    wall_s: float,
) -> Compiled:
    """Compile `source`, one of `sources` (text by name), into a file called `product`.

    `file` is the student's, whose lines the diagnostics name. A failed
    compilation is a value. Raises GraderError only if the compiler could not
    be started at all.
    """
    key = content_key(compiler.key, *(part for pair in sources.items() for part in pair))
    ended: list[spawn.Ended] = []

    def make(folder: Path) -> None:
        ended.append(_run(compiler, sources, source, folder / product, wall_s))
        if not ended[0].ok:
            raise _FailedError(ended[0])

    try:
        folder = cached_folder(compiler.kind, key, make)
    except _FailedError as failure:
        return Compiled(
            library=None,
            evidence=_evidence(compiler, failure.ended, file, sources.get(file, "")),
            ended=failure.ended,
        )
    return Compiled(
        library=folder / product,
        evidence=_evidence(compiler, ended[0] if ended else None, file, sources.get(file, "")),
    )


def _run(
    compiler: Compiler, sources: Mapping[str, str], source: str, output: Path, wall_s: float
) -> spawn.Ended:
    return patiently(lambda: _run_once(compiler, sources, source, output, wall_s))


def _run_once(
    compiler: Compiler, sources: Mapping[str, str], source: str, output: Path, wall_s: float
) -> spawn.Ended:
    """Compile; raise BlockingIOError if the machine had no room for one of its processes.

    That it says so proves nothing: a file can have its compiler print any line. An
    empty file says nothing of its own, and where there is room for that one, again
    and again, the words are the file's.
    """
    for _ in range(_REFUSALS):
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
    compiler: Compiler,
    sources: Mapping[str, str],
    source: str,
    output: Path | None,
    wall_s: float,
) -> spawn.Ended:
    """Run the compiler; keep its product as `output`."""
    name = output.name if output is not None else LIBRARY
    with scratch_dir.box("grade-build-") as scratch:
        for part in compiler.parts():
            shutil.copyfile(part, scratch / part.name)
        for name, text in sources.items():
            (scratch / name).write_text(text, encoding="utf-8")
        # Named from within, so that __FILE__ and messages are the student's own path.
        ended = spawn.run(
            compiler.command(Path(source), Path(), Path(name)),
            cwd=scratch,
            environment=spawn.clean_environment(scratch) | compiler.environment,
            wall_s=wall_s,
            limits=spawn.Limits(file_mib=_FILE_MIB),
        )
        if ended.exit_code == 127 and "cannot run" in ended.output:
            raise GraderError(f"{compiler.name} could not be started: {ended.output.strip()}")
        if ended.ok and output is not None:
            # Not there: a compiler that was told to do nothing. The caller sees no product.
            with contextlib.suppress(OSError):
                output.write_bytes(scratch_dir.read(scratch / name, _FILE_MIB << 20))
                output.chmod(0o700)  # a program is to be executed
        return ended


def _evidence(compiler: Compiler, ended: spawn.Ended | None, file: str, text: str) -> BuildEvidence:
    if ended is None:
        return BuildEvidence(tool=compiler.name, cached=True)
    found = diagnostics.parse(ended.output, file, text)
    return BuildEvidence(
        tool=compiler.name,
        cached=False,
        diagnostics=found[: diagnostics.SHOWN],
        diagnostics_total=len(found),
        output=ended.output,
    )


def limit_verdict(ended: spawn.Ended) -> tuple[Verdict, str] | None:
    """Return the verdict and sentence if a limit, not the compiler, ended it."""
    match ended.end:
        case spawn.End.TIME_LIMIT:
            return Verdict.TIME_LIMIT, f"compiling took longer than {ended.wall_s:.0f} s"
        case spawn.End.MEMORY_LIMIT:
            return Verdict.MEMORY_LIMIT, "the compiler ran out of its memory limit"
        case spawn.End.FOLDER_LIMIT:
            return Verdict.COMPILE_ERROR, "the compiler filled its folder"
        case spawn.End.OUTPUT_LIMIT:
            return Verdict.COMPILE_ERROR, "the compiler printed more than a megabyte"
    return None
