"""What Triton's front end or the rest of its compiler rejects is a compile error, without a GPU."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from ir_kernels import specialized
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build import compile_gate
from grader.build.artifact import Built, Rejected
from grader.build.compile_gate import compile_launches, compiled_launches, gpu_code
from grader.gpu.target import course_target
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
        pytest.param(
            *("    for i in range(3):\n        if i == 1:\n            break", 12, "Break"),
            marks=pytest.mark.slow,
        ),
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


@pytest.mark.slow
def test_the_assembler_says_why(tmp_path: Path) -> None:
    odd = "    x = tl.load(input + offsets, mask, 0.0, cache_modifier='.cg', eviction_policy='{}')"
    report = graded(tmp_path, odd.format("evict_first"))
    build = report.kernels[0].checks[0]
    assert build.verdict is Verdict.COMPILE_ERROR
    assert "for a GPU: ptxas: Modifier '.evict_first' cannot be combined" in build.message
    assert isinstance(build.evidence, BuildEvidence)
    assert build.evidence.diagnostics[0].message.startswith("ptxas: Modifier")
    assert build.evidence.diagnostics[0].line == 10
    assert build.message.startswith("silu.py:10: ")


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


@triton.jit  # type: ignore[untyped-decorator] # as all of triton
def many_registers(x, y, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i[:, None] * BLOCK + i[None, :])
    for _ in range(n):
        a = a * a + tl.sum(a, axis=0)[None, :] - tl.sum(a, axis=1)[:, None]
    tl.store(y + i[:, None] * BLOCK + i[None, :], a)


def built(folder: Path) -> Built:
    return Built(
        language=Language.TRITON,
        device=Device.CPU,
        path=folder / "silu.py",
        file="silu.py",
        entry="silu",
        evidence=BuildEvidence(tool="none", cached=False),
    )


def rejected(folder: Path, text: str, **options: int) -> Rejected:
    launch = {"kernel": "silu_kernel", "text": text, "options": options}
    decided = compile_launches(built(folder), [launch])
    assert isinstance(decided, Rejected), decided
    assert decided.verdict is Verdict.RUNTIME_ERROR
    assert decided.message.startswith("silu.py: the GPU, sm_")
    assert "cannot launch `silu_kernel`" in decided.message
    return decided


def test_what_a_gpu_cannot_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    found = rejected(tmp_path, SUM, num_warps=64)
    assert "2,048 threads in each block (num_warps=64); the limit is 1,024" in found.message
    assert "32" in found.hint
    little = replace(TARGETS[80], shared_kib_per_block=0)
    with monkeypatch.context() as patch:
        patch.setattr(compile_gate, "course_target", lambda: little)
        found = rejected(tmp_path, SUM, num_warps=4)
    assert "bytes of shared memory for each block; the limit is 0" in found.message


@pytest.mark.slow
def test_more_registers_than_a_gpu_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    memory = torch.empty(256 * 256)
    options = {"num_warps": 16, "maxnreg": 255}
    _, text = specialized(many_registers, (memory, memory, 3), {"BLOCK": 256, **options})
    found = rejected(tmp_path, text, **options)
    said = re.search(r"([\d,]+) registers for each block \(512 threads of (\d+)\)", found.message)
    assert said is not None, found.message
    assert int(said[1].replace(",", "")) == 512 * int(said[2]) > 65536
    launch = {"kernel": "k", "text": text, "options": {"num_warps": 16}}
    assert isinstance(compile_launches(built(tmp_path), [launch]), Built)


@pytest.mark.slow
def test_a_grid_that_no_gpu_takes(tmp_path: Path) -> None:
    text = KERNEL.replace("(triton.cdiv(n, 256),)", "(1, 70_000)")
    (kernel,) = graded(tmp_path, "    x = x * 1.0", text).kernels
    assert kernel.verdict is Verdict.RUNTIME_ERROR
    assert "invalid argument" in kernel.checks[1].message
    assert "65535" in kernel.checks[1].hint


@pytest.mark.slow
def test_a_kernel_that_cannot_be_launched_has_no_right_case(tmp_path: Path) -> None:
    wrong = KERNEL.replace("n, BLOCK=256", "n - n // 4099, BLOCK=256, num_warps=64")
    (kernel,) = graded(tmp_path, "    x = x * 1.0", wrong).kernels
    assert kernel.verdict is Verdict.RUNTIME_ERROR
    assert kernel.score == 0
    assert "2,048 threads" in kernel.checks[0].message


@pytest.mark.slow
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
    (folder,) = code.folders
    name = code_name(SUM, {"num_warps": 4})
    assert {file.name for file in folder.glob("*.[tp]*")} == {f"{name}.ttgir", f"{name}.ptx"}
    assert "#ttg.blocked" in (folder / f"{name}.ttgir").read_text()
    monkeypatch.setattr(compile_gate, "run_compiler", lambda *_: pytest.fail("compiled again"))
    assert gpu_code([launch]).folders == (folder,)
    assert compiled_launches([launch], course_target()) == code.launches
    monkeypatch.undo()
    unread = gpu_code([{**launch, "text": "no IR"}])
    assert (unread.folders, unread.verdict) == ((), Verdict.NOT_MEASURED)
    refused = gpu_code([{**launch, "text": SUM.replace("tt.store", "tt.sore")}])
    assert refused.problem.startswith("the compiler for a GPU failed")
    many = [{**launch, "options": {"num_warps": 4, "num_stages": n}} for n in range(13)]
    assert gpu_code(many).problem == "more than 12 different launches are not compiled"


@pytest.mark.slow
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
    launch = {"kernel": "silu_kernel", "text": "no IR", "options": {"num_warps": 4}}
    for _ in range(2):  # the second time it comes from the cache
        accepted = compile_launches(built(tmp_path), [launch])
        assert isinstance(accepted, Built)
        (warning,) = accepted.evidence.diagnostics
        assert warning.message.startswith("kernel `silu_kernel` was not compiled")


def test_a_result_is_found_again_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker runs in a folder of its own, which the locations of the IR name."""
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    built = Built(
        language=Language.TRITON, device=Device.CPU, path=tmp_path / "silu.py", file="silu.py",
        entry="silu", evidence=BuildEvidence(tool="none", cached=False),
    )  # fmt: skip
    compiled: list[str] = []

    def report(chosen: str, *_: object) -> dict[str, Any]:
        compiled.append(chosen)
        made = {"ok": True, "threads": 128, "shared_bytes": 0, "ptxas": ""}
        return {"results": [{"kernel": "k", **made, "error": None, "problem": None}]}

    monkeypatch.setattr(compile_gate, "run_compiler", report)
    for folder in ("one", "two"):
        text = f'#loc = loc("/tmp/{folder}/silu.py":7:0)'
        compile_launches(built, [{"kernel": "k", "text": text, "options": {}}])
    assert len(compiled) == 1 and "silu.py" in compiled[0]


