"""Builds and runs a CUDA C++ program with a `main` on this machine, without a sandbox.

For the stand-alone tool, tests and benchmarks. The judge uses the package's pure
functions and starts the processes in its sandbox.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from grader.emulation.cuda_cpp.compile_commands import HEADER, STANDARD, Mode, program_command
from grader.emulation.cuda_cpp.features import Refused, Unsupported
from grader.emulation.cuda_cpp.report import Report, read_report
from grader.emulation.cuda_cpp.source_tree import mirror
from grader.emulation.cuda_cpp.symbols import symbolize
from grader.emulation.cuda_cpp.tokens import TooComplicatedError
from grader.emulation.cuda_cpp.unhooked import unhooked

DEFAULT_COMPILER = "g++"
_ERROR = re.compile(r"^(?:In file included from )?([^\s:][^:\n]*):(\d+):(?:\d+:)? .*", re.MULTILINE)
_OTHER_ORDER_S = 60.0  # for a second run, where there is no time limit
_REPORT_S = 2.0  # for the report of a program that is stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled program, or why there is none.

    `executable` is None if the compiler failed (see `diagnostics`; at features of `unsupported`)
    or the source has refused features. `sources` are the rewritten texts, `paths` the reader's
    paths, both by file name. `unchecked` has a sentence for each line with accesses that the
    checked build does not see.
    """

    executable: Path | None
    sources: dict[str, str]
    paths: dict[str, str]
    diagnostics: str
    unsupported: tuple[Unsupported, ...]
    refused: tuple[Refused, ...]
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A program's exit code (negative: the signal), its output and its report.

    If it was stopped at its time limit, the report has what was found until then.
    """

    exit_code: int
    timed_out: bool
    stdout: str
    stderr: str
    report: Report
    records: str


def build(
    *given: Path,
    mode: Mode,
    folder: Path,
    runtime: Path,
    compiler: str = DEFAULT_COMPILER,
    mark_locals: bool = False,
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    standard: str = STANDARD,
) -> Program:
    """Compile the files of a program with its own `main` into `folder`.

    `runtime` is the object of `runtime_command` in the same mode, with its header beside it.
    What the files include from their own folders and `include_dirs` is rewritten too.
    `defines` are macros (`NAME` or `NAME=VALUE`), `standard` is g++'s name of the language;
    `mark_locals` as for `rewrite`.
    """
    try:
        tree = mirror(given, root=folder, include_dirs=include_dirs, mark_locals=mark_locals)
    except TooComplicatedError as error:
        return Program(
            executable=None,
            sources={},
            paths={},
            diagnostics=f"{error}\n",
            unsupported=(),
            refused=(),
        )
    program = partial(Program, sources=tree.texts, paths=tree.paths, refused=tree.refused)
    if tree.refused:
        return program(executable=None, diagnostics="", unsupported=())
    # Relative names, so that diagnostics show the files as the student knows them.
    here = tree.sources[0].parent
    with contextlib.suppress(FileExistsError):
        (here / HEADER).symlink_to(runtime.with_name(HEADER))
    macros = folder / "macros.h"
    macros.write_text("".join(map(_macro, defines)))
    executable = folder / "program"
    command = program_command(
        compiler=compiler,
        mode=mode,
        sources=[Path(os.path.relpath(source, here)) for source in tree.sources],
        objects=(),
        runtime=runtime,
        output=executable,
        include_dirs=tree.include_dirs,
        macros=macros,
        standard=standard,
    )
    # Diagnostics quote the source, which may not be UTF-8.
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, errors="replace")
    failed = done.returncode != 0
    unchecked = tuple(
        f"{access.file}:{access.line}: not checked: a function's result goes straight to memory"
        for dump in sorted(folder.glob("*.tsan*"))
        for access in unhooked(dump.read_text(errors="replace"), files=tree.texts)
    )
    return program(
        executable=None if failed else executable,
        diagnostics=done.stderr,
        unsupported=_in_the_way(tree.unsupported, done.stderr) if failed else (),
        unchecked=tuple(dict.fromkeys(unchecked)),
    )


def _macro(define: str) -> str:
    """Return the directive of `NAME` or `NAME=VALUE`."""
    name, equals, value = define.partition("=")
    return f"#define {name} {value if equals else 1}\n"


def _in_the_way(uses: Sequence[Unsupported], diagnostics: str) -> tuple[Unsupported, ...]:
    """Return the uses in lines that the compiler rejects: the others may be switched off."""
    lines = {(Path(match[1]).name, int(match[2])) for match in _ERROR.finditer(diagnostics)}
    return tuple(use for use in uses if (use.file, use.line) in lines)


def run(
    program: Program,
    *,
    arguments: Sequence[str] = (),
    settings: str = "",
    timeout_s: float | None = None,
    capture: bool = False,
    without_input: bool = False,
) -> Run:
    """Run a compiled program and read its report; `settings` as in docs/host.md."""
    if program.executable is None:
        raise ValueError("the program was not compiled")
    with tempfile.TemporaryFile("w+") as report:
        environment = {
            **os.environ,
            "GRADER_HOST_REPORT_FD": str(report.fileno()),
            "GRADER_HOST_SETTINGS": settings,
        }
        pipe = subprocess.PIPE if capture else None
        with subprocess.Popen(
            [program.executable, *arguments],
            env=environment,
            pass_fds=[report.fileno()],
            stdin=subprocess.DEVNULL if without_input else None,
            stdout=pipe,
            stderr=pipe,
            text=True,
            errors="replace",
        ) as process:
            stdout, stderr, timed_out = _finish(process, timeout_s)
        report.seek(0)
        records = report.read()
    locate = partial(symbolize, program.executable, files=program.sources)
    return Run(
        exit_code=process.returncode,
        timed_out=timed_out,
        stdout=stdout or "",
        stderr=stderr or "",
        report=read_report(records, locate=locate, sources=program.sources),
        records=records,
    )


def run_in_orders(
    program: Program,
    *,
    arguments: Sequence[str] = (),
    settings: str = "",
    timeout_s: float | None = None,
    capture: bool = False,
) -> Run:
    """Run a program, and once more in another order of threads where that may find more.

    By luck, a fence and an atomic may order accesses in the first run. The second run has no
    input, and its output is dropped.
    """
    begun_s = time.monotonic()
    first = run(
        program, arguments=arguments, settings=settings, timeout_s=timeout_s, capture=capture
    )
    left_s = _OTHER_ORDER_S if timeout_s is None else timeout_s - (time.monotonic() - begun_s)
    ended = first.exit_code == 0 and not first.timed_out
    if not (ended and first.report.order_decides and left_s > 0) or first.report.errors:
        return first
    other = run(
        program,
        arguments=arguments,
        settings=f"{settings} schedule=reverse count=0",
        timeout_s=left_s,
        capture=True,
        without_input=True,
    )
    if not other.report.errors:
        return first
    return replace(first, report=replace(first.report, findings=other.report.findings))


def _finish(process: subprocess.Popen[str], timeout_s: float | None) -> tuple[str, str, bool]:
    """Wait; return both outputs, and whether the program was stopped at its time limit."""
    timed_out = False
    while True:
        try:
            return *process.communicate(timeout=_REPORT_S if timed_out else timeout_s), timed_out
        except subprocess.TimeoutExpired:
            # First a signal on which the runtime writes its report.
            if timed_out:
                process.kill()
            else:
                process.terminate()
            timed_out = True
        except BaseException:
            process.kill()
            raise
