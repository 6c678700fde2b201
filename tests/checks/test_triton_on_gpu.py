"""The memory check of Triton on a GPU, with a stand-in for compute-sanitizer.

The stand-in does not start the program that replays; it leaves outputs and findings of its own.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from paths import REPOSITORY
from shared_server import SharedServer

from grader.assignment.cases import CaseTemplate
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built
from grader.build.python_source import build_python
from grader.checks.common import executor_findings
from grader.checks.common.case_run import RunSetup
from grader.checks.common.tool_run import Prepared
from grader.checks.memory import triton_on_gpu
from grader.checks.memory.sanitizer import TOOLS
from grader.checks.memory.triton_on_gpu import check_triton_gpu_memory
from grader.judge.oracle import Oracle
from grader.judge.python_server import PythonServer
from grader.protocol.targets import target_of
from grader.report.evidence import MemoryEvidence
from grader.report.verdict import Verdict
from grader.sandbox import policy
from grader.submission.reader import read_submission
from grader.system import process_tree
from grader.system.toolchain import Tool
from grader.vocabulary import Device, Language

SAMPLES = REPOSITORY / "reference" / "silu" / "samples"
TOOL = """#!{python}
import pathlib, shutil, sys
words = sys.argv[1:]
xml, log, tool = (words[words.index(o) + 1] for o in ("--save", "--log-file", "--tool"))
assert pathlib.Path("kernels.txt").read_text().startswith("0.cubin ")
program, seconds, *saved = words[words.index("./replay"):]
assert saved == (["outputs"] if tool == "memcheck" else [])
def record(line, text="Invalid __global__ read of size 4 bytes"):
    return (f"<record><level>Error</level><what><text>{{text}}</text></what>"
            f"<where><path>/box/silu.py</path><line>{{line}}</line></where></record>")
records = ""
if tool == "memcheck":
    shutil.copy({outputs!r}, "outputs")
{body}
open(xml, "w").write("<ComputeSanitizerOutput>" + records + "</ComputeSanitizerOutput>")
sys.exit(86 if records else 0)
"""
ASM = """import triton
import triton.language as tl