def test_only_what_has_changed_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    compiled: list[list[str]] = []
    made = {"ok": True, "threads": 128, "shared_bytes": 0, "ptxas": ""}

    def report(chosen: str, *_: object) -> dict[str, Any]:
        names = [one["kernel"] for one in json.loads(chosen)]
        compiled.append(names)
        if "crashes" in names:
            return {}
        results = [{"kernel": name, **made, "error": None, "problem": None} for name in names]
        return {"results": results}

    monkeypatch.setattr(compile_gate, "run_compiler", report)

    def tried(*names: str) -> Built | Rejected:
        launches = [{"kernel": name, "text": name, "options": {}} for name in names]
        return compile_launches(built(tmp_path), launches)

    tried("scores", "softmax")
    tried("scores", "softmax", "values")
    assert compiled == [["scores", "softmax"], ["values"]]
    for _ in range(2):  # it may go well the next time
        accepted = tried("scores", "crashes")
        assert isinstance(accepted, Built)
        (warning,) = accepted.evidence.diagnostics
        assert warning.message.startswith("kernel `crashes` was not compiled")
        assert "ended early" in warning.message
    assert compiled[2:] == [["crashes"], ["crashes"]]


def entry(*arguments: str, width: int = 256, body: str = "tt.load") -> str:
    """Return the IR of a kernel, whose arguments are `known` to be divisible by 16 or not."""
    mark = " {tt.divisibility = 16 : i32}"
    words = (f"%a{n}: i32{mark * (one == 'known')}" for n, one in enumerate(arguments))
    return f"tt.func public @k({', '.join(words)}) {{\n{body} %p : tensor<{width}x!tt.ptr<f32>>"


