"""Verdicts on a loaded machine: the same submissions alone, and many gradings at once.

    python benchmarks/loaded_machine.py [--gradings 100] [--at-once 16] [--call-s 2]
                                        [--device cpu|cuda]

The submissions are samples of SiLU in both languages: right, slow, wrong, unsafe and endless. Each
is graded alone, then all again and again by `--at-once` judges, each with a Python server and all
checks but speed. A verdict of any check that differs from the one alone is a fault of the grader.
The limit of a call is far below the assignment's, so that a right kernel would exceed it if the
load counted. The build cache is new, so compilers load the machine too. The exit code is 1 if a
verdict changed.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from grader.assignment.reader import read_assignment
from grader.gpu import nvml
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.judge.python_server import PythonServer
from grader.submission.reader import read_submission
from grader.system import process_tree
from grader.system.cache import CACHE_DIR_VARIABLE
from grader.vocabulary import CheckName, Device

REPOSITORY = Path(__file__).resolve().parent.parent
FILES = (
    "silu.cu", "silu.py",
    "samples/too_slow/one-block/silu.cu", "samples/too_slow/one-program/silu.py",
    "samples/accepted/autotuned/silu.py", "samples/accepted/grid-stride/silu.cu",
    "samples/wrong_answer/forgot-the-tail/silu.cu", "samples/wrong_answer/swapped-sign/silu.py",
    "samples/memory_error/missing-guard/silu.cu", "samples/memory_error/missing-mask/silu.py",
    "samples/time_limit/endless-kernel/silu.cu", "samples/time_limit/endless-loop/silu.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Graded:
    """The verdict of each check of one file, and how long the grading took."""

    file: str
    verdicts: tuple[tuple[str, str], ...]
    wall_s: float

    @property
    def verdict(self) -> str:
        """The verdict on the file."""
        return dict(self.verdicts)[""]


def grade_files(files: Sequence[str], call_s: float, on_gpu: bool) -> list[Graded]:
    """Grade each file by itself, in this process, with `call_s` as the limit of a call."""
    process_tree.become_subreaper()
    found = nvml.visible(nvml.gpus()) if on_gpu else []
    options = Options(
        gpu=found[0] if found else None,
        checks=frozenset(CheckName) - {CheckName.PERFORMANCE},
    )
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    assignment = replace(assignment, limits=replace(assignment.limits, call_s=call_s))
    server = PythonServer(options.device)
    graded = []
    try:
        for file in files:
            started_s = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="loaded-") as folder:
                shutil.copy(REPOSITORY / "reference" / "silu" / file, folder)
                submission = read_submission(Path(folder), assignment)
                report = grade(assignment, submission, options, Progress(), server)
            kernel = next(k for k in report.kernels if k.counted)
            verdicts = [("", kernel.verdict.value)]
            verdicts += [
                (f"{check.check} {check.visibility}", check.verdict.value)
                for check in kernel.checks
            ]
            graded.append(Graded(file, tuple(verdicts), time.monotonic() - started_s))
    finally:
        server.close()
    return graded


def grade_at_once(shares: Sequence[Sequence[str]], call_s: float, on_gpu: bool) -> list[Graded]:
    """Grade the files of each share in a process of its own."""
    # Not forked: torch, which is imported in the processes, has threads.
    with multiprocessing.get_context("spawn").Pool(len(shares)) as pool:
        jobs = [pool.apply_async(grade_files, (share, call_s, on_gpu)) for share in shares]
        return [graded for job in jobs for graded in job.get()]


def changed(alone: Graded, loaded: Graded) -> list[str]:
    """Return the checks whose verdict differs."""
    one, other = dict(alone.verdicts), dict(loaded.verdicts)
    return [
        f"{check or 'file'}: {one.get(check)} alone, {other.get(check)} loaded"
        for check in sorted(one.keys() | other.keys())
        if one.get(check) != other.get(check)
    ]


@click.command()
@click.option("--gradings", type=click.IntRange(1), default=100, show_default=True)
@click.option("--at-once", type=click.IntRange(1), default=16, show_default=True)
@click.option("--call-s", type=float, default=2, show_default=True)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
def main(gradings: int, at_once: int, call_s: float, device: str) -> None:
    """Grade alone and under load, and print a table of verdicts and times."""
    on_gpu = Device(device) is Device.CUDA
    with tempfile.TemporaryDirectory(prefix="loaded-") as place:
        os.environ[CACHE_DIR_VARIABLE] = f"{place}/loaded"
        loaded: dict[str, list[Graded]] = defaultdict(list)
        started_s = time.monotonic()
        files = [FILES[i % len(FILES)] for i in range(gradings)]
        shares = [files[i::at_once] for i in range(min(at_once, gradings))]
        for graded in grade_at_once(shares, call_s, on_gpu):
            loaded[graded.file].append(graded)
        loaded_s = time.monotonic() - started_s
        os.environ[CACHE_DIR_VARIABLE] = f"{place}/alone"
        alone = grade_at_once([tuple(loaded)], call_s, on_gpu)
    table = Table("file", "verdict", "alone", "loaded, slowest", "same")
    faults = []
    for one in alone:
        others = loaded[one.file]
        differing = [changed(one, other) for other in others]
        faults += [f"{one.file}: {what}" for each in differing for what in each]
        table.add_row(
            one.file,
            one.verdict,
            f"{one.wall_s:.1f} s",
            f"{max(other.wall_s for other in others):.1f} s",
            f"{sum(not each for each in differing)} of {len(others)}",
        )
    Console().print(table)
    click.echo("\n".join(faults) or f"no verdict changed in {gradings} gradings")
    click.echo(f"{at_once} at once on {os.cpu_count()} cores: {loaded_s:.0f} s")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
