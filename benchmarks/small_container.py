"""The memory and time of `grade ci` in a small container.

    python benchmarks/small_container.py [--runs N] [--triton]

Gradescope's default is half a core and 768 MB. The run is restricted to one core, and the
time on half a core is computed: with a quota of 50 %, a run takes at most twice its CPU
time. Wall time is shown, too; it depends on the load of the machine.

The memory of the whole process tree is sampled every 10 ms; the maximum of the sum counts.
The sum is the private memory of the processes (anonymous and shared memory; a page shared
by several processes counts once) and the pages of mapped files, once for each program. A
container is charged for both; the kernel can reclaim the second part. `judge` is the
grader's own process. The build cache is empty at the start of the first run and filled in
the others; nvcc is removed from PATH, because Gradescope's image has none.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click
import psutil
from rich.console import Console
from rich.table import Table

from grader.system.cache import CACHE_DIR_VARIABLE

REPOSITORY = Path(__file__).resolve().parent.parent
MOST_MB = 768
MOST_S = 60
SAMPLE_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: MB are a million bytes, as in a container's limit."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    judge_mb: float
    processes: int

    @property
    def half_core_s(self) -> float:
        """The time with a quota of half a core."""
        return 2 * self.cpu_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A process's private bytes and bytes of mapped files; `program` is its executable."""

    program: str = ""
    own: int = 0
    files: int = 0


def size(pid: int) -> Size:
    """Return a process's memory; zero if it has ended."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        place = Path("/proc") / str(pid)
        shares = _kilobytes((place / "smaps_rollup").read_text())
        resident = _kilobytes((place / "status").read_text())
        return Size(
            program=str((place / "exe").readlink()),
            own=1024 * (shares["Pss_Anon"] + shares["Pss_Shmem"]),
            files=1024 * resident["RssFile"],
        )
    return Size()


def _kilobytes(text: str) -> dict[str, int]:
    words = [line.split() for line in text.splitlines() if line.endswith(" kB")]
    return {name.rstrip(":"): int(number) for name, number, _ in words}


def charged(sizes: list[Size]) -> int:
    """Return the total memory of the processes, in bytes."""
    files = {
        program: max(one.files for one in sizes if one.program == program)
        for program in {one.program for one in sizes}
    }
    return sum(one.own for one in sizes) + sum(files.values())


def measure(command: list[str], environment: dict[str, str], core: int) -> Run:
    """Run the command on one core and watch its process tree."""
    before = os.times()
    started_s = time.monotonic()
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    watched = psutil.Process(process.pid)
    peak = judge = most = 0
    while process.poll() is None:
        tree = [process.pid]
        with contextlib.suppress(psutil.Error):
            tree += [child.pid for child in watched.children(recursive=True)]
        sizes = [size(pid) for pid in tree]
        judge, peak = max(judge, charged(sizes[:1])), max(peak, charged(sizes))
        most = max(most, len(sizes))
        time.sleep(SAMPLE_S)
    wall_s = time.monotonic() - started_s
    after = os.times()
    assert process.stderr is not None
    if process.returncode != 0:
        sys.exit(process.stderr.read().decode(errors="replace"))
    return Run(
        wall_s=wall_s,
        cpu_s=after.children_user
        + after.children_system
        - before.children_user
        - before.children_system,
        peak_mb=peak / 1e6,
        judge_mb=judge / 1e6,
        processes=most,
    )


def submission(folder: Path, assignment: str, suffix: str) -> Path:
    """Copy the reference's files of one language."""
    folder.mkdir()
    for file in (REPOSITORY / "reference" / assignment).glob(f"*{suffix}"):
        shutil.copy(file, folder)
    return folder


def without_nvcc() -> dict[str, str]:
    """Return environment variables with a PATH that has g++ but not nvcc."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    kept = [folder for folder in folders if not (Path(folder) / "nvcc").exists()]
    variables = {"PATH": os.pathsep.join(kept), "CUDA_HOME": "", "CUDA_PATH": ""}
    compiler = shutil.which("g++")
    return variables if compiler is None else {**variables, "CXX": compiler}


@click.command()
@click.option("--runs", default=3, show_default=True)
@click.option("--assignment", default="silu", show_default=True)
@click.option("--triton", is_flag=True, help="Grade the Triton file instead of CUDA C++.")
def main(runs: int, assignment: str, triton: bool) -> None:
    """Measure and print the table."""
    core = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = submission(folder / "submission", assignment, ".py" if triton else ".cu")
        command = [
            *(sys.executable, "-m", "grader", "ci", assignment, "--from", str(source)),
            *("--format", "gradescope", "--output", str(folder / "results.json")),
            *("--device", "cpu", "--budget", "600"),
        ]
        environment = {
            **os.environ,
            CACHE_DIR_VARIABLE: str(folder / "cache"),
            "PYTHONPATH": str(REPOSITORY),
            **without_nvcc(),
        }
        table = Table(
            title=f"grade ci {assignment}, {'Triton' if triton else 'CUDA C++'}, one core"
        )
        for column in ("run", "wall s", "cpu s", "½ core s", "peak MB", "judge MB", "processes"):
            table.add_column(column, justify="right")
        found = []
        for number in range(runs):
            found.append(run := measure(command, environment, core))
            table.add_row(
                "first" if number == 0 else str(number + 1),
                f"{run.wall_s:.1f}",
                f"{run.cpu_s:.1f}",
                f"{run.half_core_s:.1f}",
                f"{run.peak_mb:.0f}",
                f"{run.judge_mb:.0f}",
                str(run.processes),
            )
    console = Console(width=100)
    console.print(table)
    peak_mb, slowest_s = max(run.peak_mb for run in found), max(run.half_core_s for run in found)
    fits = peak_mb <= MOST_MB and slowest_s <= MOST_S
    console.print(
        f"{'fits' if fits else 'does NOT fit'} {MOST_MB} MB and {MOST_S} s on half a core"
    )


if __name__ == "__main__":
    main()
