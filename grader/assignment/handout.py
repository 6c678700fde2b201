"""Generates the handout's tables from the spec and the calibrations.

Each table is in README.md between two comments, `<!-- NAME: generated -->` and `<!-- end -->`:

    signature      the function or kernel to write, and its file, by language
    points         points by check and kernel
    cases          the visible cases, and the number of hidden ones
    tiers          points for speed: a row for each kernel, group of languages with equal tiers,
                   and GPU
    performance    speed of the reference solutions, from `grade calibrate`

A handout without the comments has no table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grader.assignment.calibration import REFERENCE, BenchmarkFigure, Calibration
from grader.assignment.dialects import dialect
from grader.assignment.model import Assignment, Kernel, own_tiers
from grader.errors import SpecError
from grader.gpu.models import common
from grader.text.did_you_mean import did_you_mean
from grader.text.numbers import three_digits
from grader.text.sizes import case_text
from grader.timing.decision import Scale, Tier
from grader.vocabulary import CheckName, Device, Language, Visibility

HANDOUT = "README.md"
_MARK = re.compile(r"<!-- (?:(\w+): generated|(end)) -->")
_HEAD = ("kernel", "language", "GPU")
_ONLY = {Device.CPU: "on the CPU", Device.CUDA: "on a GPU"}
_FIGURES_HEAD = ("kernel", "language", "torch", "solution", "rate", "times torch")


def with_tables(
    text: str,
    assignment: Assignment,
    measured: Sequence[Calibration] = (),
    file: Path = Path(HANDOUT),
) -> str:
    """Return the handout's text with new tables.

    Raises SpecError, with the line, for a comment of another name, or without an end.
    """
    tables: dict[str, Callable[[], str]] = {
        "signature": lambda: _signature(assignment),
        "points": lambda: _points(assignment),
        "cases": lambda: _cases(assignment),
        "tiers": lambda: _tiers(assignment),
        "performance": lambda: _performance(assignment, measured),
    }
    parts: list[str] = []
    copied, opened, kind, opened_line = 0, None, "", 0
    for mark in _MARK.finditer(text):
        name, line = mark[1], text.count("\n", 0, mark.start()) + 1
        if opened is not None and name:
            message = f"`<!-- {kind}: generated -->` has no `<!-- end -->` before `{mark[0]}`"
            raise SpecError(f"{message} in line {line}: add it", file=file, line=opened_line)
        if opened is not None:
            parts += [text[copied:opened], "\n", tables[kind](), "\n"]
            copied, opened = mark.start(), None
        elif name and name not in tables:
            known = f"known: {', '.join(tables)}"
            message = f"`{name}` is no generated table{did_you_mean(name, tables)}"
            raise SpecError(message, file=file, line=line, tip=known)
        elif name:
            opened, kind, opened_line = mark.end(), name, line
    if opened is not None:
        message = f"`<!-- {kind}: generated -->` has no `<!-- end -->`: add it after the table"
        raise SpecError(message, file=file, line=opened_line)
    return "".join([*parts, text[copied:]])


def _signature(assignment: Assignment) -> str:
    what = "kernel" if assignment.signature.launch else "function"
    rows = [("language", "file", what), ("---", "---", "---")]
    for one in assignment.of_entries:
        for language in one.languages:
            kernels = [kernel for kernel in one.kernels if language in kernel.files]
            files = [f"`{path}`" for kernel in kernels for path in kernel.paths_in(language)]
            if dialect(language).includes:
                files += [f"`{name}` (given)" for name in one.given]
            rows.append(
                (
                    language.phrase,
                    ", ".join(files),
                    f"`{dialect(language).declarations(one.signature)[0]}`",
                )
            )
    return _markdown(rows)


def _points(assignment: Assignment) -> str:
    parts = assignment.parts
    checks = list(dict.fromkeys(check for part in parts for check in part.points))
    rows = [("kernel", *checks, "all"), ("---", *["---:"] * (len(checks) + 1))]
    for part in parts:
        points = [f"{part.points[check]:g}" if check in part.points else "" for check in checks]
        bonus = " (bonus)" if part.bonus else ""
        rows.append((f"{part.title}{bonus}", *points, f"{part.max_score:g}"))
    if len(parts) > 1:
        counted = [part for part in parts if not part.bonus]
        sums = [f"{sum(part.points.get(check, 0) for part in counted):g}" for check in checks]
        rows.append(("all", *sums, f"{assignment.max_score:g}"))
    return _markdown(rows)


def _cases(assignment: Assignment) -> str:
    rows = [("case", "memory tools", "only"), ("---", "---", "---")]
    entries = [
        (part.signature.entry, case) for part in assignment.of_entries for case in part.cases
    ]
    for entry, case in entries:
        if case.visibility is Visibility.VISIBLE:
            only = [f"`{entry}`"] if assignment.entries else []
            only += [x.phrase for x in Language if case.languages == {x}]
            only += [phrase for device, phrase in _ONLY.items() if case.devices == {device}]
            name = case_text(case.name, case.sizes, case.title)
            name += f", {case.launch}" if case.launch else ""
            rows.append((name, "yes" if case.memory else "", ", ".join(only)))
    hidden = assignment.hidden_cases
    more = f"\n\nThere are {hidden} hidden cases, with other sizes and values." if hidden else ""
    weights = "".join(f"\n\n{words}." for words in weight_words(assignment))
    return _markdown(rows) + more + weights


def weight_words(assignment: Assignment) -> Iterator[str]:
    """Yield how the points for correctness are divided, for each entry with groups of cases."""
    for one in assignment.of_entries:
        if not one.weights:
            continue
        visible = [case for case in one.cases if case.visibility is Visibility.VISIBLE]
        groups = {case.title: case.weight for case in visible if case.weight is not None}
        parts = [f"`{title}` counts {weight}" for title, weight in groups.items()]
        if any(case.weight is None for case in visible):
            parts.append("every other visible case 1")
        parts += [f"the hidden cases {one.weight_of_hidden} in all"] * bool(one.hidden_cases)
        entry = f" of `{one.signature.entry}`" if assignment.entries else ""
        yield f"Points for correctness{entry} are divided by weight: {', '.join(parts)}"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in rows)


def _tiers(assignment: Assignment) -> str:
    timed = [k for k in assignment.kernels if CheckName.PERFORMANCE in k.points]
    rows = [(kernel.title, *row) for kernel in timed for row in _rows(kernel)]
    head = *_HEAD, points_head(assignment, timed)
    return "\n".join(_table(assignment, head, rows)) if timed else "Speed is not scored."


def points_head(assignment: Assignment, timed: Sequence[Kernel]) -> str:
    """Return what the last column counts: times torch, or also a share of the roofline."""
    plain = "points, at how many times torch's speed"
    groups = [group for k in timed for group in (k.tiers.default, *k.tiers.on.values())]
    if not any(tier.roof for group in groups for tiers in group.values() for tier in tiers):
        return plain
    counted = any(benchmark.flops for benchmark in assignment.benchmarks)
    roof = "the GPU's arithmetic peak" if counted else "a copy's bandwidth"
    return f"{plain}, or which share of {roof}"


def _performance(assignment: Assignment, measured: Sequence[Calibration]) -> str:
    """Return the tables of measurements, one per GPU."""
    tables = [
        "\n".join(lines) for calibration in measured if (lines := _figures(assignment, calibration))
    ]
    no_table = f"No GPU has been measured yet: `grade calibrate {assignment.name}` does."
    return "\n\n".join(tables) or no_table


def _figures(assignment: Assignment, measured: Calibration) -> list[str]:
    """Return the table of one GPU; figures of an outdated benchmark are left out."""
    sizes = [benchmark.name for benchmark in assignment.benchmarks]
    if not sizes:
        return []
    first = {one.benchmarks[0].name for one in assignment.of_entries if one.benchmarks}
    rows = [
        (kernel.title, language.phrase, *_shown(figure.benchmarks[0]), three_digits(figure.speedup))
        for kernel in assignment.kernels
        for language in kernel.files
        for figure in measured.of(kernel.name, language)
        if figure.hand_in == REFERENCE and figure.speedup is not None
        if figure.benchmarks and figure.benchmarks[0].name in first
    ]
    if not rows:
        return []
    note = " The last column is the mean over all sizes that are timed." if len(sizes) > 1 else ""
    return [
        f"Our own solutions on an {measured.gpu}, at {' and '.join(sorted(first))}.{note}",
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
    most, tiers = kernel.points[CheckName.PERFORMANCE], kernel.tiers
    groups: dict[tuple[tuple[str, tuple[Tier, ...]], ...], list[Language]] = {}
    for language in kernel.files:
        special = [
            (gpu, own)
            for gpu, group in tiers.on.items()
            if (own := own_tiers(group, language)) is not None
        ]
        key = ("", own_tiers(tiers.default, language) or ()), *special
        groups.setdefault(key, []).append(language)
    for asked, languages in groups.items():
        spoken = ", ".join(language.phrase for language in languages)
        names = [name for name, _ in asked]
        for name, of_gpu in asked:
            yield spoken, _gpu(name, names), _worth(of_gpu, most, tiers.scale)


def _gpu(name: str, names: Sequence[str]) -> str:
    """Return the GPUs of a row, without those that `names`, the rows together, name themselves."""
    if not name:
        return "any other" if len(names) > 1 else "any"
    return ", ".join(card for card in common(name) if card == name or card not in names) or name


def _worth(tiers: Sequence[Tier], most: float, scale: Scale) -> str:
    if not tiers:
        return "shown, not scored"
    worth = ", ".join(f"{tier.share * most:.4g} at {asked(tier)}" for tier in tiers)
    if scale is Scale.LINEAR and len(tiers) > 1:
        worth += "; in between, points in proportion"
    if tiers[0].accepted:
        return worth
    accepted = next(tier for tier in tiers if tier.accepted)
    return f"{worth}; accepted from {asked(accepted)}"


def asked(tier: Tier) -> str:
    """Return what a tier asks for: times torch's speed, or also a share of the roofline."""
    roof = "" if tier.roof is None else f" or {100 * tier.roof:.3g} %"
    return f"{tier.speedup:g}{roof}"