def test_two_launches_stand_for_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triton compiles a kernel anew for every set of arguments that are 1 or divisible by 16."""
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    compiled: list[str] = []
    made = {"ok": True, "threads": 128, "shared_bytes": 0, "ptxas": ""}

    def report(chosen: str, *_: object) -> dict[str, Any]:
        compiled.extend(one["text"] for one in json.loads(chosen))
        return {"results": [{"kernel": "k", **made} for _ in json.loads(chosen)]}

    monkeypatch.setattr(compile_gate, "run_compiler", report)
    least, most = entry("any", "any"), entry("known", "known")
    texts = [entry("any", "known"), least, entry(), most, entry("known", "any")]
    others = [entry("known", "any", width=512), entry("known", "any", body="tt.dot")]
    launches = [{"kernel": "k", "text": text, "options": {}} for text in (*texts, *others)]
    hidden = [
        {"kernel": "k", "text": entry(*words), "options": {}, "hidden": True}
        for words in (["any", "known", "any"], ["known"] * 3)
    ]
    compile_launches(built(tmp_path), [*launches, *hidden])
    assert compiled == [least, most, *others, hidden[1]["text"]]


@pytest.mark.parametrize("result", [{"problem": "k_1500"}, {"error": {"message": "k_1500"}}])
def test_what_a_hidden_case_alone_launched_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: dict[str, Any]
) -> None:
    """A submission can name a kernel after the size that it gets."""
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    made = {"ok": True, "threads": 128, "shared_bytes": 0, "ptxas": ""}
    failed = {"ok": False, "error": None, "problem": None, **result}

    def report(chosen: str, *_: object) -> dict[str, Any]:
        names = [one["kernel"] for one in json.loads(chosen)]
        return {"results": [{"kernel": n, **(made if n == "k" else failed)} for n in names]}

    monkeypatch.setattr(compile_gate, "run_compiler", report)
    seen: list[dict[str, Any]] = [
        {"kernel": "k", "text": "k", "options": {}, "hidden": hidden} for hidden in (0, 1)
    ]
    unseen: list[dict[str, Any]] = [
        {"kernel": name, "text": name, "options": {}, "hidden": True} for name in ("k_1500", "k_15")
    ]
    assert compile_launches(built(tmp_path), seen) == built(tmp_path)
    decided = compile_launches(built(tmp_path), [*seen, *unseen])
    (told,) = decided.evidence.diagnostics
    assert "hidden case" in told.message
    assert "15" not in f"{decided}".replace(str(tmp_path), "")
    assert isinstance(decided, Rejected) == ("error" in result)


@pytest.mark.slow
def test_an_infinite_constant_is_compiled_too(tmp_path: Path) -> None:
    text = KERNEL.replace("BLOCK=256", "BLOCK=256, LEAST=float('-inf')")
    text = text.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, LEAST: tl.constexpr")
    report = graded(tmp_path, "    x = tl.maximum(x, LEAST)", text)
    assert report.verdict is Verdict.ACCEPTED, report
    assert warnings(report) == []


@pytest.mark.slow
def test_what_compiles_is_accepted(tmp_path: Path) -> None:
    report = graded(tmp_path, "    x = x * 1.0")
    assert report.verdict is Verdict.ACCEPTED, report
    assert warnings(report) == []


def test_a_pass_that_fails_without_a_reason_is_put_into_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    problem = "RuntimeError: PassManager::run failed"
    failed = {"kernel": "k", "ok": False, "error": None, "problem": problem}
    monkeypatch.setattr(compile_gate, "run_compiler", lambda *_: {"results": [failed]})
    compiled = compile_launches(built(tmp_path), [{"kernel": "k", "text": "", "options": {}}])
    assert isinstance(compiled, Built)
    (warning,) = compiled.evidence.diagnostics
    assert warning.message.endswith("failed without a reason; try other block sizes")
