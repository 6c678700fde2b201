"""One kernel timed on a GPU, as a grading times it, and who may stand beside it.

For the tests on a GPU and for `benchmarks/performance.py`.
"""

from __future__ import annotations

import atexit
import functools
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from grader.build.baseline import build_baseline
from grader.build.product import Built
from grader.check.speed import SpeedVerdict
from grader.gpu import Gpu
from grader.judge.server import PythonServer
from grader.plan import Options, Unit
from grader.spec import Assignment, Tiers
from grader.spec_reader import read_assignment
from grader.submission import HandIn
from grader.timing.decision import Tier
from grader.verify.samples import Sample
from grader.words import Device, Language
from grader.workshop import open_workshop

REPOSITORY = Path(__file__).resolve().parent.parent
# Far below what the reference reaches, so that its verdict is not a matter of luck.
EASY = Tier(speedup=0.5, share=1.0)
# Waits for a line on its stdin; after "begin later" seconds it works for "how long".
VISITOR = """
import sys, time
import torch
print("ready", flush=True)
later_s, long_s = map(float, sys.stdin.readline().split())
time.sleep(later_s)
a = torch.randn(4096, 4096, device="cuda")
until_s = time.monotonic() + long_s
while time.monotonic() < until_s:
    for _ in range(20):
        a @ a
    torch.cuda.synchronize()
"""
NEIGHBOUR = """
import torch
a = torch.randn(4096, 4096, device="cuda")
a @ a  # loads cuBLAS, which takes a second
torch.cuda.synchronize()
print("ready", flush=True)
while True:
    for _ in range(20):
        a @ a
    torch.cuda.synchronize()
"""


def silu(tier: Tier = EASY) -> Assignment:
    """Return the assignment with a tier, so that there are verdicts."""
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    tiers = Tiers(default=dict.fromkeys(Language, (tier,)))
    kernels = tuple(replace(kernel, tiers=tiers) for kernel in assignment.kernels)
    return replace(assignment, kernels=kernels)


@functools.cache
def server() -> PythonServer:
    """Return the server for all measurements: torch is imported once."""
    made = PythonServer(Device.CUDA)
    atexit.register(made.close)
    return made


def timed(
    gpu: Gpu,
    language: Language,
    text: str | None,
    *,
    seed: int,
    assignment: Assignment,
    trusted: bool = True,
) -> tuple[SpeedVerdict, float]:
    """Time a hand-in, torch itself for None; return its verdict and the seconds it took.

    One that is not trusted gets a server of its own.
    """
    kernel = assignment.kernels[0]
    shown = text if text is not None else "def silu(input, output, n): pass\n"
    hand_in = HandIn(path=kernel.files[language], text=shown)
    unit = Unit(kernel=kernel, language=language, hand_in=hand_in)
    options = Options(gpu=gpu, public_seed=seed, secret_seed=seed)
    lent = server() if trusted else None
    with open_workshop(assignment, options, [unit], server=lent) as shop:
        built = shop.built(unit)
        if not isinstance(built, Built):
            sys.exit(f"{hand_in.path}: {built.message}")
        if text is None:
            built = build_baseline(assignment, Device.CUDA, built.path.parent / "torch")
        started_s = time.monotonic()
        verdict = shop.check_performance(unit, built, lambda _: None)
        return verdict, time.monotonic() - started_s


def speedups(found: list[tuple[SpeedVerdict, float]]) -> list[float]:
    """Return those that were measured."""
    return [v.evidence.speedup for v, _ in found if v.evidence and v.evidence.speedup is not None]


def reference(language: Language) -> str:
    """Return the solved file."""
    ending = "cu" if language is Language.CUDA else "py"
    return (REPOSITORY / "reference" / "silu" / f"silu.{ending}").read_text(encoding="utf-8")


def about_time(sample: Sample) -> bool:
    """True for samples that are about time: to be slow, or to be caught in timed calls."""
    expectation = sample.expectation()
    return expectation is not None and (
        expectation.check == "performance" or "timed calls" in (expectation.why or "")
    )


@contextmanager
def neighbour() -> Iterator[None]:
    """Another process keeps the GPU busy."""
    argv = [sys.executable, "-c", NEIGHBOUR]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                sys.exit("the neighbour did not start")
            yield
        finally:
            process.kill()


@contextmanager
def visitor(later_s: float, long_s: float) -> Iterator[None]:
    """Another process comes to the GPU later, and goes again."""
    argv = [sys.executable, "-c", VISITOR]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdin is not None and process.stdout is not None
            if process.stdout.readline() != "ready\n":
                sys.exit("the visitor did not start")
            process.stdin.write(f"{later_s} {long_s}\n")
            process.stdin.flush()
            yield
        finally:
            process.kill()
