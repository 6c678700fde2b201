"""What is wrong with a spec that validates: weak, doubled or missing things.

A lint that says `differs` is a fault in every course; one that only warns is
for the instructor to weigh. To add one: write a function that yields findings
and name it in LINTS.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.assignment.model import Assignment, CaseTemplate, Range, Tolerance
from grader.commands.verify.handout_lints import FILL_IN, handout, stray_stubs, unfilled
from grader.commands.verify.row import Row, State
from grader.commands.verify.samples import Sample, samples_of
from grader.commands.verify.timing_lints import benchmarks, tiers
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language, Visibility

LEAST_SAMPLES = 8  # a language: fewer leave one of the classic mistakes untried
USUAL_TOTAL = 100.0
# The tools of the memory check look at every access, some ten to a hundred times slower.
MOST_MEMORY_ELEMENTS = 1 << 20
_LEAST_DRAWS = 8  # a range of fewer sizes can be guessed

Lint = Callable[[Assignment, Path], Iterator[tuple[State, str]]]


def lint_rows(assignment: Assignment, reference: Path) -> Iterator[Row]:
    """Yield a row for each lint that finds nothing, and one for each thing found."""
    for name, (lint, expected) in LINTS.items():
        findings = list(lint(assignment, reference)) or [(State.AGREES, "as expected")]
        for state, actual in findings:
            yield Row(
                assignment=assignment.name,
                subject="spec",
                check=name,
                state=state,
                expected=expected,
                actual=actual,
            )


def points(assignment: Assignment, _: Path) -> Iterator[tuple[State, str]]:
    """The usual total: a warning, for a course may weigh its assignments by their points."""
    if not math.isclose(assignment.max_score, USUAL_TOTAL):
        yield State.WARNING, f"{assignment.max_score:g} points"
    for kernel in assignment.kernels:
        if CheckName.MEMORY not in kernel.points and not kernel.rules.torch_allowed:
            yield State.WARNING, f"{kernel.name} has no points for memory: it is not checked"


def duplicates(assignment: Assignment, _: Path) -> Iterator[tuple[State, str]]:
    """Two visible cases that are the same to every hand-in."""
    visible = [case for case in assignment.cases if case.visibility is Visibility.VISIBLE]
    for position, case in enumerate(visible):
        for other in visible[:position]:
            if _alike(case, other) and _meet(case, other):
                yield State.DIFFERS, f"{_named(case)} is there twice"


def hidden(assignment: Assignment, _: Path) -> Iterator[tuple[State, str]]:
    """Hidden cases that a student can see, or guess, or that are not there."""
    visible = [case for case in assignment.cases if case.visibility is Visibility.VISIBLE]
    others = [case for case in assignment.cases if case.visibility is not Visibility.VISIBLE]
    for case in others:
        if any(_alike(case, other) and _meet(case, other) for other in visible):
            yield State.DIFFERS, f"{_named(case)} is a visible case as well"
        ranges = [size for size in case.sizes.values() if isinstance(size, Range)]
        draws = math.prod(size.max - size.min + 1 for size in ranges)
        if ranges and draws < _LEAST_DRAWS:
            yield State.WARNING, f"{_named(case)} has only {draws} sizes to draw from"
    for language in _languages(assignment):
        for device in Device:
            if not any(language in case.languages and device in case.devices for case in others):
                yield (
                    State.WARNING,
                    f"no hidden case for {language.phrase} on {device}: sizes can be hard-coded",
                )


def sizes(assignment: Assignment, _: Path) -> Iterator[tuple[State, str]]:
    """A size that is the same in all cases of a device: a hard-coded one would pass."""
    extents = {
        name
        for argument in assignment.signature.arrays
        for extent in argument.shape or ()
        for name in extent.names
    }
    for language in _languages(assignment):
        for device in Device:
            cases = [c for c in assignment.cases if language in c.languages and device in c.devices]
            if not cases:
                yield State.WARNING, f"no case for {language.phrase} on {device}"
            for name in sorted(extents):
                values = {str(case.sizes[name]) for case in cases}
                drawn = any(isinstance(case.sizes[name], Range) for case in cases)
                if cases and len(values) == 1 and not drawn:
                    yield (
                        State.DIFFERS,
                        f"{name} is {values.pop()} in all cases for {language.phrase} on {device}: "
                        "hard-coded it would pass",
                    )


def memory_cases(assignment: Assignment, _: Path) -> Iterator[tuple[State, str]]:
    """A case for the memory tools that is too large for them."""
    for case in assignment.cases:
        if not case.memory:
            continue
        largest = {n: s.max if isinstance(s, Range) else s for n, s in case.sizes.items()}
        elements = sum(
            math.prod(assignment.signature.shape(argument, largest))
            for argument in assignment.signature.arrays
        )
        if elements > MOST_MEMORY_ELEMENTS:
            yield (
                State.DIFFERS,
                f"{_named(case)} has memory = true and {elements} elements, more than "
                f"{MOST_MEMORY_ELEMENTS}: choose a smaller one",
            )
        if case.visibility is not Visibility.VISIBLE:
            yield State.WARNING, f"{_named(case)} has memory = true but is hidden: it is not used"


def tolerances(assignment: Assignment, _: Path) -> Iterator[tuple[State, str]]:
    """A tolerance that a result in half precision would meet."""
    for language in _languages(assignment):
        tolerance: Tolerance = assignment.tolerances[language]
        kinds = {
            assignment.signature.element_type(output, language).word
            for output in assignment.signature.outputs
        }
        if tolerance.rtol > 5e-4 and "float32" in kinds:
            yield (
                State.WARNING,
                f"rtol = {tolerance.rtol:g} for {language.phrase} accepts float32 results that "
                "were rounded to half precision (5e-4)",
            )


def samples(assignment: Assignment, reference: Path) -> Iterator[tuple[State, str]]:
    """Sample hand-ins of every language, enough of them, right and wrong."""
    found = list(samples_of(reference))
    for language in _languages(assignment):
        verdicts = Counter(s.verdict for s in found if s.language == language)
        count = sum(verdicts.values())
        if not count:
            yield State.DIFFERS, f"no sample in {language.phrase}"
            continue
        if count < LEAST_SAMPLES:
            yield (
                State.WARNING,
                f"{count} samples in {language.phrase}, fewer than {LEAST_SAMPLES}",
            )
        if not verdicts[Verdict.ACCEPTED.value]:
            yield State.WARNING, f"no sample in {language.phrase} that must be accepted"
        if not count - verdicts[Verdict.ACCEPTED.value]:
            yield State.WARNING, f"no sample in {language.phrase} that must be refused"


def filled_in(assignment: Assignment, reference: Path) -> Iterator[tuple[State, str]]:
    """Places that `grade new` left to the instructor."""
    solved = [reference / file for part in assignment.parts for file in part.files.values()]
    left = [path.name for path in unfilled(iter((*sorted(assignment.folder.iterdir()), *solved)))]
    if left:
        yield State.WARNING, f"still in {', '.join(left)}"


def _languages(assignment: Assignment) -> list[Language]:
    used = {language for kernel in assignment.kernels for language in kernel.files}
    return [language for language in Language if language in used]


def _alike(case: CaseTemplate, other: CaseTemplate) -> bool:
    """True if both have the same fixed sizes and kind of values."""
    fixed = not any(isinstance(size, Range) for size in case.sizes.values())
    return fixed and case.sizes == other.sizes and case.values == other.values


def _meet(case: CaseTemplate, other: CaseTemplate) -> bool:
    """True if some hand-in gets both."""
    return bool(case.devices & other.devices and case.languages & other.languages)


def _named(case: CaseTemplate) -> str:
    told = [
        f"{name}={size.min}..{size.max}" if isinstance(size, Range) else f"{name}={size}"
        for name, size in case.sizes.items()
    ]
    return ", ".join([*told, *([case.values] if case.values != "random" else [])])


LINTS: dict[str, tuple[Lint, str]] = {
    "points": (points, f"{USUAL_TOTAL:g} points in all, some for memory"),
    "visible cases": (duplicates, "no case twice"),
    "hidden cases": (hidden, "for every language and device, none of them a visible one"),
    "sizes": (sizes, "every size takes several values"),
    "memory cases": (memory_cases, "visible, and small"),
    "tolerance": (tolerances, "narrower than half precision"),
    "benchmarks": (benchmarks, "for every language, and not over too soon"),
    "tiers": (tiers, "each one in reach, and clear of the samples that are too slow"),
    "filled in": (filled_in, f"nothing is left that says {FILL_IN}"),
    "handout": (handout, "there, and it names every file and the function"),
    "stubs": (stray_stubs, "every file is a kernel's"),
    "samples": (samples, f"at least {LEAST_SAMPLES} in every language, right ones and wrong ones"),
}


def sample_name_problem(sample: Sample, assignment: Assignment) -> str:
    """Return what is wrong with where a sample stands, "" if nothing."""
    known = [verdict.value for verdict in Verdict if verdict.judged]
    if sample.verdict not in known:
        return f"its folder `{sample.verdict}` is no verdict of a hand-in ({', '.join(known)})"
    files = [path for kernel in assignment.kernels for path in kernel.files.values()]
    if sample.file not in files:
        return f"`{sample.file}` is no kernel's file ({', '.join(files)})"
    return ""
