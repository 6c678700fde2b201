"""Numba: what a file may say, and what its host code may do without a GPU."""

from __future__ import annotations

import importlib.util
import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from grading_bench import Bench
from language_bench import FILES, NEEDS_NUMBA, checked_silu
from paths import REPOSITORY

from grader.assignment.model import Assignment, Limits
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built, Rejected
from grader.checks.check import BuildRequest
from grader.checks.common.diagnosis import Phase, explain
from grader.judge.python_server import PythonServer
from grader.judge.session import Session
from grader.languages.registry import support_of
from grader.report.evidence import BuildEvidence
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.vocabulary import Device, Language

NUMBA = Language.NUMBA
FILE = FILES[NUMBA]
RIGHT = (Path(__file__).parent / "hand_ins" / "correct.py").read_text(encoding="utf-8")
LAUNCH = "    silu_kernel[blocks, threads](input, output, n)\n"
assert LAUNCH in RIGHT


@pytest.fixture(scope="module")
def silu() -> Assignment:
    return read_assignment(REPOSITORY / "assignments" / "silu")


def built(assignment: Assignment, text: str, folder: Path) -> Built | Rejected:
    return support_of(NUMBA).build(
        BuildRequest(
            assignment=assignment,
            source=SourceFile(path=FILE, text=text),
            device=Device.CPU,
            architecture=None,
            scratch=folder,
        )
    )


