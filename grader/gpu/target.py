"""The course's GPU: what kernels are compiled for on a machine without one.

`GRADE_TARGET` names it, else `course.toml`, else it is "sm_80". Triton compiles launches for it,
and so does the compile gate; nvcc tests for it whether it accepts CUDA C++; `grade
profile` shows registers for it. Where a GPU grades, that GPU counts instead.
"""

from __future__ import annotations

import os

from grader.errors import UsageError
from grader.protocol.targets import TARGETS, Target
from grader.text.did_you_mean import did_you_mean

TARGET_VARIABLE = "GRADE_TARGET"
DEFAULT = TARGETS[80]  # the least of course machines; every supported nvcc knows it


def use_target(word: str) -> None:
    """Make the GPU or architecture `word` the course's, unless the variable names another.

    It is passed on in the environment, because workers and compilers are other processes.
    """
    names = {name: target.name for target in TARGETS.values() for name in (target.gpu, target.name)}
    if word and not os.environ.get(TARGET_VARIABLE, "").strip():
        os.environ[TARGET_VARIABLE] = names[word]


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
