"""Why runs under the sanitizer use the worker's own memory: planted faults in both transports.

In the shared transport a kernel's arrays lie inside one mapping that another process made: the
tools know neither their bounds nor which parts are written. A leak shows in both transports,
because it is the submission's own allocation.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import CaseTemplate
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built
from grader.build.kernel_file import build
from grader.checks.common.case_run import RunSetup
from grader.checks.memory import sanitizer_prestart
from grader.checks.memory.on_gpu import run_sanitizer
from grader.checks.memory.verdict import ToolResult
from grader.gpu.nvml import Gpu
from grader.judge.oracle import Oracle
from grader.protocol import cuda_driver
from grader.submission.reader import read_submission
from grader.system import toolchain
from grader.vocabulary import Device, Language

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.xdist_group("gpu"),
    pytest.mark.usefixtures("turn"),
]

HAND_IN = """#include "silu.h"
__global__ void k(const float* input, float* output, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float extra = 0.0f;
    {in_kernel}
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i])) + (extra == 1.25f ? 1e-9f : 0.0f);
}}
extern "C" void silu(const float* input, float* output, int n)
{{
    {on_host}
    k<<<(n + 255) / 256, 256>>>(input, output, n);
}}
"""
# tool · kind · line · text · found in the shared transport?
PLANTED = {
    "read one past the end": (
        ("memcheck", "out_of_bounds", 6),
        {"in_kernel": "if (i == n) extra = input[i];", "on_host": ""},
        False,
    ),
    "uninitialised read": (
        ("initcheck", "uninitialized", 6),
        {"in_kernel": "if (i < n) extra = output[i];", "on_host": ""},
        False,
    ),
    "leak": (
        ("memcheck", "leak", 11),
        {"in_kernel": "", "on_host": "void* lost; cudaMalloc(&lost, n);"},
        True,
    ),
}


@pytest.fixture(scope="module")
def silu() -> Assignment:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    # Two sizes, neither a multiple of the block: a leak must appear more than once.
    cases = tuple(CaseTemplate(sizes={"n": n}, memory=True) for n in (33, 1025))
    return dataclasses.replace(assignment, cases=cases)


@pytest.mark.parametrize("private", [True, False], ids=["private", "shared"])
@pytest.mark.parametrize("name", PLANTED)
def test_the_private_transport_shows_what_the_shared_one_hides(
    first_gpu: Gpu, silu: Assignment, tmp_path: Path, name: str, private: bool
) -> None:
    (tool_name, kind, line), parts, seen_in_shared = PLANTED[name]
    (tmp_path / "silu.cu").write_text(HAND_IN.format(**parts))
    seen = run(first_gpu, silu, tmp_path, tool_name, private=private, scratch=tmp_path / "scratch")
    found = {(finding.kind, finding.line) for finding in seen.findings}
    # memcheck ends a kernel at an access outside of memory, and the call fails.
    ended = private and kind == "out_of_bounds"
    assert (seen.outcome.failure is not None) == ended and not seen.outcome.wrong
    assert ((kind, line) in found) == (private or seen_in_shared), seen


def test_neither_transport_blames_the_reference(
    first_gpu: Gpu, silu: Assignment, tmp_path: Path
) -> None:
    reference = REPOSITORY / "reference"
    for private in (True, False):
        for tool_name in ("memcheck", "initcheck"):
            scratch = tmp_path / f"{tool_name}-{private}"
            seen = run(first_gpu, silu, reference, tool_name, private=private, scratch=scratch)
            assert not seen.findings and seen.run.problem is None, (private, seen)


def run(
    gpu: Gpu,
    assignment: Assignment,
    folder: Path,
    tool_name: str,
    *,
    private: bool,
    scratch: Path,
) -> ToolResult:
    tool = toolchain.find_compute_sanitizer()
    if tool is None:
        pytest.skip("no compute-sanitizer here")
    built = build(
        assignment,
        read_submission(folder, assignment).files["silu.cu"],
        Device.CUDA,
        architecture=gpu.compute_capability,
    )
    assert isinstance(built, Built), built
    torch.cuda.init()  # type: ignore[no-untyped-call] # torch's own
    oracle = Oracle(assignment)
    drawn = assignment.draw_cases(Device.CUDA, Language.CUDA, public_seed=0, secret_seed=0)
    bench = RunSetup(
        assignment=assignment,
        built=built,
        server=None,
        driver=cuda_driver.Driver(),
        private=private,
    )
    cases = [(case, oracle.data(case, Language.CUDA)) for case in drawn]
    limits = sanitizer_prestart.limits_under_tool(bench.assignment.limits)
    return run_sanitizer(bench, tool, tool_name, cases, limits)
