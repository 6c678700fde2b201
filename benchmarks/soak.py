"""Grades many submissions (good, crashing, hostile) in one process, and counts leaked resources.

    python benchmarks/soak.py [--submissions 500] [--seed 0] [--processes 1] [--minutes M]

The submissions are drawn from `tests/grading/hand_ins` and `tests/grading/attacks`; every fourth
one is right and must be accepted. The judge's descendants, threads, descriptors, temporary files,
shared memory, control groups and GPU memory are counted before, after, and after each 25
submissions; the judge's memory is printed, too. With several processes, each one is a judge and
grades a part of the submissions; they synchronise before the first and the last count, because GPU
memory is counted for all of them. Only the first process prestarts workers under a tool.

After `--minutes` no more submissions are started. The exit code is 1 if anything leaked or a right
submission was not accepted.
"""

from __future__ import annotations

import math
import multiprocessing
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from multiprocessing.synchronize import Barrier
from pathlib import Path

import click
import psutil

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests" / "support")]

import attack_corpus
from grading_bench import small_silu
from paths import HAND_INS

import grader.checks.correctness.judging  # noqa: F401 # imports torch before anything is counted
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.checks.memory import sanitizer_prestart
from grader.gpu import nvml
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.judge import session
from grader.judge.python_server import PythonServer
from grader.sandbox import cgroup
from grader.submission.reader import read_submission
from grader.system import (
    process_tree,
    toolchain,
)
from grader.vocabulary import Device

_ROUND = 25
_SETTLE_S = 2.0
# Graded before the first count: torch loads its kernels on first use, and keeps them.
_WARM_UP = (
    "right.cu", "right.py", "copies_the_input.cu", "first_block_only.py", "adds_to_the_input.py",
)  # fmt: skip
_known: set[int] = set()  # ids of threads that were counted before


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one process: a number of submissions, drawn from a seed, within a time."""

    submissions: int
    seed: int
    minutes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The resources of this process, and its files and memory on the machine."""

    processes: int
    descriptors: int
    threads: int
    temporary_files: int
    shared_memory_files: int
    system_v_segments: int
    control_groups: int
    gpu_memory_mib: int

    @classmethod
    def now(cls, scratch: Path) -> Count:
        """Count the current resources."""
        used = nvml.visible(nvml.gpus())
        settle()
        return cls(
            processes=len(psutil.Process().children(recursive=True)),
            descriptors=psutil.Process().num_fds(),
            threads=psutil.Process().num_threads(),
            temporary_files=sum(1 for _ in scratch.rglob("*")),
            shared_memory_files=sum("grade" in path.name for path in Path("/dev/shm").iterdir()),
            system_v_segments=len(Path("/proc/sysvipc/shm").read_text().splitlines()) - 1,
            control_groups=_control_groups(),
            gpu_memory_mib=_gpu_memory_mib() if used else 0,
        )

    def __str__(self) -> str:
        return ", ".join(
            f"{f.name.replace('_', ' ')} {getattr(self, f.name)}" for f in fields(self)
        )


def settle() -> None:
    """Wait until joined threads have ended: Python's join may return earlier than the kernel."""
    if not _known:
        _known.update(_threads())  # the threads before the first submission
    until_s = time.monotonic() + _SETTLE_S
    while _threads() - _known and time.monotonic() < until_s:
        time.sleep(0.01)
    for thread in sorted(_threads() - _known):
        name = next((t.name for t in threading.enumerate() if t.native_id == thread), None)
        click.echo(f"a new thread since the last count: {name or 'of a library, not of Python'}")
        _show_stack(thread)
    _known.update(_threads())


def _show_stack(thread: int) -> None:
    """Print the stack of a thread, if gdb is installed, to identify its creator."""
    if shutil.which("gdb") is not None:
        command = ["gdb", "-p", str(thread), "-batch", "-ex", "bt 16"]
        shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        click.echo("\n".join(x for x in shown.stdout.splitlines() if x.startswith("#")))


def _threads() -> set[int]:
    return {thread.id for thread in psutil.Process().threads()}


def _control_groups() -> int:
    ours = f"gpu-grade-{psutil.Process().pid}-*"
    return sum(1 for place in cgroup.places() for _ in place.folder.glob(ours))


def _memory_mib() -> int:
    return int(psutil.Process().memory_full_info().uss) >> 20


def let_go() -> None:
    """Free torch's cached GPU memory, which the other processes would count."""
    if nvml.visible(nvml.gpus()):
        import torch

        torch.cuda.empty_cache()


def _gpu_memory_mib() -> int:
    import torch

    free, total = torch.cuda.mem_get_info()
    return (total - free) >> 20


def words(root: Path) -> dict[str, str]:
    """Return the words for the attacks: the places that they must not reach."""
    assignment = root / "assignments" / "silu"
    return {
        "JUDGE": str(psutil.Process().pid),
        "HIDDEN": str(assignment / "oracle.py"),
        "ASSIGNMENT": str(assignment),
        "OTHER": str(root / "other"),
        "HOME": str(Path.home()),
        "CACHE": str(root / "cache"),
        "SOCKET": str(root / "socket"),
        "PORT": "9",
        "REPORT": str(root / "report.json"),
    }


