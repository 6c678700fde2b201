"""The handout's table of what speed is worth, made from the spec so that it cannot differ.

It stands in README.md between the two comments

    <!-- tiers: generated -->
    <!-- end -->

with a row for each kernel, languages that share their tiers, and GPU. A handout
without them has no table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grader.spec import Assignment, Kernel
from grader.timing.decision import Tier
from grader.words import CheckName, Language

HANDOUT = "README.md"
BEGIN, END = "<!-- tiers: generated -->", "<!-- end -->"
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


def with_tiers(text: str, assignment: Assignment) -> str:
    """Return the handout's text with its table of tiers made anew."""
    table = "\n".join(_table(assignment))
    pattern = re.compile(f"({re.escape(BEGIN)}\n).*?({re.escape(END)})", re.DOTALL)
    return pattern.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text)


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
