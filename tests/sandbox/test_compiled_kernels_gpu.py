"""On a GPU only the first worker of a Triton submission compiles."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import CaseTemplate
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built
from grader.build.python_source import build_python
from grader.checks.common.case_run import RunSetup
from grader.checks.correctness.judging import check_correctness
from grader.gpu.nvml import Gpu
from grader.judge.oracle import Oracle
from grader.judge.python_server import PythonServer
from grader.protocol import cuda_driver
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.system import process_tree
from grader.vocabulary import Device, Language, Visibility

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.xdist_group("gpu"),
    pytest.mark.usefixtures("turn"),
]

HAND_IN = """\
import triton
import triton.language as tl


def told(**words):
    print("found" if words["cache_hit"] else "compiled", flush=True)


triton.knobs.compilation.listener = told


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n)
    tl.store(y + offsets, value / (1 + tl.exp(-value)), mask=offsets < n)


def silu(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PythonServer]:
    process_tree.become_subreaper()
    made = PythonServer(Device.CUDA)
    made.ready()
    yield made
    made.close()


class Course:
    """One submission, built once, and its checks."""

    def __init__(self, server: PythonServer, folder: Path) -> None:
        assignment = read_assignment(REPOSITORY / "assignments" / "silu")
        cases = tuple(
            # Neither size is a multiple of 16, for which Triton compiles another kernel.
            CaseTemplate(sizes={"n": n}, memory=n == 1025, visibility=visibility)
            for n, visibility in ((1025, Visibility.VISIBLE), (777, Visibility.HIDDEN))
        )
        self.assignment = dataclasses.replace(assignment, cases=cases)
        (folder / "silu.py").write_text(HAND_IN)
        scratch = folder / "scratch"
        scratch.mkdir()
        submission = read_submission(folder, assignment)
        built = build_python(
            assignment.signature, submission.files["silu.py"], Device.CUDA, scratch
        )
        assert isinstance(built, Built), built
        torch.cuda.init()  # type: ignore[no-untyped-call] # torch's own
        self.built = built
        self._server = server
        oracle = Oracle(self.assignment)
        drawn = self.assignment.draw_cases(
            Device.CUDA, Language.TRITON, public_seed=0, secret_seed=0
        )
        self._cases = [(case, oracle.data(case, Language.TRITON)) for case in drawn]

    def _bench(self) -> RunSetup:
        return RunSetup(
            assignment=self.assignment,
            built=self.built,
            server=self._server,
            driver=cuda_driver.Driver(),
            private=False,
        )

    def correctness(self) -> str:
        """Return the output of the visible cases, if all are right."""
        data = {case.name: found for case, found in self._cases}
        cases = [case for case, _ in self._cases]
        found = check_correctness(
            self._bench(), cases, lambda case: data[case.name], lambda name: None
        )
        assert [case.verdict for case in found.cases] == [Verdict.ACCEPTED] * 2, found
        return found.output


def test_the_second_check_compiles_nothing(
    first_gpu: Gpu, server: PythonServer, tmp_path: Path
) -> None:
    course = Course(server, tmp_path)
    assert course.correctness().split() == ["compiled"]
    kernels = [set(files) for files in course.built.compiled.folders.values()]
    assert any("kernel.cubin" in files for files in kernels)
    # The module that a C compiler makes for Triton.
    assert any(name.endswith(".so") for files in kernels for name in files)
    assert course.correctness().split() == ["found"]
