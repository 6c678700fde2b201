"""The command `grade`, which prints the errors of all commands and ends the process.

0    all accepted (inconclusive and pending allowed, if anything was measured)
1    not all accepted
2    a wrong command line or a spec that does not validate
3    the grader failed
130  interrupted (143 by SIGTERM, 129 by SIGHUP)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import grader
from grader.assignment.generated import REFERENCES
from grader.cli import completion, course, options
from grader.cli.ci import ci, report
from grader.cli.new import new
from grader.cli.release import release
from grader.cli.run import run
from grader.errors import ExitCode, GraderError
from grader.system.signals import terminable
from grader.vocabulary import CheckName, Language

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_SENTENCE = 200  # characters: a first sentence is not cut
_STAFF = {"batch", "calibrate", "ci", "leaderboard", "merge", "new", "release", "verify"}


class _Commands(click.Group):
    """Lists the commands for students before those for staff."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        for title, staff in (("Commands", False), ("Commands for staff", True)):
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name, self.commands[name].get_short_help_str(_SENTENCE))
                        for name in names
                        if (name in _STAFF) is staff
                    ]
                )


@click.group(cls=_Commands, context_settings=_SETTINGS)
@click.version_option(grader.__version__, prog_name="grade")
def cli() -> None:
    """Grade kernels in CUDA C++, Triton and Numba, with and without a GPU."""


@cli.command()
@click.argument(
    "assignments",
    nargs=-1,
    metavar="[ASSIGNMENT|FILE.cu|FILE.py]...",
    shell_complete=completion.assignments_and_files,
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="The submission: a folder (or zip or tar) with a folder per assignment, one assignment's "
    "files, or one file. Default: this folder, or student_template/ in the course repository.",
)
@options.device
@options.kernels
@options.languages
@click.option(
    "--check",
    "checks",
    multiple=True,
    type=options.Registered(lambda: CheckName),
    help="Only this check and those it needs (repeatable).",
)
@click.option("--seed", type=int, default=0, help="Draw all cases from this seed.")
@click.option(
    "--json",
    "json_path",
    type=click.Path(),
    help="Write the report here: a file, or a folder (FOLDER/).",
)
@click.option("--first", is_flag=True, help="Stop at the first check that fails.")
@click.option("--watch", is_flag=True, help="At each save, grade what has changed.")
@click.option(
    "--html",
    "html_path",
    type=click.Path(),
    help="Write a page with figures for a browser here: a file, or a folder (FOLDER/).",
)
@click.option(
    "--sarif",
    "sarif_path",
    type=click.Path(),
    help="Write the findings for an editor or a code scanner here: a file, or a folder (FOLDER/).",
)
@click.option("--log", is_flag=True, help="Show progress as lines, also in a pipe.")
def local(**arguments: Any) -> None:
    """Grade a submission on this machine.

    \b
    grade local silu                       the stubs or files in this folder
    grade local silu --from ~/homework     a submission elsewhere
    grade local v2_tiled.cu                one file
    grade local silu --language triton     one language only
    grade local gemm --first --watch       up to the first failure, at each save
    grade local silu --html silu.html      with figures, for a browser
    grade local --json reports/            every assignment with submitted files

    Ctrl-C prints what has been graded. Exit code 0 if everything is submitted and
    accepted, 1 if not.
    """
    from grader.commands.local import Request, grade_local

    sys.exit(grade_local(Request(**arguments)))


@cli.command()
@click.argument(
    "assignments",
    nargs=-1,
    required=True,
    metavar="ASSIGNMENT...",
    shell_complete=completion.assignments,
)
@click.option(
    "--references",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The solved files and samples. Default: reference/ beside the assignments.",
)
@options.kernels
@options.language
@click.option("--seed", type=int, default=0, help="Draw the timed inputs from this seed.")
@click.option("--dry-run", is_flag=True, help="Only print; store nothing beside the spec.")
def calibrate(
    assignments: tuple[str, ...],
    references: Path | None,
    kernels: tuple[str, ...],
    language: str | None,
    seed: int,
    dry_run: bool,
) -> None:
    """Time the references, and propose tiers for speed.

    \b
    grade calibrate silu                   measure, print, store the figures
    grade calibrate gemm --dry-run         measure and print only
    grade calibrate gemm --kernel v2_tiled this kernel again; other figures stay
    """
    from grader.commands.calibrate.run import run_calibrate
    from grader.grading.plan import Options
    from grader.grading.selection import chosen_device, course_assignments

    chosen = course_assignments(assignments, writes=not dry_run)
    gpu = chosen_device("cuda")
    assert gpu is not None  # chosen_device raises if there is no GPU
    root = references or chosen[0].folder.parent.parent / REFERENCES
    wanted = Options(
        gpu=gpu,
        kernels=frozenset(kernels),
        languages=frozenset({Language(language)} if language else ()),
        public_seed=seed,
        secret_seed=seed,
    )
    run_calibrate(chosen, root, gpu, wanted, keep=not dry_run)


