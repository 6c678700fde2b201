"""Pretends a GPU: kernels run on the CPU, and their speed is made up.

Python imports this automatically if this folder is in PYTHONPATH: in a Dask worker
of the tests, and in the process that grades for it. Everything between the scheduler
and the report is real. GRADE_TEST_GPU names a fault.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from sample_reports import performance

from grader.checks.check import CheckOutcome
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.performance.check import PerformanceCheck
from grader.errors import GraderError
from grader.gpu.nvml import Gpu
from grader.grading import identity, selection
from grader.grading.context import GradingContext
from grader.report.evidence import PerformanceEvidence
from grader.report.verdict import Verdict

WRONG = os.environ.get("GRADE_TEST_GPU", "")
_environment = GradingContext.environment


def _chosen_device(requested: str) -> Gpu | None:
    assert requested == "cuda"
    if WRONG == "driver":
        raise GraderError("the driver does not answer")
    if WRONG == "lost":
        os.kill(os.getppid(), 9)  # the Dask worker, and this process with it
        time.sleep(60)
    if WRONG == "late":
        time.sleep(600)
    if WRONG.startswith("late once, ") and not (met := Path(WRONG.partition(", ")[2])).exists():
        met.touch()
        time.sleep(600)
    return None


def _run(self: object, context: object) -> list[CheckOutcome[PerformanceEvidence]]:
    if WRONG == "oracle":
        raise GraderError("the baseline failed")
    if WRONG == "busy":
        busy = Diagnosis(verdict=Verdict.NOT_MEASURED, message="something else uses the GPU")
        return [CheckOutcome(diagnosis=busy, share=0.0)]
    evidence = performance().evidence
    assert isinstance(evidence, PerformanceEvidence)
    sentence = Diagnosis(verdict=Verdict.ACCEPTED, message="1.1 times as fast as torch")
    return [CheckOutcome(diagnosis=sentence, evidence=evidence, share=1.0)]


def _described(self: GradingContext) -> dict[str, str | int | float | None]:
    found = {**_environment(self), "device": "cuda", "gpu": "Pretended GPU"}
    return {**found, "sandbox": "none"} if WRONG == "sandbox" else found


# Before `batch` imports it.
selection.chosen_device = _chosen_device
PerformanceCheck.run = _run  # type: ignore[method-assign]
GradingContext.environment = _described  # type: ignore[method-assign]
if WRONG == "spec":
    identity.spec_hash = lambda assignment: "another"
