"""SiLU with points for speed, which are pending on a CPU; the environment of a pretended GPU."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from classrooms import surroundings
from paths import REPOSITORY

SEED = 17
SPEC = """\
format = 1
name = "silu"
title = "SiLU"
tolerance = { atol = 1e-7, rtol = 1e-5 }

[signature]
entry = "silu"
arguments = [
  { name = "input", type = "float32", shape = ["n"], role = "in" },
  { name = "output", type = "float32", shape = ["n"], role = "out" },
  { name = "n", type = "int32" },
]

[[kernels]]
name = "silu"
title = "SiLU"
files = { cuda = "silu.cu" }
points = { correctness = 50, memory = 25, performance = 15 }

[kernels.tiers]
cuda = [{ speedup = 0.5, share = 1.0 }]

[[cases]]
sizes = { n = [1, 33, 1025] }
memory = true

[[cases]]
sizes = { n = { min = 2, max = 4096 } }
visibility = "hidden"

[[benchmarks]]
sizes = { n = 67108864 }
bytes = "2 * size * n"
"""


def make_course(folder: Path) -> Path:
    """Make an assignment with 15 points for speed, and a submission."""
    silu = folder / "assignments" / "silu"
    silu.mkdir(parents=True)
    (silu / "assignment.toml").write_text(SPEC)
    shutil.copy(REPOSITORY / "assignments/silu/oracle.py", silu)
    (folder / "submission").mkdir()
    shutil.copy(REPOSITORY / "reference/silu/silu.cu", folder / "submission")
    return folder


def surroundings_with_gpu(wrong: str = "") -> dict[str, str]:
    """Return the environment of a machine with a pretended GPU; `wrong` names its fault."""
    pretended = [REPOSITORY / "tests/commands/batch/pretended_gpu", REPOSITORY / "tests/support"]
    path = os.pathsep.join([*map(str, pretended), surroundings()["PYTHONPATH"]])
    return {**surroundings(), "PYTHONPATH": path, "GRADE_TEST_GPU": wrong}
