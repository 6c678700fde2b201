"""What Triton's front end or the rest of its compiler rejects is a compile error, without a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build.artifact import Built
from grader.build.compile_gate import compile_launches, gpu_code
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.protocol.launches import code_name
from grader.protocol.targets import TARGETS
from grader.report.evidence import BuildEvidence
from grader.report.model import Report
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Device, Language
from grader.worker import triton_compile

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(input + offsets, mask=mask, other=0.0)
{odd}
    tl.store(output + offsets, x / (1.0 + tl.exp(-x)), mask=mask)


print("{{not the compiler's answer")


def silu(input, output, n):
    silu_kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
"""


def graded(folder: Path, odd: str, text: str = KERNEL) -> Report:
    (folder / "silu.py").write_text(text.format(odd=odd))
    return graded_file(folder)


def graded_file(folder: Path) -> Report:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    options = Options(checks=frozenset({CheckName.CORRECTNESS}))
    return grade(assignment, read_submission(folder, assignment), options, Progress())


def warnings(report: Report) -> list[str]:
    evidence = report.kernels[0].checks[0].evidence
    assert isinstance(evidence, BuildEvidence)
    assert {found.severity for found in evidence.diagnostics} <= {"warning"}
    return [found.message for found in evidence.diagnostics]


@pytest.mark.parametrize(
    ("odd", "line", "phrase"),
    [
        ("    for i in range(3):\n        if i == 1:\n            break", 12, "Break"),
        ("    y = 0\n    for i in range(3):\n        y = y + x", 11, "type"),
    ],
)
def test_it_is_a_compile_error_at_its_line(
    tmp_path: Path, odd: str, line: int, phrase: str
) -> None:
    report = graded(tmp_path, odd)
    (kernel,) = report.kernels
    assert kernel.verdict is Verdict.COMPILE_ERROR
    assert kernel.score == 0
    assert f"silu.py:{line}: " in kernel.checks[1].message
    assert phrase in kernel.checks[1].message


def test_the_assembler_says_why(tmp_path: Path) -> None:
    odd = "    x = tl.load(input + offsets, mask, 0.0, cache_modifier='.cg', eviction_policy='{}')"
    report = graded(tmp_path, odd.format("evict_first"))
    build = report.kernels[0].checks[0]
    assert build.verdict is Verdict.COMPILE_ERROR
    assert "for a GPU: ptxas: Modifier '.evict_first' cannot be combined" in build.message
    assert isinstance(build.evidence, BuildEvidence)
    assert build.evidence.diagnostics[0].message.startswith("ptxas: Modifier")


A100 = TARGETS[80]
SUM = """
module {
  tt.func public @total(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) attributes {noinline = false} {
    %0 = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %1 = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %2 = tt.addptr %1, %0 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %3 = tt.load %2 : tensor<1024x!tt.ptr<f32>>
    %4 = "tt.reduce"(%3) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %5 = arith.addf %a, %b : f32
      tt.reduce.return %5 : f32
    }) : (tensor<1024xf32>) -> f32
    tt.store %y, %4 : !tt.ptr<f32>
    tt.return
  }
}
"""


def test_more_shared_memory_than_a_gpu_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    launch = {"kernel": "total", "text": SUM, "options": {"num_warps": 4}}
    (fits,) = triton_compile.compile_all([launch], A100)["results"]
    assert fits["ok"] and fits["shared_bytes"] > 0
    small = replace(A100, shared_kib_per_block=0)
    (result,) = triton_compile.compile_all([launch], small)["results"]
    assert not result["ok"]
    assert result["error"]["type"] == "OutOfResources"
    assert f"{fits['shared_bytes']:,} bytes of shared memory" in result["error"]["message"]


def test_what_the_course_has_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = "    x = x.to(tl.float8e4nv).to(tl.float32)\n    x = tl.load(input + offsets, mask, 0.0)"
    report = graded(tmp_path, odd)
    assert "fp8e4nv not supported in this architecture" in report.kernels[0].checks[1].message
    assert report.environment["target"] == "sm_80"
    monkeypatch.setenv("GRADE_TARGET", "sm_90")
    report = graded(tmp_path, odd)
    assert report.verdict is Verdict.ACCEPTED, report
    assert report.environment["target"] == "sm_90"


def test_the_code_of_launches_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    launch = {"kernel": "total", "text": SUM, "options": {"num_warps": 4}}
    code = gpu_code([launch, launch])
    assert code.folder is not None and code.problem == ""
    name = code_name(SUM, {"num_warps": 4})
    assert {file.name for file in code.folder.iterdir()} == {f"{name}.ttgir", f"{name}.ptx"}
    assert "#ttg.blocked" in (code.folder / f"{name}.ttgir").read_text()
    assert gpu_code([launch]).folder == code.folder, "it comes from the cache"
    unread = gpu_code([{**launch, "text": "no IR"}])
    assert (unread.folder, unread.verdict) == (None, Verdict.NOT_MEASURED)
    refused = gpu_code([{**launch, "text": SUM.replace("tt.store", "tt.sore")}])
    assert refused.problem.startswith("the compiler for a GPU failed")
    many = [{**launch, "options": {"num_warps": 4, "num_stages": n}} for n in range(13)]
    assert gpu_code(many).problem == "more than 12 different launches are not compiled"


def test_an_argument_that_triton_does_not_take_is_a_runtime_error(tmp_path: Path) -> None:
    text = KERNEL.format(odd="").replace("n, BLOCK: tl", "n, unused, BLOCK: tl")
    (tmp_path / "silu.py").write_text(text.replace("n, BLOCK=256", "n, object(), BLOCK=256"))
    (kernel,) = graded_file(tmp_path).kernels
    assert kernel.verdict is Verdict.RUNTIME_ERROR
    assert "object" in kernel.checks[1].message


def test_what_the_compiler_does_not_read_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    built = Built(
        language=Language.TRITON,
        device=Device.CPU,
        path=tmp_path / "silu.py",
        file="silu.py",
        entry="silu",
        evidence=BuildEvidence(tool="none", cached=False),
    )
    launch = {"kernel": "silu_kernel", "text": "no IR", "options": {"num_warps": 4}}
    for _ in range(2):  # the second time it comes from the cache
        accepted = compile_launches(built, [launch])
        assert isinstance(accepted, Built)
        (warning,) = accepted.evidence.diagnostics
        assert warning.message.startswith("kernel `silu_kernel` was not compiled")


def test_an_infinite_constant_is_compiled_too(tmp_path: Path) -> None:
    text = KERNEL.replace("BLOCK=256", "BLOCK=256, LEAST=float('-inf')")
    text = text.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, LEAST: tl.constexpr")
    report = graded(tmp_path, "    x = tl.maximum(x, LEAST)", text)
    assert report.verdict is Verdict.ACCEPTED, report
    assert warnings(report) == []


def test_what_compiles_is_accepted(tmp_path: Path) -> None:
    report = graded(tmp_path, "    x = x * 1.0")
    assert report.verdict is Verdict.ACCEPTED, report
    assert warnings(report) == []
