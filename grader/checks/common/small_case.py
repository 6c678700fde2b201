"""The case for a check that runs one case of moderate size, such as counting accesses."""

from __future__ import annotations

import math
from collections.abc import Callable

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.vocabulary import Device, Language, Visibility

# Elements of all arrays together: 0.1 s for a kernel with little reuse.
_MOST_ELEMENTS = 2**16


def small_case(
    assignment: Assignment,
    language: Language,
    public_seed: int,
    preferred: Callable[[Case], bool] = lambda case: True,
) -> Case:
    """Return the largest visible case of up to 65,536 elements, else the smallest.

    A small case that is not `preferred` is returned only if no other is small.
    """
    drawn = assignment.draw_cases(Device.CPU, language, public_seed=public_seed, secret_seed=0)
    visible = [case for case in drawn if case.visibility is Visibility.VISIBLE]
    by_size = {_elements(assignment, case): case for case in visible or drawn}
    small = [size for size in by_size if size <= _MOST_ELEMENTS]
    small = [size for size in small if preferred(by_size[size])] or small
    return by_size[max(small) if small else min(by_size)]


def _elements(assignment: Assignment, case: Case) -> int:
    signature = assignment.signature
    return sum(math.prod(signature.shape(array, case.sizes)) for array in signature.arrays)
