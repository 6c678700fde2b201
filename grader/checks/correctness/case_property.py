"""What separates the cases that are right from those that are wrong: "right for k ≤ 32".

A property is reported only if it separates all cases of the list. It states what was seen; which
line of the kernel it comes from is left to the reader.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.assignment.signature import ElementType
from grader.report.evidence import CaseResult
from grader.report.verdict import Verdict

_TILES = (1024, 512, 256, 128, 64, 32, 16, 8, 4, 2)
_PAIRED = re.compile(r"where \w+ [=<≤] [a-z]")
_TYPES = frozenset(kind.word for kind in ElementType)
_LEAST_CASES = 4  # wrong ones: fewer have a number in common by chance
_LEAST = 2  # cases on either side: a single one has any property
_LEAST_PAIRED = 3  # of two sizes compared, which two cases have by chance


@dataclass(frozen=True, slots=True)
class _Property:
    """A sentence, and the cases that have it, in order."""

    sentence: str
    holds: tuple[bool, ...]


def separating_property(cases: Sequence[CaseResult]) -> str:
    """Return the property that all right cases have and no wrong one, "" if there is none."""
    unjudged = (Verdict.SKIPPED, Verdict.NOT_MEASURED)
    judged = [case for case in cases if case.verdict not in unjudged]
    right = tuple(case.verdict.earns_points for case in judged)
    if not right or not any(right):
        return ""
    if min(sum(right), len(right) - sum(right)) >= _LEAST:
        for found in _properties([case.sizes for case in judged]):
            few = min(sum(right), len(right) - sum(right)) < _LEAST_PAIRED
            if found.holds == right and not (few and _PAIRED.search(found.sentence)):
                return found.sentence
    return _drawn_values(judged, right)


def _drawn_values(judged: Sequence[CaseResult], right: tuple[bool, ...]) -> str:
    """Return that only cases with special values are wrong, "" if it is not so."""
    kinds = {case.name.partition(f"{list(case.sizes)[-1]}=")[2] for case in judged if case.sizes}
    words = {word for kind in kinds for word in _words(kind.partition(", ")[2])} - {""}
    wrong = [case for case, good in zip(judged, right, strict=True) if not good]
    groups = {word: [case for case in judged if f", {word}" in case.name] for word in sorted(words)}
    broken = [word for word, cases in groups.items() if all(case in wrong for case in cases)]
    if wrong and all(any(case in groups[word] for word in broken) for case in wrong):
        # A launch, grid=2, or a type explain themselves.
        values = "" if any("=" in word or word in _TYPES for word in broken) else " values"
        return f"only the cases with {' or '.join(broken)}{values} are wrong"
    return ""


def _words(text: str) -> tuple[str, ...]:
    """Return what a case's name says behind its sizes: type and values, or launch and values."""
    first, _, rest = text.partition(" #")[0].partition(", ")
    return (first, rest) if first in _TYPES else (text.partition(" #")[0],)


def _properties(sizes: Sequence[dict[str, int | float]]) -> Iterator[_Property]:
    """Yield properties of the sizes, the simplest first."""
    names = list(sizes[0]) if sizes else []
    columns = {
        name: [case.get(name, 0) for case in sizes]
        for name in names
        if len({case.get(name) for case in sizes}) > 1
    }
    for name, values in columns.items():
        bounds = sorted(set(values))
        for bound, beyond in itertools.pairwise(bounds):
            at_most = tuple(value <= bound for value in values)
            few = f"{name} {'=' if bound == bounds[0] else '≤'} {bound:g}"
            many = f"{name} {'=' if beyond == bounds[-1] else '≥'} {beyond:g}"
            yield _Property(f"right for {few}, wrong for {many}", at_most)
            yield _Property(f"wrong for {few}, right for {many}", tuple(not x for x in at_most))
    whole = {
        name: [int(value) for value in values]
        for name, values in columns.items()
        if all(isinstance(value, int) for value in values)
    }
    for first in whole:
        for second in whole:
            if first == second:
                continue
            both = list(zip(whole[first], whole[second], strict=True))
            if names.index(first) < names.index(second):
                equal = tuple(a == b for a, b in both)
                yield _Property(f"right only where {first} = {second}", equal)
            yield _Property(f"right only where {first} ≤ {second}", tuple(a <= b for a, b in both))
            yield _Property(f"right only where {first} < {second}", tuple(a < b for a, b in both))
    groups = [[name] for name in whole] + ([list(whole)] if len(whole) > 1 else [])
    pairs = [[a, b] for i, a in enumerate(whole) for b in list(whole)[i + 1 :]]
    for group in groups + [pair for pair in pairs if len(whole) > 2]:
        yield from _of_group(group, whole)


def rest_of_groups(cases: Sequence[CaseResult]) -> str:
    """Return "those after the last whole group of 4" if that holds for all wrong elements."""
    wrong = [case for case in cases if case.verdict is Verdict.WRONG_ANSWER and case.mismatched]
    right = [case for case in cases if case.verdict is Verdict.ACCEPTED]
    if len(wrong) < _LEAST_CASES or not any(case.elements > 1 for case in right):
        return ""
    for width in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        rests = [case.elements % width for case in wrong]
        whole = sum(case.mismatched == rest for case, rest in zip(wrong, rests, strict=True))
        if (
            all(0 < case.mismatched <= rest for case, rest in zip(wrong, rests, strict=True))
            and 4 * whole >= 3 * len(wrong)
            and max(case.mismatched for case in wrong) > 1
            and all(
                (case.pattern or "").startswith("only the last ")
                or case.mismatched == case.elements
                for case in wrong
            )
        ):
            return f"everywhere only elements after the last whole group of {width} are wrong"
    return ""


def _of_group(group: Sequence[str], whole: dict[str, list[int]]) -> Iterator[_Property]:
    """Yield what holds for all sizes of the group."""
    rows = list(zip(*(whole[name] for name in group), strict=True))
    words = " and ".join(group)
    number = "are multiples" if len(group) > 1 else "is a multiple"
    for tile in _TILES:
        yield _Property(
            f"right only where {words} {number} of {tile}",
            tuple(all(value % tile == 0 for value in row) for row in rows),
        )
        if len(group) > 1:
            yield _Property(
                f"right only where {words} need the same number of tiles of {tile}",
                tuple(len({-(-value // tile) for value in row}) == 1 for row in rows),
            )
    if len(group) > 1:
        for bound in sorted({value for row in rows for value in row}):
            yield _Property(
                f"right only where {words} are at most {bound}",
                tuple(all(value <= bound for value in row) for row in rows),
            )
