"""The registers of kernels, from ptxas's output to the settings of the emulation."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build.launch_limits import least_registers, own_name
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.evidence import CorrectnessEvidence
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.system import toolchain
from grader.vocabulary import CheckName, Language

OUTPUT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN2ns4tileIfLi8EEEvPT_' for 'sm_80'
ptxas info    : Function properties for _ZN2ns4tileIfLi8EEEvPT_
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 113 registers, used 1 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function '_ZN2ns4tileIfLi4EEEvPT_' for 'sm_80'
ptxas info    : Function properties for _ZN2ns4tileIfLi4EEEvPT_
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 70 registers, used 0 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'plain' for 'sm_80'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 256 bytes smem, 360 bytes cmem[0]
"""


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("plain", "plain"),
        ("_Z4tilePKfPfi", "tile"),
        ("_ZL4tilePf", "tile"),
        ("_Z4tile6Matrix", "tile"),
        ("_ZN2ns4tileIfLi8EEEvPT_", "tile"),
        ("_ZN35_GLOBAL__N__1526a102_9_b_regs_cu_cc4anonEPf", "anon"),
    ],
)
def test_a_symbol_gives_the_name_that_a_launch_has(symbol: str, name: str) -> None:
    assert own_name(symbol) == name


def test_of_a_templates_instances_the_least_registers_count() -> None:
    # In steps of 8, as registers are allocated.
    assert least_registers(OUTPUT) == {"tile": 72, "plain": 8}


@pytest.mark.slow
@pytest.mark.skipif(toolchain.find_nvcc() is None, reason="nvcc is not installed")
@pytest.mark.parametrize("attribute", ["", "__launch_bounds__(BLOCK) "])
def test_a_block_with_too_many_registers_is_refused_at_the_launch(
    attribute: str, tmp_path: Path
) -> None:
    sample = REPOSITORY / "reference/silu/samples/runtime_error/too-many-registers/silu.cu"
    text = sample.read_text().replace("__global__ void ", f"__global__ void {attribute}")
    (tmp_path / "silu.cu").write_text(text)
    line = text.splitlines().index(next(row for row in text.splitlines() if "<<<" in row)) + 1
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    checks = frozenset({CheckName.CORRECTNESS})
    options = Options(languages=frozenset({Language.CUDA}), checks=checks)
    report = grade(assignment, read_submission(tmp_path, assignment), options, Progress())
    check = next(c for k in report.kernels for c in k.checks if c.check is CheckName.CORRECTNESS)
    if attribute:  # nvcc keeps within the bound
        assert check.verdict is Verdict.ACCEPTED
        return
    assert check.verdict is Verdict.RUNTIME_ERROR
    assert isinstance(check.evidence, CorrectnessEvidence)
    message = check.evidence.cases[0].message
    assert "registers for each block (1,024 threads of " in message
    assert message.endswith(f"the limit is 65,536 (silu.cu:{line})")