@cli.command()
@options.assignments
@options.device
@options.kernels
@options.languages
@click.option(
    "--sample",
    "samples",
    multiple=True,
    metavar="PATTERN",
    help="Only these samples: a part of VERDICT/NAME/FILE, or a pattern.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Grade each reference this many times, with different data each time.",
)
@click.option("--seed", type=int, default=0, help="The seed of the first data.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    help="Run this many gradings at a time. Default: one for each core, fewer on a GPU.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the result to this file.",
)
@click.option(
    "--update",
    is_flag=True,
    help="First write the generated files that are out of date: stubs, header, handout's tables. "
    "At last write the first lines of samples that are proposed.",
)
def verify(**arguments: Any) -> None:
    """Check the references, samples and oracle of assignments.

    \b
    grade verify                                every assignment
    grade verify silu --language cuda           one of them, in one language
    grade verify silu --sample memory_error     the samples of one verdict

    It needs reference/, which staff have. Exit code 0 if everything is as expected,
    else 1.
    """
    from grader.commands.verify.run import verify as prove

    sys.exit(prove(**arguments))


@cli.command()
@options.assignment
@click.argument("kernel", required=False, shell_complete=completion.kernels)
@options.language
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    help="The submission, as for `grade local`.",
)
@options.device
@click.option(
    "--svg",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the roofline into this file.",
)
@click.option(
    "--trace",
    "trace_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Store the calls, launches and copies of one case here, for ui.perfetto.dev "
    "(without a GPU of CUDA C++ alone).",
)
@click.option(
    "--ncu-rep",
    "ncu_report",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Store Nsight Compute's report in this file (needs a GPU and ncu).",
)
@click.option(
    "--torch-code",
    "torch_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Store what torch.compile generates for a rung in torch here, as .py: C++ on the CPU, "
    "Triton on a GPU.",
)
@click.option("--ptx", is_flag=True, help="Only print the kernel's PTX, below its source lines.")
@click.option("--sass", is_flag=True, help="Only print its machine code, below its source lines.")
def profile(
    assignment: str,
    kernel: str | None,
    language: str | None,
    source: Path | None,
    device: str,
    svg: Path | None,
    trace_file: Path | None,
    ncu_report: Path | None,
    torch_file: Path | None,
    ptx: bool,
    sass: bool,
) -> None:
    """Show what one kernel costs: time, registers, accesses, code.

    \b
    grade profile silu                                 the file in this folder
    grade profile transpose v3_shared_tile --svg roof.svg
    grade profile silu --language cuda --sass > silu.sass
    grade profile silu --language cuda --trace silu.json
    grade profile transpose v0_torch --torch-code v0.py
    """
    from grader.commands.profile.machine_code import Code
    from grader.commands.profile.run import run_profile
    from grader.grading.selection import chosen_assignments, chosen_device, default_source
    from grader.submission.reader import read_submission

    [chosen] = chosen_assignments((assignment,))
    exit_code = run_profile(
        chosen,
        read_submission(source or default_source(), chosen),
        kernel=kernel,
        language=Language(language) if language else None,
        gpu=chosen_device(device),
        svg=svg,
        ncu_report=ncu_report,
        trace_file=trace_file,
        torch_file=torch_file,
        code=(Code.PTX,) * ptx + (Code.SASS,) * sass,
    )
    sys.exit(exit_code)


@cli.command("list")
@click.argument("assignment", required=False, shell_complete=completion.assignments)
def list_assignments(assignment: str | None) -> None:
    """List the assignments, or the points and cases of one.

    \b
    grade list                        assignments of the course around this folder
    grade list silu                   one of them: kernels, points, cases, tiers
    GRADE_ASSIGNMENTS=… grade list    assignments of another course
    """
    from grader.assignment.catalogue import folders_without_spec, root_above
    from grader.assignment.reader import SPEC_FILE
    from grader.commands.listing import list_all, list_one
    from grader.grading.selection import chosen_assignments

    if assignment is None:
        chosen = chosen_assignments(())
        list_all(chosen, Console())
        for folder in folders_without_spec(chosen[0].folder.parent):
            click.echo(f"warning: {folder} has no {SPEC_FILE}, so it is left out", err=True)
        if root_above(Path.cwd()) is None:
            click.echo(f"\nthis folder is in no course: these are of {chosen[0].folder.parent}")
    else:
        list_one(chosen_assignments((assignment,))[0], Console())


@cli.command()
def doctor() -> None:
    """Show what this machine can grade, and how to fix the rest.

    \b
    grade doctor                           exit code 0 if anything can be graded

    Each missing part is listed with its effect and the command that fixes it.
    """
    from grader.commands.doctor import main as examine

    sys.exit(examine())


for _command in (ci, report, new, release, run, *course.COMMANDS):
    cli.add_command(_command)


def main() -> None:
    """Run the command line; print every failure as a sentence and set the exit code."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        with terminable():
            cli(prog_name="grade", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        errors.print("interrupted")
        sys.exit(ExitCode.INTERRUPTED)
    except GraderError as error:
        errors.print(f"error: {error.message}", markup=False)
        if error.tip:
            errors.print(f"  tip: {error.tip}", markup=False)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of the output has closed it (`grade list | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.COMPLETE)
    except Exception as error:
        if os.environ.get("GRADE_DEBUG"):
            raise
        errors.print(f"error: the grader failed: {type(error).__name__}: {error}", markup=False)
        errors.print("  tip: set GRADE_DEBUG=1 and report what it prints", markup=False)
        sys.exit(ExitCode.GRADER_FAILED)
