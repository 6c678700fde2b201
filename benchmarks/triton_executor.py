"""How much faster the executor of Triton's IR is than Triton's own interpreter.

    python benchmarks/triton_executor.py [REPEATS]

Each kernel runs in two processes on one thread: in the interpreter (`TRITON_INTERPRET=1`, which
checks nothing), and recorded and executed with all checks on. Prints medians of calls after the
first, and their ratio. Targets: SiLU 10, matrix product 20, softmax 10.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch
import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator] # triton has no types
def silu_kernel(x, y, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    value = tl.load(x + at, mask=mask, other=0.0)
    tl.store(y + at, value / (1.0 + tl.exp(-value)), mask=mask)


@triton.jit  # type: ignore[untyped-decorator] # triton has no types
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(y + row * columns + at, power / tl.sum(power, 0), mask=at < columns)


@triton.jit  # type: ignore[untyped-decorator] # triton has no types
def gemm_kernel(a, b, c, n, BLOCK: tl.constexpr, DEPTH: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, n, DEPTH):
        inner = start + tl.arange(0, DEPTH)
        left = tl.load(a + rows * n + inner[None, :], mask=rows < n, other=0.0)
        right = tl.load(b + inner[:, None] * n + columns, mask=columns < n, other=0.0)
        total += tl.dot(left, right)
    tl.store(c + rows * n + columns, total, mask=(rows < n) & (columns < n))


def calls() -> dict[str, Callable[[], object]]:
    """Return a call of each kernel, by name."""
    n = 1_000_003
    x, y = torch.randn(n), torch.empty(n)
    rows, out = torch.randn(1024, 1024), torch.empty(1024, 1024)
    a, b, c = torch.randn(512, 512), torch.randn(512, 512), torch.empty(512, 512)
    return {
        "SiLU, 1,000,003": lambda: silu_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024),
        "softmax, 1024×1024": lambda: softmax_kernel[(1024,)](rows, out, 1024, BLOCK=1024),
        "matrix product, 512³": lambda: gemm_kernel[(8, 8)](a, b, c, 512, BLOCK=64, DEPTH=32),
    }


def execute_launches() -> None:
    """Have this process's launches executed, by a thread that holds all checks."""
    from grader.protocol import launches
    from grader.protocol.targets import TARGETS
    from grader.worker import triton_executor, triton_host, triton_launches

    os.chdir(os.environ["BENCHMARK_FOLDER"])  # the executor leaves the IR there
    for _ in range(3):
        os.open(os.devnull, os.O_WRONLY)  # descriptor 4 is the executor's report
    ours, theirs = socket.socketpair()
    executor = triton_executor.Executor(launches.LaunchMode(), host_writes=True)

    def serve() -> None:
        while True:
            header, blobs = launches.receive(theirs)
            executor.begin(launches.BEGIN.pack(600.0, True))
            launches.send(theirs, *executor.message(header, blobs))

    triton_host.install(__file__, TARGETS[80])
    triton_launches.install(ours)
    threading.Thread(target=serve, daemon=True).start()


def measure(repeats: int) -> dict[str, float]:
    """Return the median time of a call of each kernel, in seconds."""
    torch.set_num_threads(1)
    if os.environ.get("TRITON_INTERPRET") != "1":
        execute_launches()
    found = {}
    for name, call in calls().items():
        times = []
        for _ in range(repeats + 1):
            started_s = time.perf_counter()
            call()
            times.append(time.perf_counter() - started_s)
        found[name] = statistics.median(times[1:])  # the first call compiles
    return found


def main(repeats: int) -> None:
    """Print a row for each kernel."""
    import tempfile

    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for interpreted in ("1", "0"):
            ended = subprocess.run(
                [sys.executable, __file__, "--measure", str(repeats)],
                env={**os.environ, "TRITON_INTERPRET": interpreted, "BENCHMARK_FOLDER": folder},
                capture_output=True,
                text=True,
            )
            if ended.returncode:
                sys.exit(ended.stderr)
            results.append(json.loads(ended.stdout.splitlines()[-1]))
    interpreter, executor = results
    print(f"{'kernel':<22} {'interpreter':>12} {'executor':>10} {'ratio':>6}")
    for name, unchecked_s in interpreter.items():
        checked_s = executor[name]
        ratio = unchecked_s / checked_s
        print(f"{name:<22} {unchecked_s:>10.3f} s {checked_s:>8.3f} s {ratio:>6.1f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(int(sys.argv[2]))))
        sys.stdout.flush()
        os._exit(0)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
