"""The speed of the CUDA emulation: compile times and kernels, checked and fast, against targets.

    python benchmarks/host_runtime.py [--json FILE]

Each figure is the best of a few runs (noise only adds time), and its ratio to the target:
1.0 or less meets it. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from grader.emulation.cuda_cpp import Mode  # needs the path
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import build, run

SOURCE = Path(__file__).with_name("host_runtime.cu")
REPEATS = 3
LINE = r"^(.+): ([\d.]+) ms$"
UNCOUNTED = "uncounted"  # checked, without counters
MOST_COUNTERS, MOST_CHECKS, MOST_LAUNCH_US = 1.3, 12, 20
# Seconds, on two x86-64 cores.
TARGETS = {
    ("compile", "fast"): 0.4,
    ("compile", "checked"): 0.4,
    ("silu 1M", "checked"): 0.15,
    ("silu 1M", "fast"): 0.05,
    ("transpose 1024", "checked"): 0.15,
    ("gemm 256 naive", "checked"): 0.35,
    ("gemm 256 naive", "fast"): 0.15,
    ("gemm 256 tiled", "checked"): 0.55,
    ("gemm 256 tiled", "fast"): 0.15,
}


def measure() -> dict[tuple[str, str], float]:
    """Return the best time of each task in each mode, in seconds."""
    best: dict[tuple[str, str], float] = {}

    def note(work: str, mode: Mode, seconds: float) -> None:
        key = (work, mode.value)
        best[key] = min(seconds, best.get(key, seconds))

    with tempfile.TemporaryDirectory() as folder:
        for mode in Mode:
            runtime = runtime_object(mode)
            for _ in range(REPEATS):
                start = time.perf_counter()
                program = build(SOURCE, mode=mode, folder=Path(folder), runtime=runtime)
                note("compile", mode, time.perf_counter() - start)
                if program.executable is None:
                    raise SystemExit(program.diagnostics)
                output = run(program, capture=True).stdout
                for work, milliseconds in re.findall(LINE, output, re.MULTILINE):
                    note(work, mode, float(milliseconds) / 1000)
                if mode is Mode.CHECKED:
                    output = run(program, settings="count=0", capture=True).stdout
                    for work, milliseconds in re.findall(LINE, output, re.MULTILINE):
                        key = (work, UNCOUNTED)
                        best[key] = min(float(milliseconds) / 1000, best.get(key, 1e9))
            start = time.perf_counter()
            for _ in range(5):
                run(program, capture=True, arguments=["nothing"])
            note("start and end", mode, (time.perf_counter() - start) / 5)
    return best


def main() -> int:
    """Print the table; the exit code is 0 even if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    best = measure()
    print(f"{'work':<18} {'build':<8} {'seconds':>8} {'target':>7} {'ratio':>6}")
    for (work, mode), seconds in sorted(best.items()):
        target = TARGETS.get((work, mode))
        shown = "" if target is None else f"{target:7.2f} {seconds / target:6.2f}"
        print(f"{work:<18} {mode:<8} {seconds:8.3f} {shown}".rstrip())
    print(
        f"\n{'work':<18} {'counters':>9} {'checks':>7}   (at most {MOST_COUNTERS}, {MOST_CHECKS})"
    )
    for (work, mode), seconds in sorted(best.items()):
        if mode == UNCOUNTED:
            counters, checks = best[work, "checked"] / seconds, seconds / best[work, "fast"]
            print(f"{work:<18} {counters:9.2f} {checks:7.2f}")
    launch_us = best["1000 launches", "checked"] * 1000
    print(f"a small launch, checked: {launch_us:.1f} us (at most {MOST_LAUNCH_US})")
    if options.json:
        rows = [
            {"work": work, "build": mode, "seconds": seconds, "target": TARGETS.get((work, mode))}
            for (work, mode), seconds in sorted(best.items())
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
