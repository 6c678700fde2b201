"""Reports of real gradings, recorded for the tests of the HTML page.

    python tests/support/recorded_pages.py [NAME...]     grade again, and write tests/formats/pages/

Each entry has an assignment, a submission (in the repository), and the options of `grade local`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from paths import REPOSITORY

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
