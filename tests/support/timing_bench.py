"""Times one kernel on a GPU as a grading does, also beside other processes.

For the tests on a GPU and for `benchmarks/performance.py`.
"""

from __future__ import annotations

import atexit
import functools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from paths import REPOSITORY

from grader.assignment.model import Assignment, Tiers
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built
from grader.build.baseline import build_baseline
from grader.checks.check import CheckOutcome, KernelFile
from grader.checks.performance.check import PerformanceCheck
from grader.commands.verify.samples import Sample
from grader.gpu.nvml import Gpu
from grader.grading.context import FileContext, open_context
from grader.grading.file_state import FileState
from grader.grading.plan import Options, Plan
from grader.judge.python_server import PythonServer
from grader.report.evidence import PerformanceEvidence
from grader.submission.reader import SourceFile
from grader.timing.decision import Tier
from grader.vocabulary import Device, Language

# Far below the reference's speedup, so that its verdict is certain.
EASY = Tier(speedup=0.5, share=1.0)
# Reads a delay and a duration from standard input, waits, works, and prints the number of products.
VISITOR = """
import sys, time
import torch
a = torch.randn(4096, 4096, device="cuda")
a @ a  # loads cuBLAS, which takes a second
torch.cuda.synchronize()
print("ready", flush=True)
later_s, long_s = map(float, sys.stdin.readline().split())
time.sleep(later_s)
made, until_s = 0, time.monotonic() + long_s
while time.monotonic() < until_s:
    for _ in range(20):
        a @ a
    torch.cuda.synchronize()
    made += 20
print(made, flush=True)
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
    """Return the assignment with one tier."""
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    tiers = Tiers(default=dict.fromkeys(Language, (tier,)))
    kernels = tuple(replace(kernel, tiers=tiers) for kernel in assignment.kernels)
    return replace(assignment, kernels=kernels)


@functools.cache
def server() -> PythonServer:
    """Return the server for all measurements, which imports torch once."""
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
    begins: Callable[[], None] = lambda: None,
) -> tuple[CheckOutcome[PerformanceEvidence], float]:
    """Time a submission (None: torch); return its verdict and the seconds of the measurement.

    An untrusted submission gets a separate server. `begins` is called after the build.
    """
    kernel = assignment.kernels[0]
    shown = text if text is not None else "def silu(input, output, n): pass\n"
    source = SourceFile(path=kernel.files[language], text=shown)
    unit = KernelFile(kernel=kernel, language=language, source=source)
    options = Options(gpu=gpu, public_seed=seed, secret_seed=seed)
    lent = server() if trusted else None
    plan = Plan(kernels=((kernel, (unit,)),))
    with open_context(assignment, options, plan, server=lent) as context:
        file = FileContext(context, FileState(file=unit))
        built = file.wait_for_build()
        if not isinstance(built, Built):
            sys.exit(f"{source.path}: {built.message}")
        if text is None:
            file.replace_build(build_baseline(assignment, Device.CUDA, built.path.parent / "torch"))
        begins()
        started_s = time.monotonic()
        (verdict,) = PerformanceCheck().run(file)
        return verdict, time.monotonic() - started_s


def speedups(found: list[tuple[CheckOutcome[PerformanceEvidence], float]]) -> list[float]:
    """Return the measured speedups."""
    return [v.evidence.speedup for v, _ in found if v.evidence and v.evidence.speedup is not None]


def reference(language: Language) -> str:
    """Return the solved file."""
    ending = "cu" if language is Language.CUDA else "py"
    return (REPOSITORY / "reference" / "silu" / f"silu.{ending}").read_text(encoding="utf-8")


def about_time(sample: Sample) -> bool:
    """True for samples about time: slow ones, and attacks on timed calls."""
    expectation = sample.expectation()
    return expectation is not None and (
        expectation.check == "performance" or "timed calls" in (expectation.why or "")
    )


@contextmanager
def neighbour() -> Iterator[None]:
    """Keep the GPU busy with another process."""
    argv = [sys.executable, "-c", NEIGHBOUR]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                sys.exit("the neighbour did not start")
            yield
        finally:
            process.kill()


class Visitor:
    """Another process that works on the GPU for `long_s`, after `later_s`."""

    def __init__(self, later_s: float, long_s: float) -> None:
        self._times = f"{later_s} {long_s}\n"
        argv = [sys.executable, "-c", VISITOR]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._read() != "ready":
            sys.exit("the visitor did not start")

    def begin(self) -> None:
        """Start the delay."""
        assert self._process.stdin is not None
        self._process.stdin.write(self._times)
        self._process.stdin.flush()

    def end(self) -> str:
        """End the process, if necessary; return its number of products."""
        made = "it stayed" if self._process.poll() is None else f"it made {self._read()} products"
        self._process.kill()
        self._process.communicate()
        return made

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()
