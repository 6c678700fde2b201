"""The benefit of several GPUs, and their influence on timings: SiLU on one GPU and on all.

    python benchmarks/batch_gpus.py [--each 6] [--gpus N]

Runs `grade batch` on the first GPU with EACH submissions, then on all GPUs with EACH for every
GPU: right submissions in both languages, all different, with all checks. Also compares the
medians of the reports' speedups over torch, which other GPUs must not change.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from grader.gpu.nvml import gpus, visible

REPOSITORY = Path(__file__).resolve().parent.parent
GRADE = [sys.executable, "-c", "from grader.__main__ import main; main()"]
SILU = REPOSITORY / "reference" / "silu"
LEAST_SHARE = 0.9  # of the ideal scaling: 3.6 on four GPUs
MOST_CHANGE = 0.02


def make_class(folder: Path, count: int) -> Path:
    """Make `count` right submissions, alternately CUDA C++ and Triton; return the folder."""
    for number in range(count):
        name, comment = ("silu.cu", "//") if number % 2 == 0 else ("silu.py", "#")
        place = folder / f"{number:03}"
        place.mkdir(parents=True)
        text = (SILU / name).read_text(encoding="utf-8")
        (place / name).write_text(f"{text}{comment} {folder.name} {number}\n", encoding="utf-8")
    return folder


def graded(folder: Path, out: Path, uuids: list[str]) -> tuple[float, dict[str, list[float]]]:
    """Grade on these GPUs; return the seconds, and the speedups by language."""
    started_s = time.monotonic()
    done = subprocess.run(
        [*GRADE, "batch", str(folder), "silu", "--out", str(out), "--device", "cuda"],
        cwd=REPOSITORY,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ",".join(uuids)},
        capture_output=True,
        text=True,
    )
    wall_s = time.monotonic() - started_s
    if done.returncode != 0:
        sys.exit(f"grade batch ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    speedups: dict[str, list[float]] = {"cuda": [], "triton": []}
    for path in sorted((out / "reports" / "silu").glob("*.json")):
        for kernel in json.loads(path.read_text(encoding="utf-8"))["kernels"]:
            for check in kernel["checks"]:
                evidence = check.get("evidence") or {}
                if check["check"] == "performance" and evidence.get("speedup") is not None:
                    speedups[kernel["language"]].append(evidence["speedup"])
    return wall_s, speedups


@click.command()
@click.option("--each", type=click.IntRange(2), default=6, show_default=True)
@click.option("--gpus", "count", type=click.IntRange(2), help="Number of GPUs. Default: all.")
def main(each: int, count: int | None) -> None:
    """Measure both and print them; exit code 1 if a target is missed."""
    found = visible(gpus())[:count]
    if len(found) < 2:
        sys.exit("error: this needs two NVIDIA GPUs or more")
    uuids = [gpu.uuid for gpu in found]
    scratch = Path(tempfile.mkdtemp(prefix="grade-benchmark-"))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    try:
        graded(make_class(scratch / "warm", 2), scratch / "out-warm", uuids[:1])
        one_s, one = graded(make_class(scratch / "one", each), scratch / "out-one", uuids[:1])
        many = make_class(scratch / "many", each * len(uuids))
        many_s, several = graded(many, scratch / "out-many", uuids)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    ratio = len(uuids) * one_s / many_s
    least = LEAST_SHARE * len(uuids)
    table = Table(title=f"{len(uuids)} × {found[0].name}, {os.cpu_count()} cores")
    for column in ("what", "one GPU", "all", "ratio", "target"):
        table.add_column(column, justify="left" if column == "what" else "right")
    rates = (f"{60 * each / one_s:.1f}", f"{60 * each * len(uuids) / many_s:.1f}")
    table.add_row("submissions per minute", *rates, f"{ratio:.2f}×", f"≥ {least:.1f}×")
    met = ratio >= least
    for language, alone in one.items():
        beside = several[language]
        if not alone or not beside:
            sys.exit(f"no submission in {language} was timed")
        a, b = statistics.median(alone), statistics.median(beside)
        change = b / a - 1
        met = met and abs(change) <= MOST_CHANGE
        shown = (f"{a:.4f}", f"{b:.4f}", f"{change:+.2%}", f"within {MOST_CHANGE:.0%}")
        table.add_row(f"times torch, {language}, median", *shown)
        table.add_row(
            f"times torch, {language}, range",
            *(f"{min(s):.3f} to {max(s):.3f} ({len(s)})" for s in (alone, beside)),
            "", "",
        )  # fmt: skip
    Console().print(table)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
