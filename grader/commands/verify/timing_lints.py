"""What is wrong with tiers and benchmarks, by what calibrations say of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.assignment.calibration import REFERENCE, Calibration, calibrations, must_be_too_slow
from grader.assignment.model import Assignment, Kernel
from grader.commands.verify.row import State
from grader.timing.proposal import sensitivities
from grader.vocabulary import CheckName, Language

# Shorter calls are told apart from launching them no better than to some per cent.
LEAST_BASELINE_US = 100.0


def tiers(assignment: Assignment, _: Path) -> Iterator[tuple[State, str]]:
    """A tier that nobody reaches, or a slow sample does; a later rung without points."""
    known = calibrations(assignment.folder)
    timed = [k for k in assignment.kernels if CheckName.PERFORMANCE in k.points]
    for kernel in timed:
        for language in kernel.files:
            yield from _tier_findings(kernel, language, known)
    # The first rungs of a ladder may well be slow; a later one should be no slower.
    later = assignment.kernels[assignment.kernels.index(timed[0]) :] if timed else ()
    for kernel in later:
        if kernel not in timed and not kernel.rules.torch_allowed:
            yield (
                State.WARNING,
                f"{kernel.name} has no points for performance, and {timed[0].name} before it has",
            )


def _tier_findings(
    kernel: Kernel, language: Language, known: list[Calibration]
) -> Iterator[tuple[State, str]]:
    what = f"{kernel.name} in {language.phrase}"
    figures = [(c, c.of(kernel.name, language)) for c in known]
    if not any(f.speedup for _, found in figures for f in found if f.hand_in == REFERENCE):
        yield State.WARNING, f"{what}: no calibration times the reference: run `grade calibrate`"
    for calibration, found in figures:
        speedups = {f.hand_in: f.speedup for f in found if f.speedup is not None}
        asked = kernel.tiers.of(language, calibration.architecture)
        for tier in asked:
            if speedups and max(speedups.values()) < tier.speedup:
                yield (
                    State.DIFFERS,
                    f"{what}: nobody reaches the tier at {tier.speedup:g} on {calibration.gpu}: "
                    f"the best is {max(speedups.values()):.2f}",
                )
        if asked and REFERENCE in speedups:
            slow = [(name, value) for name, value in speedups.items() if must_be_too_slow(name)]
            for sentence in sensitivities(asked, speedups[REFERENCE], slow):
                yield State.WARNING, f"{what}, on {calibration.gpu}: {sentence}"


def benchmarks(assignment: Assignment, _: Path) -> Iterator[tuple[State, str]]:
    """A language without a benchmark, a benchmark that is over too soon."""
    if not assignment.benchmarks:
        yield State.WARNING, "there are no [[benchmarks]]: speed is not measured"
        return
    used = {language for kernel in assignment.kernels for language in kernel.files}
    for language in Language:
        if language in used and not any(language in b.languages for b in assignment.benchmarks):
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
