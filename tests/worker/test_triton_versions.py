"""The same verdicts under every triton that is supported.

Asked for by GRADE_TRITON_VERSIONS: folders, separated by ":", each with an unpacked wheel.

    pip download triton==3.4.0 --no-deps && unzip triton-3.4.0-*.whl -d /tmp/triton-3.4.0
    GRADE_TRITON_VERSIONS=/tmp/triton-3.4.0 pytest tests/worker/test_triton_versions.py
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import REPOSITORY
from triton_samples import Told, compiled, counted, files, findings, marks, records, requests, run

FOLDERS = [folder for folder in os.environ.get("GRADE_TRITON_VERSIONS", "").split(":") if folder]
CORRECT = [file for file in files("correct") if file.stem != "one_program_per_element"]
FAULTS = files("faults")
COMPILED = {"arguments_of_all_sorts", "autotuned", "kernels_anywhere", "row_softmax"}

pytestmark = [
    pytest.mark.skipif(not FOLDERS, reason="GRADE_TRITON_VERSIONS names no folder"),
    pytest.mark.timeout(600),
]
each_version = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: Path(folder).name)


@each_version
def test_the_rehearsal_of_the_server(folder: str) -> None:
    code = "from grader.worker import triton_rehearsal; triton_rehearsal.rehearse()"
    environment = {**os.environ, "PYTHONPATH": folder}
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, env=environment, check=True)


@functools.cache
def called(folder: str) -> dict[str, Told]:
    samples = [*CORRECT, *FAULTS, *files("uncompilable")]
    results = run(samples, environment={"PYTHONPATH": folder})
    for result in results.values():
        assert Path(folder, f"triton-{result['triton']}.dist-info").is_dir(), "another triton"
    return results


@each_version
def test_correct_samples(folder: str) -> None:
    for file in CORRECT:
        found = called(folder)[file.stem]
        assert (set(found["statuses"]), found["right"]) == ({"done"}, True), found["worker"]
        assert findings(found) == [], file.stem


@each_version
def test_planted_faults(folder: str) -> None:
    for file in FAULTS:
        assert findings(called(folder)[file.stem]) == marks(file), file.stem


@each_version
def test_errors_of_the_compiler(folder: str) -> None:
    for file in files("uncompilable"):
        (raised,) = records(called(folder)[file.stem], "exception", "worker")
        assert [(raised["line"], "")] == marks(file), file.stem


@each_version
def test_the_gate(folder: str, tmp_path: Path) -> None:
    samples = called(folder)
    launches = [one for name in sorted(COMPILED) for one in records(samples[name], "launch")]
    results = compiled(launches, tmp_path, PYTHONPATH=folder)
    assert len(results) == len(launches) >= len(COMPILED)
    assert [(one["ok"], one["error"], one["problem"]) for one in results] == [
        (True, None, None) for _ in launches
    ]


@each_version
def test_what_the_gate_refuses(folder: str, tmp_path: Path) -> None:
    (launch,) = records(called(folder)["row_softmax"], "launch")
    text = launch["text"]
    load = next(line for line in text.splitlines() if "tt.load" in line)
    odd = load.replace(" : tensor", " cacheModifier = cg evictionPolicy = evict_first : tensor", 1)
    results = compiled([{**launch, "text": text.replace(load, odd)}], tmp_path, PYTHONPATH=folder)
    assert results[0]["error"]["type"] == "PTXASError", results


@each_version
def test_requests(folder: str) -> None:
    (file,) = files("counted")
    assert requests(counted([file], PYTHONPATH=folder)[file.stem]) == marks(file)


@each_version
def test_correct_samples_in_the_gpu_dialect(folder: str) -> None:
    for name, found in counted(CORRECT, PYTHONPATH=folder).items():
        assert (set(found["statuses"]), found["right"]) == ({"done"}, True), (name, found["told"])