def draw(rng: random.Random, number: int, root: Path) -> tuple[str, Path, bool]:
    """Make one submission; return its name, its folder, and whether it is right."""
    if number % 4 == 0:
        name = rng.choice(["right.cu", "right.py"])
        return name, copied(name, root), True
    corpus = [one for one in attack_corpus.attacks() if not one.gpu]
    files = sorted(HAND_INS.iterdir())
    position = rng.randrange(len(corpus) + len(files))
    if position < len(corpus):
        attack, folder = corpus[position], Path(tempfile.mkdtemp(dir=root))
        return attack.path.name, attack.make_submission(folder, words(root)), False
    name = files[position - len(corpus)].name
    return name, copied(name, root), False


def copied(name: str, root: Path) -> Path:
    """Make a submission with one of the files; return its folder."""
    file, folder = HAND_INS / name, Path(tempfile.mkdtemp(dir=root))
    shutil.copyfile(file, folder / f"silu{file.suffix}")
    return folder


def soak(
    assignment: Assignment,
    root: Path,
    scratch: Path,
    work: Work,
    synchronise: Callable[[], object],
) -> tuple[Count, Count, int]:
    """Grade all; return the counts before and after, and how many right ones were refused.

    `synchronise` waits until all processes have called it.
    """
    until_s = time.monotonic() + 60 * work.minutes
    rng = random.Random(work.seed)
    verdicts: Counter[str] = Counter()
    refused = 0
    found = nvml.visible(nvml.gpus())
    options = Options(gpu=found[0] if found else None)
    if not found:
        # nvcc is slower than everything else together, and only checks that a file compiles.
        toolchain.find_nvcc = lambda: None
        session.COMMAND_S = 2.0  # attacks that take the judge's commands wait for its end
    server = PythonServer(Device.CUDA if found else Device.CPU)
    try:
        server.ready()
        for name in _WARM_UP:
            grade_one(assignment, copied(name, root), options, server)
        let_go()
        synchronise()
        before = Count.now(scratch)
        synchronise()
        click.echo(f"before: {before}; {_memory_mib()} MiB of its own")
        for number in range(work.submissions):
            if time.monotonic() > until_s:
                break
            name, folder, right = draw(rng, number, root)
            verdict = grade_one(assignment, folder, options, server)
            verdicts[verdict] += 1
            if right and verdict != "accepted":
                refused += 1
                click.echo(f"{name}, which is right: {verdict}")
            if (number + 1) % _ROUND == 0:
                now = Count.now(scratch)
                click.echo(f"after {number + 1}: {now}; {_memory_mib()} MiB of its own")
        let_go()
        synchronise()
        after = Count.now(scratch)
        click.echo(f"after {verdicts.total()}: {after}; {_memory_mib()} MiB of its own")
        synchronise()
    finally:
        server.close()
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    click.echo(f"verdicts of {verdicts.total()}: {counts}")
    return before, after, refused


def grade_one(assignment: Assignment, folder: Path, options: Options, server: PythonServer) -> str:
    """Grade one submission and return its verdict."""
    submission = read_submission(folder, assignment)
    return str(grade(assignment, submission, options, Progress(), server).verdict)


def soak_alone(work: Work, synchronise: Callable[[], object]) -> bool:
    """Soak in this process and print leaks; return true if there are none."""
    process_tree.become_subreaper()
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        root, scratch = Path(place), Path(place) / "scratch"
        for folder in (root, scratch):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o711)  # for a worker of another user
        (root / "submissions").mkdir()
        on_gpu = bool(nvml.visible(nvml.gpus()))
        assignment = read_assignment(small_silu(root, on_gpu=on_gpu))
        tempfile.tempdir = str(scratch)
        before, after, refused = soak(assignment, root / "submissions", scratch, work, synchronise)
        tempfile.tempdir = None
    leaked = [
        f"{more} {f.name.replace('_', ' ')}"
        for f in fields(Count)
        if (more := getattr(after, f.name) - getattr(before, f.name)) > 0
    ]
    click.echo(f"it took {time.monotonic() - started_s:.0f} s")
    click.echo(f"leaked: {', '.join(leaked) or 'nothing'}")
    return not (leaked or refused)


def _soak_in_parallel(work: Work, prestart: bool, barrier: Barrier) -> None:
    if not prestart:
        sanitizer_prestart._CORES = sys.maxsize
    try:
        well = soak_alone(work, barrier.wait)
    except BaseException:
        barrier.abort()  # do not let the others wait
        raise
    sys.exit(not well)


@click.command()
@click.option("--submissions", type=click.IntRange(1), default=500, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
@click.option("--minutes", type=click.FloatRange(0), default=math.inf, help="Start none later.")
def main(submissions: int, seed: int, processes: int, minutes: float) -> None:
    """Grade many submissions, then print leaks."""
    if processes == 1:
        sys.exit(not soak_alone(Work(submissions, seed, minutes), lambda: None))
    # Not forked: torch, which is imported here, has threads.
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    each = [submissions // processes + (i < submissions % processes) for i in range(processes)]
    soaking = [
        context.Process(
            target=_soak_in_parallel, args=(Work(count, seed + i, minutes), i == 0, barrier)
        )
        for i, count in enumerate(each)
    ]
    for process in soaking:
        process.start()
    for process in soaking:
        process.join()
    sys.exit(any(process.exitcode for process in soaking))


if __name__ == "__main__":
    main()
