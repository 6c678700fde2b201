"""The time of the memory check: SiLU, both languages, on the CPU or on a GPU.

    python benchmarks/memory_check.py [--runs N] [--device cpu|cuda]

Wall-clock time of `grade local silu --check memory` in whole processes with warm caches
(one run of each before counting), alternately. "check" is the time of the check in the
report: on a GPU, of all four tools in parallel. "beyond torch" is the whole command minus
the unavoidable import of torch (of torch and triton for Triton). The table shows which of
them has a limit.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

REPOSITORY = Path(__file__).resolve().parent.parent
GRADE = "from grader.__main__ import main; main()"
IMPORTS = {"cuda": "import torch", "triton": "import torch, triton.language"}
NAMES = {"cuda": "CUDA C++", "triton": "Triton"}
# On a CPU without the import of torch; on a GPU of all four tools.
LIMIT_S = {("cpu", "cuda"): 1.0, ("cpu", "triton"): 1.0, ("cuda", "cuda"): 5.0,
           ("cuda", "triton"): 9.0}  # fmt: skip


def timed(argv: list[str]) -> float:
    """Return the wall time of one run, which must succeed."""
    started_s = time.monotonic()
    done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True)
    wall_s = time.monotonic() - started_s
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return wall_s


def graded(device: str, language: str, folder: Path) -> tuple[float, dict[str, Any]]:
    """Return the wall time of one memory check alone, and the report."""
    report = folder / "report.json"
    argv = [sys.executable, "-c", GRADE, "local", "silu", "--from", "reference"]
    argv += ["--device", device, "--language", language, "--check", "memory"]
    wall_s = timed([*argv, "--json", str(report)])
    return wall_s, json.loads(report.read_text())


def check_of(report: dict[str, Any]) -> dict[str, Any]:
    """Return the memory check of a report; it must have been accepted."""
    (check,) = [c for k in report["kernels"] for c in k["checks"] if c["check"] == "memory"]
    if check["verdict"] != "accepted":
        sys.exit(f"the memory check says {check['verdict']}: {check['message']}")
    return dict(check)


@click.command()
@click.option("--runs", default=5, show_default=True)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
def main(runs: int, device: str) -> None:
    """Measure and print the table."""
    imports: dict[str, list[float]] = {language: [] for language in IMPORTS}
    walls: dict[str, list[float]] = {language: [] for language in IMPORTS}
    checks: dict[str, list[dict[str, Any]]] = {language: [] for language in IMPORTS}
    environment: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="memory-check-") as folder:
        for number in range(runs + 1):
            for language, statement in IMPORTS.items():
                import_s = timed([sys.executable, "-c", statement])
                wall_s, report = graded(device, language, Path(folder))
                environment = report["environment"]
                if number:  # the first run fills the caches
                    imports[language].append(import_s)
                    walls[language].append(wall_s)
                    checks[language].append(check_of(report))
    name = environment["gpu"] or environment["cpu"]
    table = Table(title=f"memory check of silu on {name}, median of {runs} runs, seconds")
    for column in ("language", "command", "imports", "beyond torch", "÷ imports", "check",
                   "tools", "limit", "met"):  # fmt: skip
        table.add_column(column, justify="left" if column in ("language", "tools") else "right")
    for language in IMPORTS:
        table.add_row(*_row(device, language, imports[language], walls[language], checks[language]))
    Console(width=120).print(table)


def _row(
    device: str,
    language: str,
    imports: list[float],
    walls: list[float],
    checks: list[dict[str, Any]],
) -> list[str]:
    import_s, wall_s = statistics.median(imports), statistics.median(walls)
    tools = [
        (
            run["tool"].removeprefix("compute-sanitizer "),
            [c["evidence"]["tools"][i] for c in checks],
        )
        for i, run in enumerate(checks[0]["evidence"]["tools"])
    ]
    each = {tool: statistics.median(r["wall_s"] for r in several) for tool, several in tools}
    # The tools on a GPU run in parallel: take the longest. On a CPU there is one.
    check_s = statistics.median(
        max(run["wall_s"] for run in check["evidence"]["tools"]) for check in checks
    )
    beyond_s = wall_s - import_s
    limit_s = LIMIT_S[device, language]
    judged_s = beyond_s if device == "cpu" else check_s
    return [
        NAMES[language],
        f"{wall_s:.2f}",
        f"{import_s:.2f}",
        f"{beyond_s:.2f}",
        f"{wall_s / import_s:.2f}",
        f"{check_s:.2f}",
        ", ".join(f"{tool} {tool_s:.2f}" for tool, tool_s in each.items()),
        f"{'beyond torch' if device == 'cpu' else 'check'} ≤ {limit_s:g}",
        "yes" if judged_s <= limit_s else "NO",
    ]


if __name__ == "__main__":
    main()
