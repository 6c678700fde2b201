"""The speed of the CUDA emulation, as ratios of times of one run, against limits.

    python benchmarks/host_runtime.py [--repeats N] [--json FILE]

`fast/plain`: a kernel in the fast build on one core, against loops in plain C++ (`g++ -O2`) that
do the same. `checked/fast`: the checked build, without counters, against the fast one.
`counters`: the checked build with counters, against itself without. `overflow`: the checked build,
against itself without the checks of signed overflow. Each time is the least CPU time of a few
runs, since other processes only add to it. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from grader.emulation.cuda_cpp import Mode, compile_commands  # needs the path
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import Program, build, run

SOURCE = Path(__file__).with_name("host_runtime.cu")
PLAIN = Path(__file__).with_name("host_runtime_plain.cpp")
LINE = r"^(.+): ([\d.]+) ms$"
LAUNCHES = "1000 launches"
MOST_LAUNCH_US = 20.0
# Of programs of atomics and divergent loops.
ATOMICS = ("histogram 1M", "divergent 256k", "tickets 64k")


@dataclass(frozen=True)
class Ratio:
    """A column of the table: one variant's time over another's, and the largest that is wanted."""

    over: str
    under: str
    most: float | None
    works: tuple[str, ...] | None = None  # to which `most` applies; None: to all


RATIOS = {
    "fast/plain": Ratio("fast", "plain", 3),
    "checked/fast": Ratio("uncounted", "fast", 12, ATOMICS),
    "counters": Ratio("checked", "uncounted", 1.3),
    "overflow": Ratio("uncounted", "no overflow", None),
}


def measure(repeats: int) -> dict[tuple[str, str], float]:
    """Return the least time of each work in each variant, in milliseconds."""
    best: dict[tuple[str, str], float] = {}

    def note(variant: str, output: str) -> None:
        for work, milliseconds in re.findall(LINE, output, re.MULTILINE):
            key = (work, variant)
            best[key] = min(float(milliseconds), best.get(key, float("inf")))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = folder / "plain"
        subprocess.run(["g++", "-O2", "-o", plain, PLAIN], check=True)
        fast = _built(Mode.FAST, folder / "fast")
        checked = _built(Mode.CHECKED, folder / "checked")
        unwatched = _without_overflow(folder / "unwatched")
        for _ in range(repeats):
            note("plain", subprocess.run([plain], capture_output=True, text=True).stdout)
            note("fast", run(fast, settings="os_threads=1", capture=True).stdout)
            note("checked", run(checked, capture=True).stdout)
            note("uncounted", run(checked, settings="count=0", capture=True).stdout)
            note("no overflow", run(unwatched, settings="count=0", capture=True).stdout)
    return best


def _built(mode: Mode, folder: Path) -> Program:
    folder.mkdir()
    program = build(SOURCE, mode=mode, folder=folder, runtime=runtime_object(mode))
    if program.executable is None:
        raise SystemExit(program.diagnostics)
    return program


def _without_overflow(folder: Path) -> Program:
    """Build as checked, but with no checks of signed overflow."""
    usual = compile_commands._STUDENT[Mode.CHECKED]
    changed = tuple(flag.replace(",signed-integer-overflow", "") for flag in usual)
    if changed == usual:
        raise SystemExit("the checked build has no such check")
    compile_commands._STUDENT[Mode.CHECKED] = changed
    try:
        return _built(Mode.CHECKED, folder)
    finally:
        compile_commands._STUDENT[Mode.CHECKED] = usual


def compile_seconds() -> dict[str, float]:
    """Return how long g++ takes for the source in each mode; the least of three."""
    seconds: dict[str, float] = {}
    for mode in Mode:
        runtime = runtime_object(mode)
        for _ in range(3):
            with tempfile.TemporaryDirectory() as name:
                start = time.perf_counter()
                build(SOURCE, mode=mode, folder=Path(name), runtime=runtime)
                took = time.perf_counter() - start
            seconds[mode.value] = min(took, seconds.get(mode.value, took))
    return seconds


def main() -> int:
    """Print the table; the exit code is 0 even if a limit is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    best = measure(options.repeats)
    print(f"{'work':<16}{'fast ms':>9}" + "".join(f"{name:>14}" for name in RATIOS))
    rows = []
    for work in dict.fromkeys(work for work, variant in best if variant == "fast"):
        shown = f"{work:<16}{best[work, 'fast']:9.2f}"
        row: dict[str, str | float] = {"work": work}
        for name, ratio in RATIOS.items():
            if (work, ratio.under) not in best or work == LAUNCHES:
                shown += f"{'':14}"
                continue
            value = best[work, ratio.over] / best[work, ratio.under]
            wanted = ratio.most is not None and (ratio.works is None or work in ratio.works)
            missed = wanted and value > (ratio.most or 0)
            shown += f"{value:12.2f}{' !' if missed else '  '}"
            row[name] = round(value, 2)
        print(shown.rstrip())
        rows.append(row)
    limits = ", ".join(f"{name} {ratio.most:g}" for name, ratio in RATIOS.items() if ratio.most)
    print(f"`!`: more than wanted ({limits}; checked/fast: of {', '.join(ATOMICS)})")
    for variant in ("fast", "checked"):
        # 1000 launches: milliseconds are microseconds of each.
        microseconds = best[LAUNCHES, variant]
        print(f"a small launch, {variant}: {microseconds:.1f} us (wanted: {MOST_LAUNCH_US:g})")
    for mode, seconds in compile_seconds().items():
        print(f"compiling, {mode}: {seconds:.2f} s")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
