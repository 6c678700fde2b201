"""SiLU's points by what it takes to earn them, from its spec: a processor measures no speed."""

from __future__ import annotations

from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.vocabulary import CheckName

SILU = read_assignment(REPOSITORY / "assignments" / "silu")
SPEED = SILU.kernels[0].points[CheckName.PERFORMANCE]
MEMORY = SILU.kernels[0].points[CheckName.MEMORY]
# What a right kernel wins on a processor, in either language.
KERNEL = sum(SILU.kernels[0].points.values()) - SPEED
PROGRAM = SILU.max_score - KERNEL - SPEED
