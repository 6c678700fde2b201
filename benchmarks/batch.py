"""The benefit of warm workers: SiLU graded by `grade batch`, by one worker, and by a loop.

    python benchmarks/batch.py [--submissions 200] [--jobs N]

The class is mixed (right, wrong, crashing, endless, hostile). All files are different, so
that only the grader's own builds come from the cache; each way grades a different class.
The memory of all processes of the batch is sampled twice a second: a leak makes it higher
in the last third than in the first.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import click
import psutil
from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).resolve().parent.parent
GRADE = [sys.executable, "-c", "from grader.__main__ import main; main()"]
SILU = REPOSITORY / "reference" / "silu"
SAMPLES = SILU / "samples"
KINDS = {
    "right, CUDA C++": SILU / "silu.cu",
    "right, Triton": SILU / "silu.py",
    "wrong": SAMPLES / "wrong_answer/forgot-the-tail/silu.cu",
    "out of bounds": SAMPLES / "memory_error/missing-guard/silu.cu",
    "crashing": SAMPLES / "memory_error/wild-pointer/silu.cu",
    "right with main.cu": SILU / "main.cu",
    "endless": SAMPLES / "time_limit/endless-loop/silu.py",
    "hostile": REPOSITORY / "tests/grading/attacks/reaches_out.cu",
}
LEAST_BY_WORKERS = 1.8
LEAST_BY_WARMTH = 3.0
MOST_GROWTH = 1.10


def make_class(folder: Path, count: int, salt: str) -> list[Path]:
    """Make `count` submissions of alternating kinds; return their folders."""
    made = []
    for number in range(count):
        kind, source = list(KINDS.items())[number % len(KINDS)]
        place = folder / f"{number:03}-{kind.split(',')[0].replace(' ', '-')}"
        place.mkdir(parents=True)
        files = [source] if source.name != "main.cu" else [source, SILU / "silu.cu"]
        for file in files:
            name = file.name if file.name in ("main.cu", "silu.py") else "silu.cu"
            comment = "#" if name.endswith(".py") else "//"
            text = file.read_text(encoding="utf-8")
            (place / name).write_text(f"{text}{comment} {salt} {number}\n", encoding="utf-8")
        made.append(place)
    return made


class Memory(threading.Thread):
    """Samples the memory (MiB) of a process and its descendants until `stop`."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self._stopped = threading.Event()
        self.samples_mib: list[float] = []

    def run(self) -> None:
        while not self._stopped.wait(0.5):
            total = 0
            try:
                for one in (self._process, *self._process.children(recursive=True)):
                    try:
                        total += one.memory_info().rss
                    except psutil.NoSuchProcess:
                        continue
            except psutil.NoSuchProcess:
                return
            self.samples_mib.append(total / 2**20)

    def thirds(self) -> tuple[float, float]:
        """Return the medians of the first third after the warm-up and of the last third."""
        self._stopped.set()
        kept = self.samples_mib[len(self.samples_mib) // 10 :]
        third = max(1, len(kept) // 3)
        return statistics.median(kept[:third]), statistics.median(kept[-third:])


def by_batch(folder: Path, out: Path, jobs: int) -> tuple[float, Memory]:
    """Grade with `jobs` workers; return the seconds and the memory."""
    started_s = time.monotonic()
    process = subprocess.Popen(
        [
            *(*GRADE, "batch", str(folder), "silu", "--out", str(out)),
            *("--device", "cpu", "--jobs", str(jobs)),
        ],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    memory = Memory(process.pid)
    memory.start()
    if process.wait() != 0:
        raise SystemExit(f"grade batch ended with exit code {process.returncode}")
    return time.monotonic() - started_s, memory


def by_loop(places: list[Path]) -> float:
    """Grade each in a new process, like a shell loop; return the seconds."""
    started_s = time.monotonic()
    for place in places:
        subprocess.run(
            [*GRADE, "local", "silu", "--from", str(place), "--device", "cpu"],
            cwd=REPOSITORY,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    return time.monotonic() - started_s


@click.command()
@click.option("--submissions", "count", default=200, show_default=True)
@click.option("--jobs", default=len(os.sched_getaffinity(0)), show_default="cores")
def main(count: int, jobs: int) -> None:
    """Measure the three ways and print them; exit code 1 if a target is missed."""
    scratch = Path(tempfile.mkdtemp(prefix="grade-benchmark-"))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    try:
        # Compile the emulation's runtime, once for all three.
        by_loop(make_class(scratch / "warm", 1, "warm"))
        make_class(scratch / "many", count, "many")
        many_s, memory = by_batch(scratch / "many", scratch / "out-many", jobs)
        make_class(scratch / "one", count, "one")
        one_s, _ = by_batch(scratch / "one", scratch / "out-one", 1)
        loop_s = by_loop(make_class(scratch / "loop", count, "loop"))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    first, last = memory.thirds()
    table = Table(title=f"{count} submissions, {jobs} workers on {os.cpu_count()} cores")
    for column in ("way", "s", "per minute", "speedup of batch", "target"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for way, wall_s, target in (
        (f"grade batch, {jobs} workers", many_s, None),
        ("grade batch, 1 worker", one_s, LEAST_BY_WORKERS),
        ("grade local in a loop", loop_s, LEAST_BY_WARMTH),
    ):
        ratio = wall_s / many_s
        table.add_row(
            way,
            f"{wall_s:.1f}",
            f"{60 * count / wall_s:.1f}",
            f"{ratio:.2f}×",
            "" if target is None else f"≥ {target}×",
        )
    Console().print(table)
    print(f"memory of all processes: {first:.0f} MiB in the first third, {last:.0f} in the last")
    met = (
        one_s / many_s >= LEAST_BY_WORKERS
        and loop_s / many_s >= LEAST_BY_WARMTH
        and last <= MOST_GROWTH * first
    )
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