@triton.jit
def silu_kernel(input, output, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(input + i, mask=i < n, other=0.0)
    y = tl.inline_asm_elementwise(
        "bar.warp.sync -1; neg.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(output + i, x / (1.0 + tl.exp(y)), mask=i < n)

def silu(input, output, n):
    silu_kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
"""
RAISES = ASM.replace("    silu_kernel[", "    raise ValueError('no')\n    silu_kernel[")


@pytest.fixture(scope="module")
def silu() -> Assignment:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    cases = tuple(CaseTemplate(sizes={"n": n}, memory=True) for n in (1, 1000))
    return dataclasses.replace(assignment, cases=cases)


@pytest.fixture
def server() -> PythonServer:
    process_tree.become_subreaper()
    return SharedServer(Device.CPU)


Check = Callable[..., tuple[Verdict, str, MemoryEvidence]]


@pytest.fixture
def check(
    silu: Assignment, server: PythonServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Check:
    monkeypatch.setitem(policy._layers, True, policy.Layers(landlock=False))
    oracle = Oracle(silu)
    drawn = silu.draw_cases(Device.CUDA, Language.TRITON, public_seed=0, secret_seed=0)
    cases: list[Prepared] = [(case, oracle.data(case, Language.TRITON)) for case in drawn]

    def checked(
        sample: str, body: str = "", *, tool: bool = True, right: bool = True
    ) -> tuple[Verdict, str, MemoryEvidence]:
        folder = SAMPLES / sample
        if "\n" in sample:
            folder = tmp_path / "submission"
            folder.mkdir()
            (folder / "silu.py").write_text(sample)
        outputs = tmp_path / "expected"
        contents = (data.expected["output"].float().numpy().tobytes() for _, data in cases)
        outputs.write_bytes(b"".join(contents) if right else bytes(4 * 1001))
        program = tmp_path / "compute-sanitizer"
        text = TOOL.format(python=sys.executable, outputs=str(outputs), body=body)
        program.write_text(text)
        program.chmod(0o755)
        source = read_submission(folder, silu).files["silu.py"]
        built = build_python(silu.signature, source, Device.CPU, tmp_path / "scratch")
        assert isinstance(built, Built)
        setup = RunSetup(assignment=silu, built=built, server=server, driver=None, private=False)
        found = Tool(name="compute-sanitizer", path=program, version="2025.3.1") if tool else None
        outcome = check_triton_gpu_memory(setup, found, cases, lambda _: None, target_of(90))
        assert outcome.evidence is not None
        return outcome.diagnosis.verdict, outcome.diagnosis.message, outcome.evidence

    return checked


def problems(evidence: MemoryEvidence) -> dict[str, str]:
    return {run.tool: run.problem for run in evidence.tools if run.problem is not None}


@pytest.mark.slow
def test_a_clean_submission_is_accepted(check: Check) -> None:
    verdict, message, evidence = check("accepted/masked-with-other")
    assert not problems(evidence)
    assert (verdict, message) == (Verdict.ACCEPTED, "no memory errors")
    names = [*(f"compute-sanitizer {name}" for name in TOOLS), executor_findings.TOOL]
    assert [run.tool for run in evidence.tools] == names
    assert not problems(evidence)


def test_a_fault_that_two_tools_see_is_one_finding(check: Check) -> None:
    body = "if tool == 'memcheck': records = record(15)"
    verdict, _, evidence = check("memory_error/missing-mask", body)
    assert verdict is Verdict.MEMORY_ERROR
    by_line = {found.line: found for found in evidence.findings}
    assert by_line[15].tool == f"compute-sanitizer memcheck, {executor_findings.TOOL}"
    assert by_line[15].message.startswith("Invalid __global__ read"), "the tool's own words"
    assert by_line[16].tool == executor_findings.TOOL
    assert len(evidence.findings) == 2


@pytest.mark.slow
def test_what_only_one_side_sees_counts(check: Check) -> None:
    verdict, message, _ = check("memory_error/race-between-programs")
    assert verdict is Verdict.MEMORY_ERROR and "silu.py:" in message
    body = "if tool == 'synccheck': records = record(9, 'Barrier error')"
    verdict, message, _ = check("accepted/masked-with-other", body)
    assert verdict is Verdict.MEMORY_ERROR and "silu.py:9" in message


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("if tool == 'racecheck': sys.exit(3)", "compute-sanitizer racecheck could not run"),
        ("sys.exit(255)", "compute-sanitizer memcheck could not run"),
    ],
)
def test_without_a_tool_the_executors_word_stands(check: Check, body: str, problem: str) -> None:
    verdict, _, evidence = check("accepted/masked-with-other", body)
    assert verdict is Verdict.ACCEPTED
    assert any(why.startswith(problem) for why in problems(evidence).values())


@pytest.mark.slow
def test_without_compute_sanitizer_the_executors_word_stands(check: Check) -> None:
    verdict, _, evidence = check("accepted/masked-with-other", tool=False)
    assert verdict is Verdict.ACCEPTED
    assert len(problems(evidence)) == 4
    assert check("memory_error/missing-mask", tool=False)[0] is Verdict.MEMORY_ERROR


def test_what_the_executor_cannot_run_the_tools_can(check: Check) -> None:
    verdict, _, evidence = check(ASM)
    assert verdict is Verdict.ACCEPTED
    (problem,) = problems(evidence).values()
    assert problem == (
        "the executor cannot run `bar.warp.sync` of tl.inline_asm_elementwise (line 9)"
    )


@pytest.mark.slow
def test_then_all_tools_must_have_run(check: Check) -> None:
    verdict, message, _ = check(ASM, "if tool == 'racecheck': sys.exit(3)")
    assert verdict is Verdict.NOT_MEASURED and "racecheck could not run" in message


def test_then_outputs_must_be_right(check: Check) -> None:
    verdict, message, _ = check(ASM, right=False)
    assert verdict is Verdict.NOT_MEASURED and "the outputs of its run are wrong" in message


def test_a_replay_with_wrong_outputs_has_no_word(check: Check) -> None:
    verdict, _, evidence = check("accepted/masked-with-other", right=False)
    assert verdict is Verdict.ACCEPTED
    assert list(problems(evidence)) == ["compute-sanitizer memcheck"]


@pytest.mark.slow
def test_wrong_outputs_everywhere_are_the_submissions(check: Check) -> None:
    verdict, message, _ = check("wrong_answer/swapped-sign", right=False)
    assert verdict is Verdict.WRONG_ANSWER and "outputs were wrong in this run" in message


@pytest.mark.slow
def test_a_kernel_that_hangs_on_the_gpu_is_over_its_time(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.checks.memory.sanitizer_prestart._CALL_S", 0.5)
    body = "if tool == 'memcheck': import time; time.sleep(60)"
    monkeypatch.setattr("grader.checks.memory.launch_replay._LEAST_S", 0.5)
    monkeypatch.setattr("grader.checks.memory.launch_replay._REPORT_S", 0.1)
    verdict, message, _ = check("accepted/masked-with-other", body)
    assert verdict is Verdict.TIME_LIMIT
    assert "did not end within 1 s under compute-sanitizer memcheck" in message


@pytest.mark.slow
def test_a_tool_that_counts_the_wrong_reads_of_a_proven_fault_is_ended(check: Check) -> None:
    body = "if seconds != '0': sys.exit(0 if tool == 'memcheck' else 14)"
    verdict, _, evidence = check("accepted/masked-with-other", body)
    assert verdict is Verdict.ACCEPTED and not problems(evidence)
    verdict, message, evidence = check("memory_error/missing-mask", body)
    assert verdict is Verdict.MEMORY_ERROR and "silu.py:15" in message
    assert len(problems(evidence)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("fails", [True, False])
def test_host_code_that_fails_without_a_gpu(
    check: Check, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    """It is the submission's fault if it fails on the GPU, too."""
    monkeypatch.setattr(triton_on_gpu, "fails_without_a_tool", lambda *_: fails)
    verdict, message, _ = check(RAISES)
    assert verdict is (Verdict.RUNTIME_ERROR if fails else Verdict.NOT_MEASURED)
    assert "raised ValueError" in message or "host code" in message
