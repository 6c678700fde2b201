"""The compile gate: what runs in the interpreter is compiled for a GPU that is not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from paths import REPOSITORY

from samples import HERE, files, marks, records, result

PROGRAM = REPOSITORY / "grader" / "worker" / "triton_compile.py"


def gate(file: Path, launches: list[dict[str, Any]], cache: Path) -> dict[str, Any]:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    ended = subprocess.run(
        [sys.executable, PROGRAM, file],
        input=json.dumps(launches),
        env={**environment, "TRITON_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    report: dict[str, Any] = json.loads(ended.stdout)
    return report


@pytest.mark.parametrize("file", files("uncompilable"), ids=lambda file: file.stem)
def test_error_has_its_line(file: Path, tmp_path: Path) -> None:
    interpreted = result("uncompilable", file.stem)
    assert interpreted["error"] is None, "the interpreter does not take it"
    report = gate(file, records(interpreted, "launch"), tmp_path)
    assert report["load"] is None
    (compiled,) = report["results"]
    assert (compiled["ok"], compiled["problem"]) == (False, None)
    assert [(compiled["error"]["line"], "")] == marks(file)
    assert compiled["error"]["message"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("autotuned", marks=pytest.mark.slow),
        "gemm_with_wrapped_rows",
        pytest.param("kernels_anywhere", marks=pytest.mark.slow),
        pytest.param("library_functions", marks=pytest.mark.slow),
        "scalar_arguments",
        "tensor_descriptor",
    ],
)
def test_correct_kernel_compiles(name: str, tmp_path: Path) -> None:
    launches = records(result("correct", name), "launch")
    report = gate(HERE / "correct" / f"{name}.py", launches, tmp_path)
    launches_of = {"autotuned": 3, "kernels_anywhere": 3}
    assert [(r["ok"], r["problem"]) for r in report["results"]] == [
        (True, None) for _ in range(launches_of.get(name, 1))
    ]


def test_an_argument_that_is_1_is_what_triton_makes_of_it(tmp_path: Path) -> None:
    launches = records(result("correct", "one_not_specialized"), "launch")
    report = gate(HERE / "correct" / "one_not_specialized.py", launches, tmp_path)
    assert [(r["ok"], r["error"], r["problem"]) for r in report["results"]] == [
        (True, None, None),
        (True, None, None),
    ]
    launches = records(result("uncompilable", "one_is_a_constant"), "launch")
    report = gate(HERE / "uncompilable" / "one_is_a_constant.py", launches, tmp_path)
    error = report["results"][0]["error"]
    assert "do_not_specialize=['n']" in error["hint"]


def test_record_of_a_launch() -> None:
    (record,) = records(result("correct", "gemm_with_wrapped_rows"), "launch")
    assert record["kernel"] == "kernel"
    assert record["signature"]["a"] == "*fp32"
    assert record["signature"]["m"] == "i32"
    assert record["constants"] == {name: {"value": 16} for name in ("BM", "BN", "BK")}
    assert record["problem"] is None
    configured = records(result("correct", "autotuned"), "launch")
    assert {r["options"]["num_warps"] for r in configured} == {4}


def test_a_file_that_needs_a_gpu_to_load_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "needs_gpu.py"
    file.write_text("print('noise')\nimport triton\ntriton.runtime.driver.active.launcher_cls\n")
    report = gate(file, [], tmp_path)
    assert report["results"] == []
    assert report["load"]


def test_a_kernel_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    file = HERE / "correct" / "heuristics.py"
    (launch,) = records(result("correct", "heuristics"), "launch")
    report = gate(file, [{**launch, "kernel": "other"}], tmp_path)
    assert report["results"][0]["problem"] == "no kernel `other` in the file"


def test_a_kernel_that_needs_its_factorys_variables_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "factory.py"
    file.write_text(
        "import triton\n\n\ndef make(step):\n    @triton.jit\n"
        "    def kernel(out):\n        out + step\n\n    return kernel\n"
    )
    launch = {"kernel": "kernel", "line": 6}
    report = gate(file, [launch], tmp_path)
    assert report["results"][0]["problem"] == ("it uses `step` of the function that it is made in")
