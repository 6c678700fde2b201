"""The case for a check that runs one case of moderate size: to count accesses, to watch them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.vocabulary import Device, Language, Visibility

# Elements of all arrays together: 0.1 s for a kernel with little reuse.
_MOST_ELEMENTS = 2**16
# With every access checked.
_MOST_WATCHED = 2**18


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
    return _largest_small(assignment, visible or drawn, preferred)


def unknown_small_case(assignment: Assignment, cases: Sequence[Case]) -> Case | None:
    """Return the largest hidden case of up to 65,536 elements, None without any.

    No submission can treat it in another way than the cases that have points.
    """
    hidden = [
        case
        for case in cases
        if case.visibility is not Visibility.VISIBLE
        and _elements(assignment, case) <= _MOST_ELEMENTS
    ]
    return unnamed(_largest_small(assignment, hidden)) if hidden else None


def smallest_case(assignment: Assignment, cases: Sequence[Case]) -> Case | None:
    """Return the smallest case, None if all have more elements than can be watched in a second."""
    smallest = min(cases, key=lambda case: _elements(assignment, case), default=None)
    if smallest is None or _elements(assignment, smallest) > _MOST_WATCHED:
        return None
    return smallest


def unnamed(case: Case) -> Case:
    """Return the case without the sizes in its name if it is hidden: messages contain names."""
    return replace(case, name=case.name_for_students)


def _largest_small(
    assignment: Assignment,
    cases: Sequence[Case],
    preferred: Callable[[Case], bool] = lambda case: True,
) -> Case:
    by_size = {_elements(assignment, case): case for case in cases}
    small = [size for size in by_size if size <= _MOST_ELEMENTS]
    small = [size for size in small if preferred(by_size[size])] or small
    return by_size[max(small) if small else min(by_size)]


def _elements(assignment: Assignment, case: Case) -> int:
    signature = assignment.signature
    return sum(math.prod(signature.shape(array, case.sizes)) for array in signature.arrays)
