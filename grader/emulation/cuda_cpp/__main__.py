"""`grade run kernel.cu`: run any CUDA C++ program on the CPU, checked.

`python -m grader.emulation.cuda_cpp kernel.cu` does the same for one file.

Starts g++ (the runtime is compiled once and cached), the program and addr2line. Exit
code: 0 clean; 1 errors found, a crash or a time-out; 2 the file cannot be read or
compiled, or uses unsupported features; 130 interrupted; else the program's exit code.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grader.emulation.cuda_cpp.compile_commands import (
    HEADER,
    OBJECT,
    STANDARD,
    STANDARDS,
    Mode,
    header_command,
    runtime_command,
    runtime_key_parts,
)
from grader.emulation.cuda_cpp.printing import print_faults, print_report, write_sarif
from grader.emulation.cuda_cpp.standalone import DEFAULT_COMPILER, build, run, run_in_orders
from grader.system.cache import cached_folder, content_key
from grader.system.toolchain import find_cxx


def runtime_object(mode: Mode, *, compiler: str = DEFAULT_COMPILER) -> Path:
    """Return this machine's cached runtime object, with its header beside it.

    Compiles both on first use; `make setup` has done so for the usual compiler.
    """
    found = find_cxx()
    if found is not None and str(found.path) == shutil.which(compiler):
        version = f"{found.name} {found.version}"  # as for submissions: one entry in the cache
    else:
        version = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, check=True
        ).stdout.splitlines()[0]

    def make(folder: Path) -> None:
        if sys.stderr.isatty():
            print("compiling the emulation's runtime, once on this machine…", file=sys.stderr)
        for file, command in ((OBJECT, runtime_command), (HEADER, header_command)):
            made = command(compiler=compiler, mode=mode, output=folder / file)
            subprocess.run(made, check=True)

    key = content_key(*runtime_key_parts(compiler_version=version, mode=mode))
    return cached_folder("host-runtime", key, make, exclusive=True) / OBJECT


def main(arguments: Sequence[str] | None = None, *, others: Sequence[Path] = ()) -> int:
    """Compile, run, print; return the exit code. Print every failure as one sentence.

    `others` are more source files of the program.
    """
    options = _parser().parse_args(arguments)
    options.files = [options.file, *others]
    try:
        code = _compile_and_run(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader has closed the output (`| head`): write nothing at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except subprocess.CalledProcessError as problem:
        print(f"`{problem.cmd[0]}` failed: it must be g++ 11 or later", file=sys.stderr)
        return 2
    except OSError as problem:
        name = f"{problem.filename}: " if problem.filename else ""
        print(f"{name}{problem.strerror}", file=sys.stderr)
        return 2


def _compile_and_run(options: argparse.Namespace) -> int:
    mode = Mode.FAST if options.fast else Mode.CHECKED
    for file in options.files:
        with file.open("rb"):
            pass  # report a missing file before compiling the runtime
    with tempfile.TemporaryDirectory(prefix="cuda-on-the-host-") as scratch:
        program = build(
            *options.files,
            mode=mode,
            folder=Path(scratch),
            runtime=runtime_object(mode, compiler=options.compiler),
            compiler=options.compiler,
            mark_locals=options.locals,
            include_dirs=options.include,
            defines=options.define,
            standard=options.std,
        )
        messages = list(dict.fromkeys(feature.message for feature in program.unsupported))
        messages += [feature.message for feature in program.refused]
        messages += program.unchecked
        if "undefined reference to `main'" in program.diagnostics:
            names = " and ".join(map(str, options.files))
            has = "has" if len(options.files) == 1 else "have"
            messages.append(f"{names} {has} no main: add one that launches the kernel.")
        print(*messages, sep="\n", end="\n" if messages else "", file=sys.stderr)
        if program.executable is None:
            if not messages:
                sys.stderr.write(program.diagnostics)
            return 2
        words = [f"schedule={options.schedule or 'forward'}", f"seed={options.seed}"]
        if options.all_blocks:
            words.append("counted_blocks=0")
        # A program that the caller runs in one order runs once.
        execute = run if options.schedule else run_in_orders
        settings, timeout_s = " ".join(words), options.timeout
        try:
            result = execute(
                program, arguments=options.arguments, settings=settings, timeout_s=timeout_s
            )
        except PermissionError:  # the disk is mounted noexec
            message = f"no program can run from {Path(scratch).parent}: set TMPDIR to another disk"
            print(message, file=sys.stderr)
            return 2
    if options.records:
        options.records.write_text(result.records)
    paths = program.paths
    if mode is Mode.CHECKED:
        print_report(result.report, counters=not options.no_counters, paths=paths)
    else:
        print_faults(result.report, paths=paths)
    if options.sarif:
        write_sarif(result.report, options.sarif, paths=paths)
    if result.timed_out:
        sys.stdout.flush()
        print(f"stopped after {options.timeout:g} s", file=sys.stderr)
        return 1
    if result.exit_code < 0 and not result.report.faults:
        print(f"the program was killed by {signal.Signals(-result.exit_code).name}")
    if result.report.unsupported:
        return 2
    if result.exit_code < 0 or result.report.errors or result.report.faults:
        return 1
    return result.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m grader.emulation.cuda_cpp",
        description="Run a CUDA C++ program with its own main on the CPU, "
        "check its memory accesses and count them.",
    )
    parser.add_argument("file", type=Path, help="the .cu file")
    parser.add_argument("arguments", nargs="*", help="arguments of the program")
    parser.add_argument("-I", dest="include", action="append", type=Path, default=[], metavar="DIR")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]")
    parser.add_argument("--std", choices=STANDARDS, default=STANDARD)
    parser.add_argument("--fast", action="store_true", help="optimised, without checks")
    parser.add_argument("--schedule", choices=("forward", "reverse", "random", "interleaved"))
    parser.add_argument(
        "--locals", action="store_true", help="find reads of local variables without a value"
    )
    parser.add_argument("--seed", type=int, default=0, help="for --schedule random")
    parser.add_argument("--all-blocks", action="store_true", help="count in every block, not in 16")
    parser.add_argument("--no-counters", action="store_true", help="print findings only")
    parser.add_argument("--records", type=Path, metavar="FILE", help="keep the raw JSON lines")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="write the findings as SARIF")
    parser.add_argument("--timeout", type=float, metavar="S", help="stop the program after S s")
    parser.add_argument("--compiler", default=DEFAULT_COMPILER)
    return parser


if __name__ == "__main__":
    sys.exit(main())
