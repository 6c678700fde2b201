"""Runs all tests and measurements that need a GPU, most important first, within a time limit.

    python tools/gpu_session.py [--minutes M] [--out FOLDER] [--part NAME]... [--list]

Every part is a command with a time limit; a part that exceeds it is killed with all its
processes. The full output of a part goes to FOLDER/PART.txt; the terminal gets a line
when a part starts, and at the end a summary with the last lines of each output. The exit
code is 0 if all parts passed.

Calibrations are also copied to FOLDER/calibration, to take them from a rented machine.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click

REPOSITORY = Path(__file__).resolve().parent.parent
GRADE = "from grader.__main__ import main; main()"
_TAIL_LINES = 6
_END_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A command and its time limit."""

    name: str
    argv: tuple[str, ...]
    limit_s: float


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)


def _grade(*arguments: str) -> tuple[str, ...]:
    return _python("-c", GRADE, *arguments)


def _proof(part: str, times: int, out: Path) -> tuple[str, ...]:
    folder = str(out / "proofs")
    return _python(
        "benchmarks/performance.py", "--part", part, "--times", str(times), "--out", folder
    )


def parts(out: Path) -> list[Part]:
    """Return all parts, most important first."""
    # A test of a sample runs four tools at once: 10 or more processes overload 16 cores.
    workers = ("-n", "4", "--dist", "loadgroup")
    # -v: one line for each test shows the results so far if the time runs out.
    tests = ("-m", "pytest", "-v", "-m", "gpu", *workers, "-rf", "-p", "no:cacheprovider")
    long, samples = (
        "tests/checks/test_performance_gpu.py",
        "tests/commands/samples/test_samples_gpu.py",
    )
    rest = (*tests, "--durations=5", "tests", f"--ignore={long}", f"--ignore={samples}")
    # On an H200 a benchmark takes about 4 s, an autotuned one 10.
    calibrations = [
        Part(name=f"calibrate-{name}", argv=_grade("calibrate", name), limit_s=limit_s)
        for name, limit_s in (
            ("gemm", 300), ("transpose", 180), ("rms_norm_vector", 120),
            ("rms_norm_matrix", 90), ("copy_first_column", 90), ("silu", 60),
        )
    ]  # fmt: skip
    local = ("benchmarks/grade_local.py", "--runs", "1", "--device", "cuda")
    memory = ("benchmarks/memory_check.py", "--runs", "1", "--device", "cuda")
    table = ("tools/memory_table.py", "run", "--device", "cuda", "--jobs", "4", "--json")
    return [
        Part(name="doctor", argv=_grade("doctor"), limit_s=60),
        Part(name="busy", argv=_proof("busy", 2, out), limit_s=60),
        Part(name="rounds", argv=_python("benchmarks/rounds.py"), limit_s=200),
        Part(name="visitor", argv=_proof("visitor", 1, out), limit_s=150),
        Part(name="attacks", argv=_proof("attacks", 1, out), limit_s=200),
        Part(name="self", argv=_proof("self", 20, out), limit_s=200),
        Part(name="spread", argv=_proof("spread", 20, out), limit_s=330),
        Part(name="kernels", argv=_proof("kernels", 1, out), limit_s=330),
        Part(name="grade-local", argv=_python(*local), limit_s=180),
        Part(name="memory-check", argv=_python(*memory), limit_s=90),
        Part(name="tests", argv=_python(*rest), limit_s=400),
        Part(name="soak", argv=_python("benchmarks/soak.py", "--processes", "5"), limit_s=400),
        Part(name="samples", argv=_python(*tests, "--timeout=400", samples), limit_s=580),
        Part(
            name="memory-table", argv=_python(*table, str(out / "memory-table.json")), limit_s=400
        ),
        Part(name="batch-gpus", argv=_python("benchmarks/batch_gpus.py"), limit_s=300),
        *calibrations,
        Part(name="verify", argv=_grade("verify", "--device", "cuda"), limit_s=580),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The result of a part; `code` is None if it exceeded its time limit."""

    part: Part
    code: int | None
    wall_s: float
    tail: tuple[str, ...]

    @property
    def word(self) -> str:
        """The result in one word."""
        if self.code is None:
            return "TIME UP"
        return "passed" if self.code == 0 else f"exit {self.code}"


def run(part: Part, limit_s: float, out: Path) -> Done:
    """Run a part; end its process group when it exceeds the time limit."""
    path = out / f"{part.name}.txt"
    started_s = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "160"}
    with path.open("wb") as file:
        process = subprocess.Popen(
            part.argv,
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
            _end(process)
    lines = path.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    tail = tuple(line[:200] for line in lines[-_TAIL_LINES:])
    return Done(part=part, code=code, wall_s=time.monotonic() - started_s, tail=tail)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the process group, so that it can clean up; then kill it."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)


@click.command()
@click.option("--minutes", type=click.FloatRange(min=0.1), default=9.5, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default="gpu-session")
@click.option("--part", "names", multiple=True, help="Only this part (repeatable).")
@click.option("--list", "only_list", is_flag=True, help="List the parts and their limits.")
def main(minutes: float, out: Path, names: tuple[str, ...], only_list: bool) -> None:
    """Run the parts that fit into the time, then print the summary."""
    out = out.resolve()
    known = parts(out)
    unknown = sorted(set(names) - {part.name for part in known})
    if unknown:
        raise click.UsageError(f"no part {', '.join(unknown)}: see --list")
    chosen = [part for part in known if not names or part.name in names]
    if only_list:
        for part in chosen:
            click.echo(f"{part.name:22} {part.limit_s:4.0f} s")
        return
    out.mkdir(parents=True, exist_ok=True)
    deadline_s = time.monotonic() + 60 * minutes
    done: list[Done] = []
    for part in chosen:
        left_s = deadline_s - time.monotonic() - 2 * _END_S
        if left_s <= 0:
            break
        click.echo(f"{part.name} …", err=True)
        done.append(run(part, min(part.limit_s, left_s), out))
        for path in REPOSITORY.glob("assignments/*/calibration/*.json"):
            kept = out / "calibration" / path.parent.parent.name
            kept.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, kept)
    for one in done:
        click.echo(f"\n== {one.part.name}: {one.word}, {one.wall_s:.0f} s")
        for line in one.tail:
            click.echo(f"   {line}")
    click.echo()
    for one in done:
        click.echo(f"{one.part.name:22} {one.word:8} {one.wall_s:5.0f} s")
    for part in chosen[len(done) :]:
        click.echo(f"{part.name:22} NOT STARTED (no time left)")
    sys.exit(0 if len(done) == len(chosen) and all(one.code == 0 for one in done) else 1)


if __name__ == "__main__":
    main()
