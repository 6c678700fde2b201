"""What a call moves against the fewest bytes, sectors and wavefronts that would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from grader.formats.html.panel import WIDTH, Panel
from grader.report.evidence import CounterFigure, CounterLine, CountersEvidence

LEFT, RIGHT = 8.0, WIDTH - 8.0
MOST_LINES = 5
_ROW = 62.0
_ASKED_ROW = 24.0
_NAMES = {
    "load_sectors": "Loads from global memory",
    "store_sectors": "Stores to global memory",
    "shared_wavefronts": "Shared memory",
    "traffic": "Bytes moved in all",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """One figure: a bar for what was taken, one for the fewest, and the bound as a line."""

    y: float
    name: str
    ratio: str
    taken: float
    least: float
    allowed: float | None
    allowed_text: str
    broken: bool
    taken_text: str
    least_text: str
    asked: float | None = None
    asked_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic(Panel):
    """All figures of a call."""

    template: ClassVar[str] = "traffic.html"

    bars: tuple[Bars, ...]
    height: float


def panel(evidence: CountersEvidence) -> Traffic | None:
    """Return the figure; None if nothing was counted."""
    shown = [one for one in evidence.figures if one.measured and one.least]
    if not shown:
        return None
    broken = [one for one in shown if one.broken]
    caption = (
        f"Counted on {evidence.case}. The solid bar is what the kernel takes, the striped bar the "
        "fewest that would do: bars of one length are perfect."
    )
    if broken:
        names = ", ".join(_NAMES[one.name].lower() for one in broken)
        caption += f" Over the assignment's bound: {names}."
    elif any(one.allowed is not None for one in shown):
        caption += " All within the assignment's bounds."
    caption += _share_used(evidence)
    return Traffic(
        title="What is moved, and what would do",
        caption=caption,
        bars=tuple(_bars(one, 6 + number * _ROW, evidence) for number, one in enumerate(shown)),
        height=6 + len(shown) * _ROW + (_ASKED_ROW if evidence.asked_bytes else 0),
    )


def _share_used(evidence: CountersEvidence) -> str:
    """Return what the bytes that threads ask for say about the bytes that are moved."""
    moved = next((one.measured for one in evidence.figures if one.name == "traffic"), 0)
    asked = evidence.asked_bytes
    if not asked or not moved:
        return ""
    if asked < moved:
        share = f"{asked / moved:.0%} of the bytes moved"
        return f" Threads ask for {share}: the rest is fetched for nothing."
    if asked > 1.01 * moved:
        return f" Threads ask for {asked / moved:.1f} times the bytes moved: lanes share sectors."
    return " Threads ask for what is moved: no sector is fetched in vain."


def lines(evidence: CountersEvidence) -> list[tuple[str, ...]]:
    """Return a row for each of the costliest lines, what they access and at which cost."""
    return [_line(one) for one in evidence.lines[:MOST_LINES]]


def _line(one: CounterLine) -> tuple[str, ...]:
    unit = "sectors" if one.space == "global" else "wavefronts"
    return (
        one.file if one.line is None else f"{one.file}:{one.line}",
        f"{one.space} {one.access}",
        f"{one.requests:,}",
        f"{one.per_request:.1f} {unit}",
        f"{one.least / one.requests:.1f}",
        f"{one.ratio:.2f}",
    )


def _asked(one: CounterFigure, evidence: CountersEvidence) -> int | None:
    """Return the bytes that threads ask for, beside the bytes that are moved."""
    return evidence.asked_bytes or None if one.name == "traffic" else None


def _bars(one: CounterFigure, y: float, evidence: CountersEvidence) -> Bars:
    bound = None if one.allowed is None else one.allowed * one.least
    asked = _asked(one, evidence)
    whole = max(one.measured, one.least, bound or 0, asked or 0) * 1.04
    scale = (RIGHT - LEFT) / whole
    return Bars(
        y=y,
        name=_NAMES[one.name],
        ratio=f"{one.measured / one.least:.2f} × the fewest",
        taken=round(one.measured * scale, 1),
        least=round(one.least * scale, 1),
        allowed=None if bound is None else round(LEFT + bound * scale, 1),
        allowed_text="" if one.allowed is None else f"bound {one.allowed:g}×",
        broken=one.broken,
        taken_text=f"{one.measured:,} {one.unit}",
        least_text=f"{one.least:,} would do",
        asked=None if asked is None else round(asked * scale, 1),
        asked_text="" if asked is None else f"outlined: threads ask for {asked:,} bytes",
    )
