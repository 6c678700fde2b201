"""The course's GPU: what kernels are compiled for on a machine without one.

`GRADE_TARGET` names it ("sm_80", the default). Triton's compiler gets it as the GPU of a launch,
and so does the compile gate; nvcc tests for it whether it accepts CUDA C++; `grade profile` shows
registers for it. Where a GPU grades, that GPU counts instead.
"""

from __future__ import annotations

import os

from grader.errors import UsageError
from grader.protocol.targets import TARGETS, Target
from grader.text.did_you_mean import did_you_mean

TARGET_VARIABLE = "GRADE_TARGET"
DEFAULT = TARGETS[80]  # the least of course machines; every supported nvcc knows it


def course_target() -> Target:
    """Return the course's GPU. Raises UsageError if the variable names no known one."""
    value = os.environ.get(TARGET_VARIABLE, "").strip()
    if not value:
        return DEFAULT
    known = {target.name: target for target in TARGETS.values()}
    if value not in known:
        raise UsageError(
            f"{TARGET_VARIABLE}={value[:40]!r} is not a known GPU{did_you_mean(value, known)}",
            tip="use one of "
            + ", ".join(f"{name} ({target.gpu})" for name, target in known.items()),
        )
    return known[value]
