"""The handout's two tables about speed, made so that they cannot differ from what they tell.

They stand in README.md between two comments each:

    <!-- tiers: generated -->
    <!-- end -->                    what speed is worth, from the spec: a row for each
                                    kernel, languages that share their tiers, and GPU

    <!-- performance: generated -->
    <!-- end -->                    what to expect: how fast our own solutions are, from
                                    what `grade calibrate` kept

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
# The cards that students and courses have, by the architecture that the spec names.
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
    """Return the handout's text with its table of tiers made anew."""
    return _with(text, BEGIN, "\n".join(_table(assignment)))


def with_figures(text: str, assignment: Assignment, measured: Sequence[Calibration]) -> str:
    """Return the handout's text with its table of measured figures made anew, GPU by GPU."""
    tables = ["\n".join(lines) for one in measured if (lines := _figures(assignment, one))]
    none = f"No GPU has been measured yet: `grade calibrate {assignment.name}` does."
    return _with(text, BEGIN_FIGURES, "\n\n".join(tables) or none)


def _with(text: str, begin: str, table: str) -> str:
    pattern = re.compile(f"({re.escape(begin)}\n).*?({re.escape(END)})", re.DOTALL)
    return pattern.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text)


def _figures(assignment: Assignment, measured: Calibration) -> list[str]:
    """Return a table of one GPU; of what was measured before the spec was changed, nothing."""
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
    first = 0 if len(assignment.kernels) > 1 else 1
    of = " The last column is the mean over all sizes that are timed." if len(sizes) > 1 else ""
    return [
        f"Our own solutions on an {measured.gpu}, at {sizes[0]}.{of}",
        "",
        _line(_FIGURES_HEAD[first:]),
        _line(["---"] * (len(_FIGURES_HEAD) - first)),
        *(_line(row[first:]) for row in rows),
    ]


def _shown(one: BenchmarkFigure) -> tuple[str, str, str]:
    """Return torch's time, ours, and our rate; of what computes much in operations."""
    rate, unit = (one.gb_s, "GB/s") if one.tflop_s is None else (one.tflop_s, "TFLOP/s")
    times = (f"{one.baseline_us:.0f} µs", f"{one.submission_us:.0f} µs")
    return *times, f"{three_digits(rate)} {unit}"


def _table(assignment: Assignment) -> Iterator[str]:
    timed = [k for k in assignment.kernels if CheckName.PERFORMANCE in k.points]
    if not timed:
        yield "Speed is not scored."
        return
    # The only kernel of an assignment needs no name.
    first = 0 if len(assignment.kernels) > 1 else 1
    yield _line(_HEAD[first:])
    yield _line(["---"] * (len(_HEAD) - first))
    for kernel in timed:
        for row in _rows(kernel):
            yield _line((kernel.title, *row)[first:])


def _rows(kernel: Kernel) -> Iterator[tuple[str, str, str]]:
    """Yield languages, GPU and what is asked for, the general rule before the exceptions."""
    most = kernel.points[CheckName.PERFORMANCE]
    groups: dict[tuple[tuple[str, tuple[Tier, ...]], ...], list[Language]] = {}
    for language in kernel.files:
        own = [(name, found[language]) for name, found in kernel.tiers.on.items()
               if language in found]  # fmt: skip
        key = ("", kernel.tiers.default[language]), *own
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
    told = ", ".join(f"{tier.share * most:.4g} at {tier.speedup:g}" for tier in tiers)
    if tiers[0].accepted:
        return told
    accepted = next(tier for tier in tiers if tier.accepted)
    return f"{told}; accepted from {accepted.speedup:g}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