def test_without_numba_a_sentence_names_the_extra(
    silu: Assignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = built(silu, RIGHT, tmp_path)
    assert isinstance(found, Rejected)
    assert found.verdict is Verdict.NOT_MEASURED
    assert found.message == "Numba is not on this machine: its kernels cannot be compiled"
    assert found.hint.endswith('in the course folder: pip install ".[numba]"')
    assert support_of(NUMBA).missing() == "Numba"


@pytest.mark.parametrize("device", Device)
def test_a_package_that_cannot_be_imported_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: Device
) -> None:
    """As a Numba that does not know the installed NumPy."""
    monkeypatch.setattr(NUMBA, "worker", "broken_worker.py")
    path = tmp_path / "silu.py"
    path.write_text(RIGHT)
    file = Built(
        language=NUMBA,
        device=device,
        path=path,
        file=FILE,
        entry="silu",
        evidence=BuildEvidence(tool="none", cached=False),
    )
    server = PythonServer(device)
    with closing(server), Session(file, Limits(), server) as session:
        time.sleep(0.5)  # the import has failed before the worker is told to load
        found = explain(session.load(), file, Limits(), Phase.LOADING)
    assert found.verdict is Verdict.NOT_MEASURED, found
    broken = "No module named 'grader.worker.broken_worker'"
    assert found.message == (
        f"Numba cannot be imported on this machine: ModuleNotFoundError: {broken}"
    )
    assert "grade doctor" in found.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            RIGHT.replace("def silu(input, output, n)", "def silu(input, n)"),
            "has a wrong parameter",
        ),
        (RIGHT.replace("def silu(", "@cuda.jit\ndef silu("), "`silu` is a @cuda.jit kernel; it mu"),
        (RIGHT.replace("def silu(", "def swish("), "defines no function `silu`"),
        (RIGHT.replace("import math", "import math ="), f"{FILE}:2: syntax error"),
        ("x = torch.utils.cpp_extension.load_inline()\n", "but it is graded as Numba"),
    ],
)
def test_the_file_is_checked_before_it_runs(
    silu: Assignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setattr(type(support_of(NUMBA)), "missing", lambda self: "")
    found = built(silu, text, tmp_path)
    assert isinstance(found, Rejected)
    assert found.verdict is Verdict.COMPILE_ERROR
    assert message in found.message


def test_device_functions_and_modules_in_kernels_are_known(
    silu: Assignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triton's inspection warns of such calls."""
    monkeypatch.setattr(type(support_of(NUMBA)), "missing", lambda self: "")
    found = built(silu, RIGHT, tmp_path)
    assert isinstance(found, Built)
    assert (found.language, found.flags, found.evidence.diagnostics) == (NUMBA, (), ())


# ---- host code: what it does in place of the launch · verdict · a part of the message ----

HOST = {
    "temporary": (
        "    other = cuda.device_array_like(input)\n"
        "    other.copy_to_device(input)\n"
        "    silu_kernel[blocks, threads](other, output, n)\n",
        "accepted",
        "",
    ),
    "forall, views and streams": (
        "    stream = cuda.stream()\n"
        "    half = n // 2\n"
        "    input = cuda.as_cuda_array(input)\n"
        "    silu_kernel[blocks, threads, stream](input[:half], output[:half], half)\n"
        "    silu_kernel.forall(n - half)(input[half:], output[half:], n - half)\n"
        "    stream.synchronize()\n"
        "    cuda.synchronize()\n",
        "accepted",
        "",
    ),
    "host arrays": (
        "    import numpy as np\n"
        "    result = np.zeros(n, dtype=np.float32)\n"
        "    silu_kernel[blocks, threads](input.copy_to_host(), result, n)\n"
        "    assert result.any()\n" + LAUNCH,
        "accepted",
        "",
    ),
    "unwritten temporary": (
        "    other = cuda.device_array(n, dtype=input.dtype)\n"
        "    silu_kernel[blocks, threads](other, output, n)\n",
        "memory_error",
        "reads 33 elements of `input` that nothing has written yet",
    ),
    "a launch without threads": (
        LAUNCH.replace("threads]", "0]"),
        "runtime_error",
        "CUDA_ERROR_INVALID_VALUE",
    ),
    "too much shared memory": (
        LAUNCH.replace("threads]", "threads, 0, 60000]"),
        "runtime_error",
        "more than 48 KiB of shared memory",
    ),
    "the driver": (
        "    cuda.event().record()\n" + LAUNCH,
        "not_measured",
        "silu_numba.py:17: without a GPU the grader has no CUDA driver",
    ),
    "a method that is not here": (
        "    input.split(7)\n" + LAUNCH,
        "not_measured",
        "silu_numba.py:17: without a GPU the grader has no `split` of a device array",
    ),
    "a tuple as an argument": (
        "    silu_kernel[blocks, threads](input, output, (n, 0))\n",
        "compile_error",
        "silu_numba.py:10: No implementation of function",
    ),
    "work on the host": (
        "    x = input.copy_to_host()\n"
        "    output.copy_to_device(x / (1 + 2.718281828459045 ** -x.astype('f8')))\n",
        "forbidden",
        "not by a kernel of yours",
    ),
    "one value from the host": (
        "    output[:] = 0\n" + LAUNCH,
        "accepted",
        "",
    ),
}  # fmt: skip


def cases_of(check: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cases of a check of correctness."""
    evidence = check["evidence"] or {}
    cases: list[Any] = evidence.get("cases", [])
    return [case for case in cases if isinstance(case, dict)]


@pytest.mark.slow
@NEEDS_NUMBA
@pytest.mark.parametrize("name", HOST)
def test_host_code_is_run_without_a_gpu(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host, verdict, phrase = HOST[name]
    checked_silu(tmp_path)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / FILE).write_text(RIGHT.replace(LAUNCH, host), encoding="utf-8")
    graded = Bench(tmp_path, capsys).grade(folder, kernels=("silu",), device="cpu")
    assert graded.verdict == verdict, graded.printed
    said = [check["message"] for check in graded.checks]
    said += [case["message"] for check in graded.checks for case in cases_of(check)]
    assert any(phrase in message for message in said), said


BARE = """\
from numba import cuda

@cuda.jit
def grid_stride(x, y, n, factor):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[i] = factor * x[i]
"""


@pytest.mark.slow
@NEEDS_NUMBA
def test_a_bare_kernel_is_launched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "assignments" / "grid_stride"
    shutil.copytree(REPOSITORY / "assignments" / "grid_stride", folder)
    spec = folder / "assignment.toml"
    text = spec.read_text(encoding="utf-8")
    files = 'files = { cuda = "grid_stride.cu"'
    assert files in text
    changed = text.replace(files, f'{files}, numba = "grid_stride_numba.py"')
    spec.write_text(changed, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "grid_stride_numba.py").write_text(BARE, encoding="utf-8")
    bench = Bench(tmp_path, capsys)
    graded = bench.grade(submission, assignments=("grid_stride",), device="cpu")
    assert (graded.verdict, graded.report["score"]) == ("accepted", 100.0), graded.printed
