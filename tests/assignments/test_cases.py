"""Without a GPU, Triton gets the cases of CUDA C++."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.catalogue import ASSIGNMENTS, find_assignments
from grader.assignment.reader import read_assignment
from grader.vocabulary import Device, Language


@pytest.mark.parametrize(
    "folder", find_assignments(REPOSITORY / ASSIGNMENTS), ids=lambda folder: folder.name
)
def test_triton_on_a_cpu_has_the_cases_of_cuda(folder: Path) -> None:
    assignment = read_assignment(folder)
    if not any(Language.TRITON in kernel.files for kernel in assignment.kernels):
        pytest.skip("CUDA C++ only")
    cuda, triton = (
        assignment.draw_cases(Device.CPU, language, public_seed=0, secret_seed=1)
        for language in (Language.CUDA, Language.TRITON)
    )
    assert triton == cuda
