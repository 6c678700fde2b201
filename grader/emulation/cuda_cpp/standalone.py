"""Builds and runs a CUDA C++ program with a `main` on this machine, without a sandbox.

For the stand-alone tool, tests and benchmarks. The judge uses the package's pure
functions and starts the processes in its sandbox.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.emulation.cuda_cpp.compile_commands import HEADER, Mode, program_command
from grader.emulation.cuda_cpp.features import Refused, Unsupported
from grader.emulation.cuda_cpp.report import Report, read_report
from grader.emulation.cuda_cpp.rewriter import rewrite
from grader.emulation.cuda_cpp.symbols import symbolize
from grader.emulation.cuda_cpp.tokens import TooComplicatedError
from grader.emulation.cuda_cpp.unhooked import unhooked

DEFAULT_COMPILER = "g++"
_HEADERS = (".cuh", ".h", ".hpp")
_REPORT_S = 2.0  # for the report of a program that is stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled program, or why there is none.

    `executable` is None if the compiler failed (see `diagnostics`) or the source has
    unsupported or refused features. `unchecked` has a sentence for each line with accesses that the
    checked build does not see.
    """

    executable: Path | None
    sources: dict[str, str]
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
) -> Program:
    """Compile the files of a program with its own `main` into `folder`.

    `runtime` is the object of `runtime_command` in the same mode, with its header beside it.
    Headers (.cuh, .h, .hpp) in the files' folders that they include are rewritten too;
    `mark_locals` as for `rewrite`.
    """
    sources: dict[str, str] = {}
    unsupported: tuple[Unsupported, ...] = ()
    refused: tuple[Refused, ...] = ()
    waiting = list(given)
    folders = list(dict.fromkeys(source.parent for source in given))
    headers = {p.name: p for place in folders for p in place.iterdir() if p.suffix in _HEADERS}
    while waiting:
        path = waiting.pop()
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        waiting += [headers.pop(name) for name in sorted(headers) if f'"{name}"' in text]
        try:
            rewritten = rewrite(text, file=path.name, mark_locals=mark_locals)
        except TooComplicatedError as error:
            return Program(
                executable=None,
                sources=sources,
                diagnostics=f"{path.name}: {error}\n",
                unsupported=(),
                refused=(),
            )
        sources[path.name] = rewritten.text
        (folder / path.name).write_text(
            rewritten.text, encoding="utf-8", errors="surrogateescape", newline=""
        )
        unsupported += rewritten.unsupported
        refused += rewritten.refused
    program = partial(Program, sources=sources, unsupported=unsupported, refused=refused)
    if unsupported or refused:
        return program(executable=None, diagnostics="")
    with contextlib.suppress(FileExistsError):
        (folder / HEADER).symlink_to(runtime.with_name(HEADER))
    executable = folder / "program"
    command = program_command(
        compiler=compiler,
        mode=mode,
        # Relative names, so that diagnostics show the student's file names.
        sources=[Path(source.name) for source in given],
        objects=(),
        runtime=runtime,
        output=executable,
        include_dirs=(folder, *(place.resolve() for place in folders)),
    )
    # Diagnostics quote the source, which may not be UTF-8.
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    unchecked = tuple(
        f"{name}:{access.line}: not checked: a function's result goes straight to memory"
        for dump in sorted(folder.glob("*.tsan*"))
        for name in sources
        for access in unhooked(dump.read_text(errors="replace"), file=name)
    )
    return program(
        executable=executable if done.returncode == 0 else None,
        diagnostics=done.stderr,
        unchecked=tuple(dict.fromkeys(unchecked)),
    )


def run(
    program: Program,
    *,
    arguments: Sequence[str] = (),
    settings: str = "",
    timeout_s: float | None = None,
    capture: bool = False,
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
