"""The cost of the checks in Triton's interpreter: checked time over unchecked time.

    python benchmarks/triton_checks.py [REPEATS]

Each kernel runs in two processes, alternately with and without the checks. The target is
at most 1.75 for each kernel. Prints a row with medians for each kernel.
"""

import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KERNELS = Path(__file__).resolve().with_name("triton_kernels.py")


def measure(checked: bool, repeats: int) -> dict[str, tuple[float, int]]:
    """Return (seconds, operations) of each kernel; runs in a separate process."""
    sys.path.insert(0, str(ROOT / "grader" / "worker"))
    import torch

    torch.set_num_threads(1)
    checks = None
    if checked:
        triton_checks: Any = importlib.import_module("triton_checks")
        checks = triton_checks.install(str(KERNELS))
    spec = importlib.util.spec_from_file_location("triton_kernels", KERNELS)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {}
    for name, call in module.CALLS.items():
        times = []
        for _ in range(repeats + 1):
            if checks is not None:
                checks.begin([])
            start_s = time.perf_counter()
            call()
            times.append(time.perf_counter() - start_s)
        # The first call parses the kernel.
        found[name] = (statistics.median(times[1:]), checks.budget.operations if checks else 0)
    return found


def main(repeats: int) -> None:
    rounds: dict[bool, list[dict[str, tuple[float, int]]]] = {False: [], True: []}
    for _ in range(3):
        for checked in (False, True):
            ended = subprocess.run(
                [sys.executable, __file__, "--measure", str(int(checked)), str(repeats)],
                env={**os.environ, "TRITON_INTERPRET": "1", "TRITON_DEFAULT_FP_FUSION": "1"},
                capture_output=True,
                text=True,
                check=True,
            )
            rounds[checked].append(json.loads(ended.stdout))
    print(f"{'kernel':24} {'unchecked':>10} {'checked':>10} {'ratio':>6} {'operations':>11}")
    for name in rounds[False][0]:
        plain, checked_s = (min(r[name][0] for r in rounds[c]) for c in (False, True))
        operations = rounds[True][0][name][1]
        print(
            f"{name:24} {plain * 1e3:7.1f} ms {checked_s * 1e3:7.1f} ms "
            f"{checked_s / plain:6.2f} {operations:11,}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2] == "1", int(sys.argv[3]))))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
