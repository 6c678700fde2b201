"""Several files are checked side by side; the report is that of one after another."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from grading_bench import small_silu
from paths import REPOSITORY

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.checks import registry
from grader.checks.check import Check, CheckContext, CheckOutcome, Cost
from grader.checks.common.diagnosis import Diagnosis
from grader.gpu.lock import exclusive_use
from grader.gpu.nvml import Clocks, Gpu
from grader.grading.context import open_context
from grader.grading.pipeline import files_at_once, grade
from grader.grading.plan import Options, make_plan
from grader.grading.progress import Progress
from grader.report.evidence import Evidence
from grader.report.model import KernelResult, Report
from grader.report.verdict import Verdict
from grader.submission.reader import Submission, read_submission
from grader.system.cores import usable_cores
from grader.vocabulary import CheckName, Language

NAME = "toy"
HANGS_S = 60.0


class Toy(Check[Evidence]):
    """A check whose outcome a test decides, by file and number of the call for it."""

    cost = Cost.TOOLS
    needs_correct = False

    def __init__(self) -> None:
        type(self).name = CheckName.add(NAME)
        self.calls: list[str] = []
        self.together: threading.Barrier | None = None
        self.verdicts: dict[str, Sequence[Verdict | Exception]] = {}

    def applies(self, context: CheckContext) -> bool:
        return not context.file.is_program

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[Evidence]]:
        file = context.file.source.path
        number = self.calls.count(file)
        self.calls.append(file)
        if self.together is not None and number == 0:
            self.together.wait()
        decided = [*self.verdicts.get(file, ()), Verdict.ACCEPTED][number]
        if isinstance(decided, Exception):
            raise decided
        return [CheckOutcome(diagnosis=Diagnosis(decided, f"call {number}"))]


@pytest.fixture
def toy() -> Iterator[Toy]:
    check = Toy()
    registry.register(check)
    yield check
    registry.unregister(check)


@pytest.fixture
def silu(tmp_path: Path, toy: Toy) -> Assignment:
    spec = small_silu(tmp_path) / "assignment.toml"
    text = spec.read_text(encoding="utf-8")
    text = text.replace("{ correctness = 100 }", f"{{ correctness = 90, {NAME} = 10 }}", 1)
    spec.write_text(text, encoding="utf-8")
    return read_assignment(spec.parent)


def graded(assignment: Assignment, tmp_path: Path, **settings: Any) -> Report:
    folder = tmp_path / "submission"
    folder.mkdir(exist_ok=True)
    (folder / "silu.cu").write_text('extern "C" void silu(const float*, float*, int) {}\n')
    (folder / "silu.py").write_text("def silu(input, output, n):\n    pass\n")
    options = Options(kernels=frozenset({"silu"}), checks=frozenset({CheckName(NAME)}))
    return grade(assignment, read_submission(folder, assignment), options, Progress(), **settings)


def lines(
    report: Report,
) -> list[tuple[Language | None, list[tuple[str, Verdict, str, float | None]]]]:
    def of(kernel: KernelResult) -> list[tuple[str, Verdict, str, float | None]]:
        return [(c.check, c.verdict, c.message, c.score) for c in kernel.checks]

    return [(kernel.language, of(kernel)) for kernel in report.kernels]


@pytest.mark.usefixtures("no_nvcc")
def test_files_that_are_checked_side_by_side_have_the_report_of_one_after_another(
    silu: Assignment, toy: Toy, tmp_path: Path
) -> None:
    alone = graded(silu, tmp_path, cores=1)
    assert toy.calls == ["silu.py", "silu.cu"]
    toy.calls.clear()
    toy.together = threading.Barrier(2, timeout=HANGS_S)
    partial: list[Report] = []
    together = graded(silu, tmp_path, cores=2, on_report=partial.append)
    assert sorted(toy.calls) == ["silu.cu", "silu.py"]
    assert lines(together) == lines(alone)
    names = [language for language, _ in lines(alone)]
    assert all([language for language, _ in lines(report)] == names for report in partial)
    assert lines(partial[-1]) == lines(alone)


@pytest.mark.usefixtures("no_nvcc")
def test_an_error_of_the_grader_in_a_thread_is_that_files_alone(
    silu: Assignment, toy: Toy, tmp_path: Path
) -> None:
    toy.verdicts["silu.cu"] = [ValueError("secret")]
    toy.together = threading.Barrier(2, timeout=HANGS_S)
    report = graded(silu, tmp_path, cores=2)
    verdicts = {kernel.language: kernel.checks[-1].verdict for kernel in report.kernels}
    assert verdicts == {Language.CUDA: Verdict.GRADER_ERROR, Language.TRITON: Verdict.ACCEPTED}
    assert "secret" not in str(lines(report))


A_GPU = Gpu(
    index=0,
    uuid="GPU-of-a-test",
    name="NVIDIA A100",
    compute_capability=(8, 0),
    memory_total_mib=81920,
    memory_free_mib=80000,
    compute_mode=None,
    clocks=Clocks(sm_mhz=None, memory_mhz=None),
)


def test_files_are_checked_again_alone_if_one_may_have_held_the_gpus_memory(toy: Toy) -> None:
    transpose = read_assignment(REPOSITORY / "assignments" / "transpose")
    submission = read_submission(REPOSITORY / "reference" / "transpose", transpose)
    options = Options(
        gpu=A_GPU, languages=frozenset({Language.TRITON}), checks=frozenset({CheckName(NAME)})
    )
    held, victim = "v1_row_wise.py", "v2_coalesced.py"
    toy.verdicts = {
        held: [Verdict.MEMORY_LIMIT, Verdict.MEMORY_LIMIT],
        victim: [Verdict.WRONG_ANSWER],
    }
    report = grade(transpose, submission, options, Progress(), cores=16)
    verdicts = {kernel.file: kernel.checks[-1].verdict for kernel in report.kernels}
    assert verdicts[held] is Verdict.MEMORY_LIMIT
    assert verdicts[victim] is Verdict.ACCEPTED
    assert toy.calls[-2:] == [held, victim]
    assert {file for file in toy.calls if toy.calls.count(file) == 2} == {held, victim}


@pytest.mark.usefixtures("toy")
def test_whoever_opens_a_context_shares_the_gpu(silu: Assignment, tmp_path: Path) -> None:
    """`grade profile` and `calibrate` timed beside other gradings: only `grade` had the lock."""
    options = Options(gpu=A_GPU, checks=frozenset({CheckName(NAME)}))
    plan = make_plan(silu, Submission(source=tmp_path, files={}), options)
    with open_context(silu, options, plan), exclusive_use(A_GPU.uuid):
        pass
    with pytest.raises(KeyError), exclusive_use(A_GPU.uuid):
        pass


@pytest.mark.parametrize(
    ("free_mib", "cores", "files"),
    [(80000, 16, 8), (80000, 64, 9), (15000, 16, 1), (23000, 16, 2), (80000, 3, 1)],
)
def test_memory_and_cores_limit_the_files_that_share_a_gpu(
    free_mib: int, cores: int, files: int
) -> None:
    assert files_at_once(replace(A_GPU, memory_free_mib=free_mib), cores) == files


def test_a_container_counts_the_cores_of_its_quota(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    assert usable_cores(quota) == len(os.sched_getaffinity(0))
    for text, cores in (("max 100000", len(os.sched_getaffinity(0))), ("50000 100000", 1)):
        quota.write_text(f"{text}\n")
        assert usable_cores(quota) == cores
