"""Were the guards beside the buffers written to?"""

from __future__ import annotations

from collections.abc import Sequence

from grader.checks.common.crash import OUTSIDE_HINT
from grader.checks.common.diagnosis import Diagnosis
from grader.judge.buffers import Buffer
from grader.report.verdict import Verdict
from grader.vocabulary import Language

_MASK_HINT = (
    "an index is outside its tensor: look for a load or store without its mask, `mask=offsets < n`"
)


def guard_violation(buffers: Sequence[Buffer], language: Language) -> Diagnosis | None:
    """Say how far outside a buffer was written to, None if all guards are whole."""
    for buffer in buffers:
        offset = buffer.guard_violation()
        if offset is None:
            continue
        width = buffer.dtype.itemsize
        if offset < 0:
            distance, place = -(offset // width), "before the first"
        else:
            distance, place = (offset - buffer.size) // width + 1, "past the last"
        elements = "1 element" if distance == 1 else f"{distance} elements"
        return Diagnosis(
            verdict=Verdict.MEMORY_ERROR,
            message=f"wrote {elements} {place} of `{buffer.name}`",
            hint=_MASK_HINT if language is Language.TRITON else OUTSIDE_HINT,
        )
    return None
