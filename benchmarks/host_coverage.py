"""The programs of tests/emulation/cuda_cpp/covered: does a GPU print what the emulation prints?

    python benchmarks/host_coverage.py [--arch sm_90] [--compile-only] [NAME...]

Compiles each program with nvcc (without fused multiply-adds, which the emulation does not make),
runs it on the GPU, runs it in the emulation, and compares the outputs. Exit code: 0 if all agree.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from grader.emulation.cuda_cpp import Mode  # needs the path
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import build, run

PROGRAMS = sorted((ROOT / "tests/emulation/cuda_cpp/covered").glob("*.cu"))
LIMIT_S = 60


def option(text: str, name: str) -> list[str]:
    """Return the words of a program's `// NAME: …` line."""
    match = re.search(rf"^// {name}: (.+)$", text, re.MULTILINE)
    return match[1].split() if match else []


def on_gpu(source: Path, folder: Path, *, arch: str, compile_only: bool) -> str:
    """Return what the program prints on the GPU; "" if it is only compiled."""
    text = source.read_text()
    command = ["nvcc", f"-arch={arch}", "-fmad=false", *option(text, "nvcc")]
    command += [f"-std={word}" for word in option(text, "std")]
    made = subprocess.run(
        [*command, "-o", str(folder / source.stem), str(source)], capture_output=True, text=True
    )
    if made.returncode != 0:
        return f"nvcc: {made.stdout}{made.stderr}"
    if compile_only:
        return ""
    try:
        done = subprocess.run(
            [folder / source.stem], capture_output=True, text=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {LIMIT_S} s"
    return done.stdout + done.stderr


def on_host(source: Path, folder: Path, runtime: Path) -> str:
    """Return what the program prints in the emulation, and its findings."""
    standard = (option(source.read_text(), "std") or ["c++17"])[0]
    place = folder / f"{source.stem}.host"
    place.mkdir()
    program = build(source, mode=Mode.CHECKED, folder=place, runtime=runtime, standard=standard)
    if program.executable is None:
        return program.diagnostics
    result = run(program, timeout_s=LIMIT_S, capture=True)
    found = "".join(f"{f.severity}: {f.kind} in line {f.line}\n" for f in result.report.findings)
    return result.stdout + result.stderr + found


def main() -> int:
    """Print a line per program, and both outputs where they differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--compile-only", action="store_true", help="only see what nvcc accepts")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    chosen = [p for p in PROGRAMS if not options.names or p.stem in options.names]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(scratch)
        build_and_run = partial(
            on_gpu, folder=folder, arch=options.arch, compile_only=options.compile_only
        )
        theirs = pool.map(build_and_run, chosen)
        if options.compile_only:
            ours = iter([""] * len(chosen))
        else:
            runtime = runtime_object(Mode.CHECKED)
            ours = pool.map(partial(on_host, folder=folder, runtime=runtime), chosen)
        differ = 0
        for source, gpu, host in zip(chosen, theirs, ours, strict=True):
            differ += gpu != host
            print(f"{'same' if gpu == host else 'DIFFERENT':<10} {source.stem}")
            if gpu != host:
                print(f"--- GPU\n{gpu}--- emulation\n{host}")
    print(f"{len(chosen) - differ} of {len(chosen)} agree")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
