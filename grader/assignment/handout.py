"""Generates the handout's two tables about speed from the spec and the calibrations.

Each table is in README.md between two comments:

    <!-- tiers: generated -->
    <!-- end -->                    points for speed, from the spec: a row for each
                                    kernel, group of languages with equal tiers, and GPU

    <!-- performance: generated -->
    <!-- end -->                    speed of the reference solutions, from
                                    `grade calibrate`

A handout without the comments has no table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grader.assignment.calibration import REFERENCE, BenchmarkFigure, Calibration
from grader.assignment.model import Assignment, Kernel
from grader.text.numbers import three_digits
from grader.timing.decision import Tier
from grader.vocabulary import CheckName, Language

HANDOUT = "README.md"
BEGIN, END = "<!-- tiers: generated -->", "<!-- end -->"
BEGIN_FIGURES = "<!-- performance: generated -->"
# Common GPUs of each architecture that a spec may name.
_CARDS = {
    "sm_75": "T4, RTX 20",
    "sm_80": "A100",
    "sm_86": "A10, RTX 30",
    "sm_89": "L4, RTX 40",
    "sm_90": "H100, H200",
    "sm_100": "B200",
    "sm_120": "RTX 50",
}
_HEAD = ("kernel", "language", "GPU", "points, at how many times torch's speed")
_FIGURES_HEAD = ("kernel", "language", "torch", "solution", "rate", "times torch")


def with_tiers(text: str, assignment: Assignment) -> str:
    """Return the handout's text with a new table of tiers."""
    timed = [k for k in assignment.kernels if CheckName.PERFORMANCE in k.points]
    rows = [(kernel.title, *row) for kernel in timed for row in _rows(kernel)]
    table = "\n".join(_table(assignment, _HEAD, rows)) if timed else "Speed is not scored."
    return _with(text, BEGIN, table)


def with_figures(text: str, assignment: Assignment, measured: Sequence[Calibration]) -> str:
    """Return the handout's text with new tables of measurements, one per GPU."""
    tables = [
        "\n".join(lines) for calibration in measured if (lines := _figures(assignment, calibration))
    ]
    no_table = f"No GPU has been measured yet: `grade calibrate {assignment.name}` does."
    return _with(text, BEGIN_FIGURES, "\n\n".join(tables) or no_table)


def _with(text: str, begin: str, table: str) -> str:
    pattern = re.compile(f"({re.escape(begin)}\n).*?({re.escape(END)})", re.DOTALL)
    return pattern.sub(lambda match: f"{match[1]}{table}\n{match[2]}", text)


def _figures(assignment: Assignment, measured: Calibration) -> list[str]:
    """Return the table of one GPU; figures of an outdated benchmark are left out."""
    sizes = [benchmark.name for benchmark in assignment.benchmarks]
    if not sizes:
        return []
    rows = [
        (kernel.title, language.phrase, *_shown(figure.benchmarks[0]), three_digits(figure.speedup))
        for kernel in assignment.kernels
        for language in kernel.files
        for figure in measured.of(kernel.name, language)
        if figure.hand_in == REFERENCE and figure.speedup is not None
        if figure.benchmarks and figure.benchmarks[0].name == sizes[0]
    ]
    if not rows:
        return []
    note = " The last column is the mean over all sizes that are timed." if len(sizes) > 1 else ""
    return [
        f"Our own solutions on an {measured.gpu}, at {sizes[0]}.{note}",
        "",
        *_table(assignment, _FIGURES_HEAD, rows),
    ]


def _shown(figure: BenchmarkFigure) -> tuple[str, str, str]:
    """Return torch's time, the solution's time and its rate (operations if compute-bound)."""
    rate, unit = (figure.gb_s, "GB/s") if figure.tflop_s is None else (figure.tflop_s, "TFLOP/s")
    times = (f"{figure.baseline_us:.0f} µs", f"{figure.submission_us:.0f} µs")
    return *times, f"{three_digits(rate)} {unit}"


def _table(
    assignment: Assignment, head: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Yield a table's lines, without the first column, the kernel, if there is only one."""
    first = 0 if len(assignment.kernels) > 1 else 1
    for row in (head, ["---"] * len(head), *rows):
        cells = (cell.replace("|", "\\|") for cell in row[first:])
        yield f"| {' | '.join(cells)} |"


def _rows(kernel: Kernel) -> Iterator[tuple[str, str, str]]:
    """Yield languages, GPU and tiers: first the default tiers, then those of single GPUs."""
    most = kernel.points[CheckName.PERFORMANCE]
    groups: dict[tuple[tuple[str, tuple[Tier, ...]], ...], list[Language]] = {}
    for language in kernel.files:
        special = [(gpu, t[language]) for gpu, t in kernel.tiers.on.items() if language in t]
        key = ("", kernel.tiers.default[language]), *special
        groups.setdefault(key, []).append(language)
    for asked, languages in groups.items():
        spoken = ", ".join(language.phrase for language in languages)
        for name, tiers in asked:
            yield spoken, _gpu(name, alone=len(asked) == 1), _worth(tiers, most)


def _gpu(name: str, *, alone: bool) -> str:
    if not name:
        return "any" if alone else "any other"
    return _CARDS.get(name, name)


def _worth(tiers: Sequence[Tier], most: float) -> str:
    if not tiers:
        return "shown, not scored"
    worth = ", ".join(f"{tier.share * most:.4g} at {tier.speedup:g}" for tier in tiers)
    if tiers[0].accepted:
        return worth
    accepted = next(tier for tier in tiers if tier.accepted)
    return f"{worth}; accepted from {accepted.speedup:g}"
