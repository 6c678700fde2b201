"""Explain a wrong output as that of a mistake that the assignment's oracle knows.

The oracle's `mistakes` computes the outputs of formulas that students take for the right one. It is
a hint, never part of a verdict.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import torch

from grader.assignment.cases import Case
from grader.assignment.tolerance import Tolerance
from grader.errors import GraderError
from grader.judge.compare import Comparison, accepts, parts
from grader.judge.oracle import CaseData, Oracle

KNOWN = "the result is that of a known mistake: "
_SIZE = re.compile(r" \(in steps of [^()]*\)$")
_LEAST = 4  # wrong elements: fewer agree by chance
_MOST = 2**16  # elements: bounds the time


def explain(
    oracle: Oracle, case: Case, data: CaseData, comparison: Comparison, tolerance: Tolerance
) -> str | None:
    """Return the first mistake whose outputs these are, None if there is none or the oracle fails.

    `grade verify` reports what is wrong with an oracle's `mistakes`; a hint must not end a grading.
    """
    actual, expected = comparison.actual, comparison.expected
    if comparison.mismatched < _LEAST or actual.numel() > _MOST:
        return None
    found: list[str] = []
    loose = Tolerance(atol=4 * tolerance.atol, rtol=4 * tolerance.rtol, exact=tolerance.exact)

    def known() -> Iterator[tuple[str, dict[str, torch.Tensor]]]:
        with contextlib.suppress(GraderError):
            yield from oracle.mistakes(case, data.inputs).items()

    for sentence, outputs in data.kept("known", known()):
        other = parts(outputs[comparison.output])
        apart = int((~accepts(actual, other, loose)).sum())
        # It explains nearly all that is wrong, and not by one number, which much else would give.
        if apart > comparison.wrong_allowed or 4 * apart > comparison.mismatched:
            continue
        if _varied(other[~accepts(other, expected, tolerance)]) or _mixed(other):
            found.append(sentence)
    if not found:
        return None
    stem = _SIZE.sub("", found[0])
    # Where several sizes of a step agree, which it is stays open.
    alike = [one for one in found if _SIZE.sub("", one) == stem]
    return f"{KNOWN}{stem if len(alike) > 1 else found[0]}"


def _varied(values: torch.Tensor) -> bool:
    return len(set(values[torch.isfinite(values.double())].tolist())) > 1


def _mixed(values: torch.Tensor) -> bool:
    finite = torch.isfinite(values.double())
    return bool(finite.any()) and not bool(finite.all())
