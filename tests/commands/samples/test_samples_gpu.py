"""The samples on a real GPU: compute-sanitizer finds the planted faults, with kind and line.

Runs only the memory check; `grade verify --device cuda` runs all checks of all samples.
"""

from __future__ import annotations

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.commands.verify.plan import plan
from grader.commands.verify.row import State
from grader.commands.verify.samples import Sample, find_samples
from grader.gpu.nvml import Gpu
from grader.grading.plan import Options
from grader.pool.state import WorkerState
from grader.vocabulary import CheckName

pytestmark = pytest.mark.gpu


def about_memory(sample: Sample) -> bool:
    """True unless another check gives the verdict."""
    expected = sample.expectation()
    check = expected.check if expected else None
    return sample.verdict in ("memory_error", "accepted") and check in (None, "memory")


SAMPLES = [
    pytest.param(sample, id=f"{sample.assignment}/{sample.title}")
    for sample in find_samples(REPOSITORY / "reference")
    if about_memory(sample)
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_gpus_tools_see_what_the_sample_says(
    first_gpu: Gpu, state: WorkerState, sample: Sample
) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / sample.assignment)
    options = Options(gpu=first_gpu, checks=frozenset({CheckName.MEMORY}))
    _, tasks = plan(assignment, REPOSITORY, options, samples=(sample.title,))
    for task in tasks:
        for row in task.do(state):
            message = f"expected {row.expected}; got {row.actual} ({row.note})"
            assert row.state in (State.AGREES, State.ELSEWHERE), message
