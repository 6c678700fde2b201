"""The sizes in which the shipped assignments count accesses: drawn anew, and fair at every draw."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.cases import CaseTemplate, Range
from grader.assignment.model import Assignment, Kernel
from grader.assignment.reader import read_assignment
from grader.build.artifact import Checked
from grader.build.kernel_file import build_checked
from grader.checks.common.case_run import RunSetup
from grader.checks.counters.count import CounterScoring, check_host_counters, counting_case
from grader.judge.oracle import Oracle
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.system import toolchain
from grader.vocabulary import CheckName, Device, Language

LADDERS = {
    name: read_assignment(REPOSITORY / "assignments" / name) for name in ("transpose", "gemm")
}
COUNTED = [
    (name, kernel)
    for name, assignment in LADDERS.items()
    for kernel in assignment.kernels
    if CheckName.COUNTERS in kernel.points
]


def files_to_accept() -> list[tuple[str, Kernel, Path]]:
    """Return the references in CUDA C++ and the samples that keep every bound."""
    found = []
    for name, kernel in COUNTED:
        folder = REPOSITORY / "reference" / name
        file = kernel.files[Language.CUDA]
        samples = sorted((folder / "samples" / "accepted").glob(f"*/{file}"))
        found += [(name, kernel, path) for path in (folder / file, *samples)]
    return found


@pytest.mark.parametrize(("name", "kernel"), COUNTED, ids=lambda one: getattr(one, "name", one))
def test_the_counted_size_is_another_one_in_every_run(name: str, kernel: Kernel) -> None:
    drawn = {
        tuple(
            counting_case(
                LADDERS[name], kernel, Language.CUDA, 0, random.Random(seed)
            ).sizes.items()
        )
        for seed in range(40)
    }
    assert len(drawn) > 10


def extremes(kernel: Kernel) -> list[CaseTemplate]:
    """Return the smallest, the largest and one other size that can be drawn."""
    assert kernel.counters is not None
    sizes = kernel.counters.sizes
    ends = [
        {
            key: getattr(size, end) if isinstance(size, Range) else size
            for key, size in sizes.items()
        }
        for end in ("min", "max")
    ]
    return [*(CaseTemplate(sizes=one) for one in ends), CaseTemplate(sizes=sizes)]


def verdicts(assignment: Assignment, kernel: Kernel, file: Path, folder: Path) -> list[Verdict]:
    """Count in CUDA C++ at the extremes of the sizes."""
    shutil.copyfile(file, folder / file.name)
    checked = build_checked(assignment, read_submission(folder, assignment).files[file.name])
    assert isinstance(checked, Checked)
    setup = RunSetup(
        assignment=assignment, built=checked.built, server=None, driver=None, private=False
    )
    scoring = CounterScoring.of(kernel, Language.CUDA, Device.CPU)
    oracle, rng = Oracle(assignment), random.Random(25)
    cases = [template.draw(rng.getrandbits(62)) for template in extremes(kernel)]
    return [
        check_host_counters(
            setup, checked.text, (case, oracle.data(case, Language.CUDA)), scoring
        ).diagnosis.verdict
        for case in cases
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kernel", "file"),
    [
        pytest.param(*one, id=f"{one[0]}-{one[2].parent.name}-{one[2].stem}")
        for one in files_to_accept()
    ],
)
def test_a_good_kernel_keeps_its_bounds_in_every_size(
    name: str, kernel: Kernel, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)
    assert set(verdicts(LADDERS[name], kernel, file, tmp_path)) == {Verdict.ACCEPTED}


@pytest.mark.slow
def test_a_kernel_that_knows_one_size_breaks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)
    samples = REPOSITORY / "reference" / "transpose" / "samples" / "too_slow"
    file = samples / "tile-for-one-size" / "v3_shared_tile.cu"
    (kernel,) = (one for one in LADDERS["transpose"].kernels if one.name == file.stem)
    assert set(verdicts(LADDERS["transpose"], kernel, file, tmp_path)) == {Verdict.TOO_SLOW}
    assert kernel.counters is not None
    known = replace(kernel.counters, sizes={"rows": 256, "cols": 328})
    knows = verdicts(LADDERS["transpose"], replace(kernel, counters=known), file, tmp_path)
    assert set(knows) == {Verdict.ACCEPTED}
