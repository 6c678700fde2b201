"""A build of SiLU that no compiler has made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader.build.artifact import Built
from grader.report.evidence import BuildEvidence
from grader.vocabulary import Device, Language


def silu_build(**changes: Any) -> Built:
    """Return the build of `silu.cu` for the CPU, with these fields changed."""
    fields: dict[str, Any] = {
        "language": Language.CUDA,
        "device": Device.CPU,
        "path": Path("silu.so"),
        "file": "silu.cu",
        "entry": "silu",
        "evidence": BuildEvidence(tool="none", cached=False),
    }
    return Built(**(fields | changes))
