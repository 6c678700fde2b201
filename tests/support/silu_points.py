"""SiLU's points by what they require, from its spec: a CPU measures no speed."""

from __future__ import annotations

from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.vocabulary import CheckName

SILU = read_assignment(REPOSITORY / "assignments" / "silu")
SPEED = SILU.kernels[0].points[CheckName.PERFORMANCE]
MEMORY = SILU.kernels[0].points[CheckName.MEMORY]
# The points of a right kernel on a CPU, in either language.
KERNEL = sum(SILU.kernels[0].points.values()) - SPEED
PROGRAM = SILU.max_score - KERNEL - SPEED
