"""The kernels of an assignment side by side: what each moves, and how fast each is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from grader.formats.html.panel import WIDTH, Panel
from grader.report.evidence import CountersEvidence, Evidence, PerformanceEvidence
from grader.report.model import KernelResult
from grader.vocabulary import Visibility

MOST_KERNELS = 24
_LEFT, _RIGHT = 8.0, WIDTH - 8.0
_ROW = 38.0

E = TypeVar("E", bound=Evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One kernel: a bar, and its value in words."""

    y: float
    name: str
    length: float
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder(Panel):
    """One value of all kernels; `unit_x` is where the value 1 is."""

    template: ClassVar[str] = "ladder.html"

    rungs: tuple[Rung, ...]
    unit_x: float
    unit: str
    height: float


def panels(kernels: Sequence[KernelResult]) -> list[Panel]:
    """Return the comparisons that the kernels' evidence has; each needs two kernels."""
    traffic, speed = [], []
    for kernel in kernels[:MOST_KERNELS]:
        language = kernel.language.phrase if kernel.language else ""
        name = f"{kernel.name} · {language}"
        for counted in evidence_of(kernel, CountersEvidence):
            traffic += [
                (name, one.ratio)
                for one in counted.figures
                if one.name == "traffic" and one.ratio is not None
            ]
        for timed in evidence_of(kernel, PerformanceEvidence):
            if timed.speedup is not None:
                speed.append((name, timed.speedup))
    found: list[Panel] = []
    if len(traffic) > 1:
        least = min(traffic, key=lambda one: one[1])
        most = max(traffic, key=lambda one: one[1])
        compared = f"{least[0]} moves the least ({least[1]:.2f} times), {most[0]} the most "
        compared += f"({most[1]:.2f} times)."
        if f"{least[1]:.2f}" == f"{most[1]:.2f}":
            compared = f"All move the same ({most[1]:.2f} times)."
        found.append(
            _ladder(
                traffic,
                title="Bytes moved, kernel by kernel",
                unit="every array once",
                caption=(
                    "How often the bytes of the arrays are moved, without caches: shorter is "
                    f"better. {compared}"
                ),
            )
        )
    if len(speed) > 1:
        best = max(speed, key=lambda one: one[1])
        found.append(
            _ladder(
                speed,
                title="Speed, kernel by kernel",
                unit="torch",
                caption=(
                    "Times as fast as torch on the same work: longer is better. The fastest is "
                    f"{best[0]} ({best[1]:.2f})."
                ),
            )
        )
    return found


def evidence_of(kernel: KernelResult, kind: type[E]) -> Iterator[E]:
    """Yield the evidence of this kind in the kernel's visible checks."""
    for check in kernel.checks:
        if check.visibility is Visibility.VISIBLE and isinstance(check.evidence, kind):
            yield check.evidence


def _ladder(values: Sequence[tuple[str, float]], *, title: str, unit: str, caption: str) -> Ladder:
    scale = (_RIGHT - _LEFT) / (1.04 * max(1.0, *(value for _, value in values)))
    return Ladder(
        title=title,
        caption=caption,
        rungs=tuple(
            Rung(
                y=24 + number * _ROW,
                name=name,
                length=round(value * scale, 1),
                value=f"{value:.2f}×",
            )
            for number, (name, value) in enumerate(values)
        ),
        unit_x=round(_LEFT + scale, 1),
        unit=unit,
        height=24 + len(values) * _ROW + 2,
    )
