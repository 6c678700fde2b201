"""`python -m grader.host kernel.cu`: run any CUDA C++ program on the CPU, checked.

The one module here that starts processes: g++ twice (the runtime is cached),
the program, addr2line. Exit code: 0 clean, 1 findings that are errors or a
crash, 2 it could not be compiled or is not supported here; a program's own
exit code otherwise goes through.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.cache import cached_folder, content_key
from grader.host.commands import Mode, compile_command, runtime_command, runtime_key_parts
from grader.host.features import Refused, Unsupported
from grader.host.printing import print_report
from grader.host.report import Report, read_report
from grader.host.rewriter import rewrite
from grader.host.symbols import symbolize

DEFAULT_COMPILER = "g++"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled program, or why there is none.

    `executable` is None if the compiler refused (see `diagnostics`) or
    something stands against compiling it at all.
    """

    executable: Path | None
    sources: dict[str, str]
    diagnostics: str
    unsupported: tuple[Unsupported, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a program ended (negative: by that signal) and what was reported."""

    exit_code: int
    stdout: str
    stderr: str
    report: Report
    records: str


def runtime_object(mode: Mode, *, compiler: str = DEFAULT_COMPILER) -> Path:
    """Return the cached runtime of this machine, compiling it if need be."""
    version = subprocess.run(
        [compiler, "--version"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]

    def make(folder: Path) -> None:
        command = runtime_command(compiler=compiler, mode=mode, output=folder / "runtime.o")
        subprocess.run(command, check=True)

    key = content_key(*runtime_key_parts(compiler_version=version, mode=mode))
    return cached_folder("host-runtime", key, make) / "runtime.o"


def build(source: Path, *, mode: Mode, folder: Path, compiler: str = DEFAULT_COMPILER) -> Program:
    """Compile a program with its own `main` into `folder`.

    Headers beside it that end in .cuh, .h or .hpp are rewritten too.
    """
    sources: dict[str, str] = {}
    unsupported: tuple[Unsupported, ...] = ()
    refused: tuple[Refused, ...] = ()
    beside = [p for p in source.parent.iterdir() if p.suffix in (".cuh", ".h", ".hpp")]
    for path in [source, *sorted(beside)]:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        if path != source and path.name not in sources.get(source.name, ""):
            continue
        rewritten = rewrite(text, file=path.name)
        sources[path.name] = rewritten.text
        (folder / path.name).write_text(
            rewritten.text, encoding="utf-8", errors="surrogateescape", newline=""
        )
        unsupported += rewritten.unsupported
        refused += rewritten.refused
    program = partial(Program, sources=sources, unsupported=unsupported, refused=refused)
    if unsupported or refused:
        return program(executable=None, diagnostics="")
    executable = folder / "program"
    command = compile_command(
        compiler=compiler,
        mode=mode,
        # A relative name, so that diagnostics show the file as the student knows it.
        source=Path(source.name),
        runtime=runtime_object(mode, compiler=compiler),
        output=executable,
        include_dirs=(folder, source.parent.resolve()),
        executable=True,
    )
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return program(executable=executable if done.returncode == 0 else None, diagnostics=done.stderr)


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
        done = subprocess.run(
            [program.executable, *arguments],
            env=environment,
            pass_fds=[report.fileno()],
            capture_output=capture,
            timeout=timeout_s,
            text=True,
        )
        report.seek(0)
        records = report.read()
    locate = partial(symbolize, program.executable, files=program.sources)
    return Run(
        exit_code=done.returncode,
        stdout=done.stdout or "",
        stderr=done.stderr or "",
        report=read_report(records, locate=locate, sources=program.sources),
        records=records,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, run, print; return the exit code."""
    options = _parser().parse_args(arguments)
    mode = Mode.FAST if options.fast else Mode.CHECKED
    with tempfile.TemporaryDirectory(prefix="cuda-on-the-host-") as scratch:
        program = build(options.file, mode=mode, folder=Path(scratch), compiler=options.compiler)
        messages = [feature.message for feature in program.unsupported]
        messages += [feature.message for feature in program.refused]
        print(*messages, sep="\n", end="\n" if messages else "", file=sys.stderr)
        if program.executable is None:
            sys.stderr.write(program.diagnostics)
            return 2
        words = [f"schedule={options.schedule}", f"seed={options.seed}"]
        if options.all_blocks:
            words.append("counted_blocks=0")
        try:
            result = run(
                program,
                arguments=options.arguments,
                settings=" ".join(words),
                timeout_s=options.timeout,
            )
        except subprocess.TimeoutExpired:
            print(f"stopped after {options.timeout:g} s", file=sys.stderr)
            return 1
    if options.records:
        options.records.write_text(result.records)
    if mode is Mode.CHECKED:
        print_report(result.report, counters=not options.no_counters)
    if result.exit_code < 0 or result.report.errors:
        return 1
    return result.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m grader.host",
        description="Run a CUDA C++ program with its own main on the CPU, "
        "check its memory accesses and count them.",
    )
    parser.add_argument("file", type=Path, help="the .cu file")
    parser.add_argument("arguments", nargs="*", help="arguments of the program")
    parser.add_argument("--fast", action="store_true", help="optimised, without checks")
    parser.add_argument("--schedule", choices=("forward", "reverse", "random"), default="forward")
    parser.add_argument("--seed", type=int, default=0, help="for --schedule random")
    parser.add_argument("--all-blocks", action="store_true", help="count in every block, not in 16")
    parser.add_argument("--no-counters", action="store_true", help="print findings only")
    parser.add_argument("--records", type=Path, metavar="FILE", help="keep the raw JSON lines")
    parser.add_argument("--timeout", type=float, metavar="S", help="stop the program after S s")
    parser.add_argument("--compiler", default=DEFAULT_COMPILER)
    return parser


if __name__ == "__main__":
    sys.exit(main())
