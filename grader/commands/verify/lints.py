"""Lints: weak, duplicate or missing parts of a valid spec, of its handout and its stubs.

A finding `differs` is an error in every course; a warning is for the instructor to
decide. To add a lint, write a function that yields findings and add it to `LINTS`.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from grader.assignment.calibration import REFERENCE, Calibration, calibrations
from grader.assignment.cases import CaseTemplate, Range
from grader.assignment.generated import TEMPLATES
from grader.assignment.handout import HANDOUT
from grader.assignment.model import PROGRAM_FILE, Assignment, Kernel
from grader.assignment.reader import SPEC_FILE, read_course
from grader.assignment.tolerance import Tolerance
from grader.commands.verify.row import Row, State
from grader.commands.verify.samples import in_language, patched_samples, patches_of, samples_of
from grader.gpu.models import MODELS, common, is_model
from grader.report.verdict import Verdict
from grader.timing.proposal import figure_words, margin, tier_words
from grader.vocabulary import CheckName, Device, Language, Visibility

LEAST_SAMPLES = 8  # per language, to cover the classic mistakes
USUAL_TOTAL = 100.0
MOST_MEMORY_ELEMENTS = 1 << 20  # memory tools make every access 10 to 100 times slower
_LARGEST_FRACTION = 0.05  # one lane of a warp is 1/32, one row of a tile of 16 is 1/16
_LEAST_DRAWS = 8  # a range of fewer sizes can be guessed
LEAST_BASELINE_US = 100.0  # launch overhead dominates shorter calls
FILL_IN = "FILL IN"  # the mark of `grade new` for the instructor

Findings = Iterator[tuple[State, str]]
Lint = Callable[[Assignment, Path], Findings]


def lint_rows(assignment: Assignment, reference: Path) -> Iterator[Row]:
    """Yield a row for each finding, and for each lint without findings."""
    for name, (lint, expected) in LINTS.items():
        parts = assignment.of_entries if lint in _OF_ENTRIES else (assignment,)
        found = [finding for part in parts for finding in lint(part, reference)]
        # Entries that lack the same are told of once.
        findings = list(dict.fromkeys(found)) or [(State.AGREES, "as expected")]
        for state, actual in findings:
            yield Row(
                assignment=assignment.name, subject="spec", check=name, state=state,
                expected=expected, actual=actual, note=_place(assignment, lint, state),
            )  # fmt: skip


def _place(assignment: Assignment, lint: Lint, state: State) -> str:
    """Return the file to change, "" if the finding names it or there is none."""
    return str(assignment.folder / SPEC_FILE) if state.wrong and lint in _OF_SPEC else ""


def points(assignment: Assignment, _: Path) -> Findings:
    """An unusual total of points; no points for memory."""
    if not math.isclose(assignment.max_score, USUAL_TOTAL):
        yield State.WARNING, f"{assignment.max_score:g} points"
    for kernel in assignment.kernels:
        if CheckName.MEMORY not in kernel.points and not kernel.rules.torch_allowed:
            yield State.WARNING, f"{kernel.name} has no points for memory: it is not checked"


def languages(assignment: Assignment, _: Path) -> Findings:
    """A kernel without a file in a language of the course."""
    for kernel in assignment.kernels:
        for language in read_course(assignment.folder.parent).languages:
            if language not in kernel.files:
                yield State.WARNING, f"{kernel.name} has no file in {language.phrase}"


def duplicates(assignment: Assignment, _: Path) -> Findings:
    """Two equal visible cases."""
    visible = [case for case in assignment.cases if case.visibility is Visibility.VISIBLE]
    for position, case in enumerate(visible):
        for other in visible[:position]:
            if _same_case(case, other):
                yield State.DIFFERS, f"{case.name} occurs twice"


def hidden(assignment: Assignment, _: Path) -> Findings:
    """Hidden cases that a student can see or guess, or a lack of hidden cases."""
    visible = [case for case in assignment.cases if case.visibility is Visibility.VISIBLE]
    others = [case for case in assignment.cases if case.visibility is not Visibility.VISIBLE]
    for case in others:
        if any(_same_case(case, other) for other in visible):
            yield State.DIFFERS, f"{case.name} is a visible case as well"
        ranges = [size for size in case.sizes.values() if isinstance(size, Range)]
        draws = math.prod(size.values for size in ranges)
        if ranges and draws < _LEAST_DRAWS:
            yield (
                State.WARNING,
                f"{case.name} has only {draws} sizes to draw from",
            )
    for language in assignment.languages:
        for device in Device:
            if not any(
                language.is_in(case.languages) and device in case.devices for case in others
            ):
                lacking = f"no hidden case for {language.phrase} on {device}"
                yield State.WARNING, f"{lacking}: sizes can be hard-coded"


def sizes(assignment: Assignment, _: Path) -> Findings:
    """A size that is the same in all cases of a device: it could be hard-coded."""
    for language in assignment.languages:
        for device in Device:
            cases = [
                c for c in assignment.cases if language.is_in(c.languages) and device in c.devices
            ]
            if not cases:
                yield State.WARNING, f"no case for {language.phrase} on {device}"
            for name in sorted(assignment.signature.extents):
                values = {str(case.sizes[name]) for case in cases}
                drawn = any(isinstance(case.sizes[name], Range) for case in cases)
                if cases and len(values) == 1 and not drawn:
                    yield (
                        State.DIFFERS,
                        f"{name} is {values.pop()} in all cases for {language.phrase} on {device}: "
                        "a hard-coded size would pass",
                    )


def memory_cases(assignment: Assignment, _: Path) -> Findings:
    """A case for the memory tools that is too large."""
    for case in assignment.cases:
        if not case.memory:
            continue
        largest = {n: s.max if isinstance(s, Range) else s for n, s in case.sizes.items()}
        elements = sum(
            math.prod(assignment.signature.shape(argument, largest))
            for argument in assignment.signature.arrays
        )
        if elements > MOST_MEMORY_ELEMENTS:
            size = f"{elements} elements, more than {MOST_MEMORY_ELEMENTS}"
            yield (
                State.DIFFERS,
                f"{case.name} has memory = true and {size}: choose a smaller one",
            )


def tolerances(assignment: Assignment, _: Path) -> Findings:
    """A tolerance that a result in half precision would meet, or a fraction without an effect."""
    signature = assignment.signature
    for language in assignment.languages:
        for output in signature.outputs:
            found: dict[tuple[Tolerance, str], list[int]] = {}
            for case in assignment.cases:
                kind = signature.bound(case.dtype).element_type(output, language).word
                sizes = {n: s.max if isinstance(s, Range) else s for n, s in case.sizes.items()}
                elements = math.prod(signature.shape(output, sizes))
                tolerance = assignment.tolerance(case, language, output.name)
                found.setdefault((tolerance, kind), []).append(elements)
            for (tolerance, kind), sizes_of in found.items():
                for finding in _tolerance_findings(tolerance, kind, max(sizes_of)):
                    yield State.WARNING, f"`{output.name}` in {language.phrase}: {finding}"


def _tolerance_findings(tolerance: Tolerance, kind: str, most_elements: int) -> Iterator[str]:
    if tolerance.rtol > 5e-4 and kind == "float32":
        yield (
            f"rtol = {tolerance.rtol:g} accepts float32 results that were rounded to half "
            "precision (5e-4)"
        )
    fraction = tolerance.max_wrong_fraction
    if fraction > _LARGEST_FRACTION:
        yield f"max_wrong_fraction = {fraction:g} accepts a kernel that is wrong at every edge"
    elif fraction and not tolerance.wrong_allowed(most_elements):
        yield (
            f"max_wrong_fraction = {fraction:g} allows no wrong element: the largest case has "
            f"{most_elements} elements"
        )


def samples(assignment: Assignment, reference: Path) -> Findings:
    """A language with too few samples, or with only right or only wrong ones."""
    found = list(samples_of(reference))
    for patch in patches_of(reference):
        with contextlib.suppress(ValueError):  # the patch's own row says why
            found += patched_samples(patch, reference)
    found = [in_language(sample, assignment) for sample in found]
    lacking = []
    for language in assignment.languages:
        verdicts = Counter(s.verdict for s in found if s.language == language)
        count = sum(verdicts.values())
        if not count:
            yield State.DIFFERS, f"no sample in {language.phrase}"
            continue
        missing = [f"only {count} sample{'s' if count > 1 else ''}"] * (count < LEAST_SAMPLES)
        if not verdicts[Verdict.ACCEPTED.value]:
            missing.append("none that must be accepted")
        if not count - verdicts[Verdict.ACCEPTED.value]:
            missing.append("none that must be refused")
        if missing:
            lacking.append(f"in {language.phrase} {' and '.join(missing)}")
    if lacking:
        yield State.WARNING, "; ".join(lacking)


def filled_in(assignment: Assignment, reference: Path) -> Findings:
    """Marks of `grade new` that are still to be filled in."""
    solved = [reference / file for file in assignment.paths]
    left = [path.name for path in unfilled((*sorted(assignment.folder.iterdir()), *solved))]
    if left:
        yield State.WARNING, f"still in {', '.join(left)}"


def tiers(assignment: Assignment, _: Path) -> Findings:
    """A tier that nobody reaches or that a slow sample reaches; a later rung without timing.

    A rung is a kernel of the same entry.
    """
    known = calibrations(assignment.folder)
    timed = [k for k in assignment.kernels if CheckName.PERFORMANCE in k.points]
    for kernel in timed:
        for language in kernel.files:
            yield from _tier_findings(kernel, language, known)
    # The first rungs of a ladder may be slow; a later rung should be timed as well.
    later = assignment.kernels[assignment.kernels.index(timed[0]) :] if timed else ()
    for kernel in later:
        rung = kernel.entry == timed[0].entry and not kernel.rules.torch_allowed
        if rung and kernel not in timed:
            yield (
                State.WARNING,
                f"{kernel.name} has no points for performance, but {timed[0].name} before it has",
            )


def _tier_findings(kernel: Kernel, language: Language, known: list[Calibration]) -> Findings:
    what = f"{kernel.name} in {language.phrase}"
    measured = [calibration.timed(kernel.name, language) for calibration in known]
    if not any(REFERENCE in timed for timed in measured):
        yield State.WARNING, f"{what}: no calibration times the reference: run `grade calibrate`"
    for calibration, timed in zip(known, measured, strict=True):
        for tier in calibration.tiers(kernel, language):
            best = max(timed.values(), key=lambda figures: margin(figures, tier), default=None)
            if best is not None and margin(best, tier) < 1:
                yield (
                    State.DIFFERS,
                    f"{what}: nobody reaches the tier at {tier_words(tier)} on {calibration.gpu}: "
                    f"the best is {figure_words(best, tier)}",
                )
        for sentence in calibration.sensitivities(kernel, language):
            yield State.WARNING, f"{what}, on {calibration.gpu}: {sentence}"


def unproven(assignment: Assignment, _: Path) -> Findings:
    """The GPUs on which the tiers are measured; a warning for those that the spec only names."""
    timed = [k for k in assignment.kernels if CheckName.PERFORMANCE in k.points]
    if not timed:
        return
    files = [(kernel, language) for kernel in timed for language in kernel.files]
    proven = [
        one
        for one in calibrations(assignment.folder)
        if all(
            REFERENCE in one.timed(kernel.name, language)
            for kernel, language in files
            if one.tiers(kernel, language)
        )
    ]
    scored = {
        key for kernel in timed for key, group in kernel.tiers.on.items() if any(group.values())
    }
    missing = sorted(
        {
            model
            for key in scored
            for model in common(key)
            if not any(is_model(one.gpu, model) or one.architecture == model for one in proven)
            # A family of models, such as RTX 40, is proven by any GPU of its architecture.
            if model in MODELS or not any(one.architecture == key for one in proven)
        }
    )
    if missing:
        yield (
            State.WARNING,
            f"tiers are unproven on {', '.join(missing)}, which the spec names: run "
            f"`grade calibrate {assignment.name}` there",
        )
    gpus = ", ".join(one.gpu for one in proven)
    yield (
        State.AGREES,
        f"proven on {gpus}; unproven on any other GPU" if gpus else "unproven on every GPU",
    )


def benchmarks(assignment: Assignment, _: Path) -> Findings:
    """A language without a benchmark, or a benchmark that is too short."""
    if not assignment.benchmarks and all(kernel.bonus for kernel in assignment.kernels):
        return  # an optional entry of another one's assignment
    if not assignment.benchmarks:
        yield State.WARNING, "there are no [[benchmarks]]: speed is not measured"
        return
    if not any(array.role.read for array in assignment.signature.arrays):
        yield (
            State.WARNING,
            "the kernel reads no array, so every timed call has the same result: a submission "
            "could keep that of an earlier call",
        )
    for language in assignment.languages:
        if not any(language.is_in(benchmark.languages) for benchmark in assignment.benchmarks):
            yield State.DIFFERS, f"no benchmark for {language.phrase}"
    short = {
        (calibration.gpu, timing.name): timing.baseline_us
        for calibration in calibrations(assignment.folder)
        for figure in calibration.figures
        for timing in figure.benchmarks
        if timing.baseline_us < LEAST_BASELINE_US
    }
    for (gpu, name), baseline_us in short.items():
        yield (
            State.WARNING,
            f"{name}: torch takes {baseline_us:.0f} us on {gpu}: choose a larger size, for "
            f"{LEAST_BASELINE_US:.0f} us",
        )


def handout(assignment: Assignment, _: Path) -> Findings:
    """No handout, or a handout that does not name what students write."""
    file = assignment.folder / HANDOUT
    if not file.is_file():
        yield State.WARNING, f"there is no {file}: students need to know what the kernel computes"
        return
    text = file.read_text(encoding="utf-8", errors="replace")
    wanted = assignment.paths
    # A table may give a rung's name once for both languages.
    missing = [path for path in wanted if Path(path).stem not in text]
    entries = [one.signature.entry for one in assignment.of_entries]
    missing += [entry for entry in entries if entry not in text]
    if missing:
        yield State.WARNING, f"{file} does not name {', '.join(missing)}"


def stray_stubs(assignment: Assignment, reference: Path) -> Findings:
    """Files among the stubs that belong to no kernel, for example after a renaming."""
    template = reference.parent.parent / TEMPLATES / assignment.name
    names = {*assignment.paths, *assignment.given, PROGRAM_FILE, *assignment.header_texts}
    for path in sorted(template.rglob("*")):
        name = path.relative_to(template).as_posix()
        if path.suffix in Language.endings() and path.is_file() and name not in names:
            yield State.WARNING, f"{path} belongs to no kernel: delete it"


def unfilled(files: Iterable[Path]) -> Iterator[Path]:
    """Yield the files that still have a mark of `grade new`."""
    for path in files:
        if path.is_file() and FILL_IN in path.read_text(encoding="utf-8", errors="replace"):
            yield path


def _same_case(case: CaseTemplate, other: CaseTemplate) -> bool:
    """True if both have the same fixed sizes and values, for some language and device."""
    fixed = not any(isinstance(size, Range) for size in case.sizes.values())
    alike = fixed and case.sizes == other.sizes and case.values == other.values
    alike = alike and (case.launch, case.dtype) == (other.launch, other.dtype)
    return bool(alike and case.devices & other.devices and case.languages & other.languages)


LINTS: dict[str, tuple[Lint, str]] = {
    "points": (points, f"{USUAL_TOTAL:g} points in all, some for memory"),
    "languages": (languages, "a file of each kernel in each language of the course"),
    "visible cases": (duplicates, "no case twice"),
    "hidden cases": (hidden, "for every language and device, none of them a visible one"),
    "sizes": (sizes, "every size takes several values"),
    "memory cases": (memory_cases, "small"),
    "tolerance": (tolerances, "narrower than half precision"),
    "benchmarks": (benchmarks, "for every language, and long enough"),
    "tiers": (tiers, "each one is reachable, and above the samples that are too slow"),
    "GPUs": (unproven, "tiers are measured on the GPUs that the spec names"),
    "filled in": (filled_in, f"no {FILL_IN} mark is left"),
    "handout": (handout, "exists, and names every file and the function"),
    "stubs": (stray_stubs, "every file belongs to a kernel"),
    "samples": (samples, f"at least {LEAST_SAMPLES} in every language, right ones and wrong ones"),
}
# Of each entry by itself: these look at cases and a signature.
_OF_SPEC = {points, duplicates, hidden, sizes, memory_cases, benchmarks}
_OF_ENTRIES = {duplicates, hidden, sizes, memory_cases, tolerances, benchmarks}
