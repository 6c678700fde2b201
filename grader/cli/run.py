"""The command `grade run`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader.errors import UsageError

_ARGUMENTS = "grader.cli.run.arguments"


class _Program(click.Command):
    """A command whose words after `--` are the arguments of the program that it runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = args[place + 1 :]
        return super().parse_args(ctx, args[:place])


@click.command(cls=_Program, options_metavar="[OPTIONS]")
@click.argument("files", nargs=-1, required=True, metavar="FILE.cu...", type=click.Path())
@click.option(
    "-I",
    "include_dirs",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Look for included files here, too.",
)
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro.")
@click.option(
    "--std",
    type=click.Choice(["c++17", "c++20", "c++23"]),
    default="c++17",
    show_default=True,
    help="The language of the files.",
)
@click.option(
    "--checks/--no-checks", default=True, help="Check memory accesses (default), or run fast."
)
@click.option(
    "--counters/--no-counters", default=True, help="Also count memory accesses (default), or not."
)
@click.option(
    "--schedule",
    type=click.Choice(["forward", "reverse", "random", "interleaved"]),
    help="The order of blocks and threads: by default forward, and then reverse if that may find "
    "more. A result that changes with it depends on the order. "
    "With `interleaved` they take turns, without checks: races show in the program's own output.",
)
@click.option(
    "--locals", "unset_locals", is_flag=True, help="Find reads of local variables without a value."
)
@click.option("--seed", type=int, default=0, help="The seed of --schedule random.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop the program after this time, and print what was found until then.",
)
@click.option(
    "--sarif",
    "sarif_path",
    type=click.Path(dir_okay=False),
    help="Also write the findings for an editor or a code scanner here.",
)
@click.pass_context
def run(
    context: click.Context,
    files: tuple[str, ...],
    include_dirs: tuple[str, ...],
    defines: tuple[str, ...],
    std: str,
    checks: bool,
    counters: bool,
    schedule: str | None,
    unset_locals: bool,
    seed: int,
    timeout_s: float | None,
    sarif_path: str | None,
) -> None:
    """Compile and run a CUDA C++ program of your own, on the CPU.

    \b
    grade run reverse.cu                   check and count its memory accesses
    grade run main.cu silu.cu              a program of two files
    grade run -I common -D N=1024 main.cu  with a folder of headers and a macro
    grade run reverse.cu -- 1000 verbose   with arguments for the program

    It needs g++ and no GPU. Run your own programs only: there is no sandbox.

    \b
    0    no errors
    1    errors found, a crash or a time-out
    2    a file cannot be read or compiled, or uses an unsupported feature
    130  interrupted
    else the program's own exit code
    """
    from grader.emulation.cuda_cpp.__main__ import main

    names = [Path(file).name for file in files]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two files are called {twice}", tip="rename one")
    words = [] if schedule is None else ["--schedule", schedule]
    words += ["--seed", str(seed)]
    words += ["--std", std, *(f"-I{folder}" for folder in include_dirs)]
    words += [f"-D{define}" for define in defines]
    words += [] if checks else ["--fast"]
    words += ["--locals"] if unset_locals else []
    words += [] if counters else ["--no-counters"]
    words += [] if timeout_s is None else ["--timeout", str(timeout_s)]
    words += [] if sarif_path is None else ["--sarif", sarif_path]
    words += ["--", files[0], *context.meta[_ARGUMENTS]]
    sys.exit(main(words, others=[Path(file) for file in files[1:]]))
