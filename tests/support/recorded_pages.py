"""Reports of real gradings, recorded for the tests of the HTML page.

    python tests/support/recorded_pages.py [NAME...]     grade again, and write tests/formats/pages/

Each entry has an assignment, a submission (in the repository), and the options of `grade local`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import sample_reports
from paths import REPOSITORY

from grader.report.evidence import PerformanceEvidence
from grader.report.model import Report
from grader.report.reader import read_report

FOLDER = REPOSITORY / "tests" / "formats" / "pages"
_SILU = "reference/silu/samples"
_TRANSPOSE = "reference/transpose/samples"
_CUDA = ("--language", "cuda")
_TRITON = ("--language", "triton")
RECORDED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "right": ("silu", "reference/silu", _CUDA),
    "ladder": ("transpose", "reference/transpose", ()),
    "race": ("transpose", f"{_TRANSPOSE}/memory_error/missing-barrier", _CUDA),
    "race_between_warps": ("silu", f"{_SILU}/memory_error/missing-barrier", _CUDA),
    "race_between_blocks": ("silu", f"{_SILU}/memory_error/race-between-blocks", _CUDA),
    "race_between_programs": ("silu", f"{_SILU}/memory_error/race-between-programs", _TRITON),
    "out_of_bounds": ("silu", f"{_SILU}/memory_error/missing-guard", _CUDA),
    "before_the_start": ("silu", f"{_SILU}/memory_error/read-before-the-start", _CUDA),
    "misaligned": ("silu", f"{_SILU}/memory_error/misaligned-float4", _CUDA),
    "uninitialized": ("silu", f"{_SILU}/memory_error/uninitialised-shared", _CUDA),
    "barrier": ("silu", f"{_SILU}/memory_error/divergent-barrier", _CUDA),
    "leak": ("silu", f"{_SILU}/memory_error/leaked-scratch", _CUDA),
    "invalid_copy": ("silu", f"{_SILU}/memory_error/copy-too-long", _CUDA),
    "wrong_tile": ("transpose", f"{_TRANSPOSE}/wrong_answer/tile-not-turned", _CUDA),
    "gaps": ("silu", "tests/formats/pages/submissions/gaps", _CUDA),
    "doubles": ("silu", "tests/formats/pages/submissions/doubles", _CUDA),
    "uncoalesced": ("transpose", f"{_TRANSPOSE}/too_slow/no-tile", _CUDA),
    "bank_conflicts": ("transpose", "reference/transpose", ("--kernel", "v3_shared_tile", *_CUDA)),
    "compile_error": ("silu", f"{_SILU}/compile_error/missing-semicolon", _CUDA),
    "hidden_failures": ("silu", "tests/formats/pages/submissions/hidden_failures", _CUDA),
    "roofline": ("gemm", "reference/gemm", ()),
    "hostile": ("silu", "tests/formats/pages/submissions/hostile", _CUDA),
}


def recorded(name: str) -> Report:
    """Return a recorded report."""
    return read_report(FOLDER / f"{name}.json")


def timed() -> Report:
    """Return the ladder of the roofline as if a GPU had timed it: the figures are made up."""
    report = recorded("roofline")
    numbers = random.Random(1)
    [check] = [
        one
        for one in sample_reports.too_slow().kernels[0].checks
        if isinstance(one.evidence, PerformanceEvidence)
    ]
    assert isinstance(check.evidence, PerformanceEvidence)
    kernels = []
    for number, kernel in enumerate(report.kernels):
        speedup = 0.05 * 1.6**number
        torch = tuple(40 + numbers.gauss(0, 1.5) for _ in range(30))
        own = tuple(40 / speedup + numbers.gauss(0, 2 / speedup) for _ in range(30))
        ratios = tuple(one / other for one, other in zip(torch, own, strict=True))
        benchmark = replace(
            check.evidence.benchmarks[0],
            baseline_us=40.0,
            submission_us=40 / speedup,
            speedup=speedup,
            low=0.97 * speedup,
            high=1.03 * speedup,
            speedups=ratios,
            rounds=30,
            tflop_s=2.0 * 1.5**number,
            baseline_rounds_us=torch,
            submission_rounds_us=own,
        )
        evidence = replace(
            check.evidence,
            benchmarks=(benchmark,),
            speedup=speedup,
            low=0.97 * speedup,
            high=1.03 * speedup,
            roof_gb_s=3000.0,
            peak_tflop_s=60.0,
        )
        made = (replace(check, evidence=evidence),) if kernel.language else ()
        kernels.append(replace(kernel, checks=(*kernel.checks, *made)))
    return replace(report, kernels=tuple(kernels), environment={"gpu": "NVIDIA H100"})


def record(name: str) -> None:
    """Grade the submission again and store the report, without what differs by machine."""
    assignment, source, options = RECORDED[name]
    file = FOLDER / f"{name}.json"
    command = [sys.executable, "-m", "grader", "local", assignment, "--from", source]
    subprocess.run(
        [*command, "--json", str(file), *options],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        check=False,  # a submission that loses points ends with 1
    )
    values: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    for key in ("cpu", "platform", "sandbox_layers", "sandbox_missing", "driver"):
        values["environment"].pop(key, None)
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    file.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in sys.argv[1:] or RECORDED:
        record(each)
        size = Path(FOLDER / f"{each}.json").stat().st_size
        print(f"{each}: {recorded(each).verdict}, {size} bytes", flush=True)
