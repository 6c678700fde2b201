"""A fault in memory as a card: source lines, both threads as timelines, the buffer as a strip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.checks.common.emulation_findings import tool_phrase
from grader.formats.html.panel import WIDTH, plural
from grader.formats.html.source import Excerpt, excerpts
from grader.protocol.targets import WARP
from grader.report.evidence import Finding

_TITLES = {
    "out_of_bounds": "Access outside its array",
    "misaligned": "Misaligned access",
    "race": "Race",
    "uninitialized": "Read before the first write",
    "barrier": "Threads wait at different barriers",
    "leak": "Memory that is never freed",
    "invalid_copy": "Invalid copy",
}
_VERBS = {"read": "reads", "write": "writes", "atomic": "updates"}
_CELL = 34.0
_CELLS_INSIDE = 5
_CELLS_OUTSIDE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """One side of a race: who, where in its warp, and what at which line."""

    who: str
    lane: str
    action: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timelines:
    """Two threads that meet in one element; time goes down, the first access is on the left."""

    first: Actor
    second: Actor
    missing: str
    element: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One element of the strip; `kind` is "inside", "outside", "hit" or "gap"."""

    x: float
    label: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The end of a buffer, or its start, with the element that is accessed beyond it."""

    cells: tuple[Cell, ...]
    edge_x: float
    hit_x: float
    buffer: str
    width: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One finding for the page."""

    title: str
    severity: str
    place: str
    message: str
    hint: str
    facts: tuple[tuple[str, str], ...]
    excerpts: tuple[Excerpt, ...]
    timelines: Timelines | None
    strip: Strip | None

    @property
    def is_drawn(self) -> bool:
        """True if there is a figure, or source lines."""
        return bool(self.timelines or self.strip or self.excerpts)


def card(found: Finding, source_lines: Mapping[str, str]) -> Card:
    """Return the finding's card; what is unknown is left out."""
    title = _TITLES[found.kind]
    if found.kind == "race" and found.space is not None:
        title += f" in {found.space} memory"
    marks = {found.line: "here", found.other_line: "other access"}
    if found.line == found.other_line:
        marks = {found.line: "both accesses"}
    return Card(
        title=title,
        severity=found.severity,
        place=found.file if found.line is None else f"{found.file}:{found.line}",
        message=found.message,
        hint=found.hint,
        facts=_facts(found),
        excerpts=excerpts(source_lines, {line: mark for line, mark in marks.items() if line}),
        timelines=_timelines(found),
        strip=_strip(found),
    )


def _facts(found: Finding) -> tuple[tuple[str, str], ...]:
    block = "program" if found.of_program else "block"
    facts = [
        ("kernel", found.kernel or ""),
        (block, _xyz(found.block)),
        ("thread", _xyz(found.thread)),
        ("times", f"{found.count:,}" if found.count > 1 else ""),
        ("found by", tool_phrase(found.tool)),
    ]
    return tuple((name, value) for name, value in facts if value)


def _timelines(found: Finding) -> Timelines | None:
    if found.kind != "race" or found.block is None:
        return None
    if found.of_program:
        missing = "nothing orders programs"
    elif found.other_thread is None:
        # The emulation names the other thread if it is of the same block; other tools name none.
        if found.block_size is None and "blocks" not in found.message:
            return None
        missing = "nothing orders blocks"
    elif "atomicAdd" in found.hint and "syncthreads" not in found.hint:
        missing = "missing: an atomic"
    elif _same_warp(found):
        missing = "missing: a barrier"
    elif found.file.endswith(".py"):
        missing = "missing: cuda.syncthreads()"
    else:
        missing = "missing: __syncthreads()"
    first = _actor(found, other=True)
    second = _actor(found, other=False)
    element = found.buffer or "one element"
    if found.buffer and found.element is not None:
        element = f"{found.buffer}[{found.element}]"
    return Timelines(
        first=first,
        second=second,
        missing=missing,
        element=element,
        text=(
            f"{first.who} {first.action}, and {second.who} {second.action}. Nothing decides who "
            "comes first, so the result depends on luck."
        ),
    )


def _actor(found: Finding, *, other: bool) -> Actor:
    thread = found.other_thread if other else found.thread
    block = (found.other_block if other else found.block) or None
    if other and block is None and found.other_thread is not None:
        block = found.block
    access = found.other_access if other else found.access
    line = (found.other_line if other else found.line) or None
    if found.of_program:
        who = f"program {_xyz(block)}" if block else "another program"
    elif block is None:
        who = "a thread of another block"
    else:
        who = f"block {_xyz(block)}" + (f", thread {_xyz(thread)}" if thread else "")
    action = _VERBS[access] if access else "accesses it"
    return Actor(
        who=who,
        lane=_lane(thread, found.block_size),
        action=action,
        line=f"line {line}" if line else "",
    )


def _lane(thread: tuple[int, int, int] | None, block: tuple[int, int, int] | None) -> str:
    number = _number(thread, block)
    return "" if number is None else f"warp {number // WARP}, lane {number % WARP}"


def _number(thread: tuple[int, int, int] | None, block: tuple[int, int, int] | None) -> int | None:
    """Return the thread's number in its block, None if that is unknown."""
    if thread is None:
        return None
    x, y, z = thread
    if block is None:
        return x if y == z == 0 else None
    return x + block[0] * (y + block[1] * z)


def _same_warp(found: Finding) -> bool:
    one = _number(found.thread, found.block_size)
    other = _number(found.other_thread, found.block_size)
    return one is not None and other is not None and one // WARP == other // WARP


def _strip(found: Finding) -> Strip | None:
    """Return the strip; None if the finding is no overrun, or the place is unknown."""
    if found.kind != "out_of_bounds" or found.element is None or not found.elements:
        return None
    element, length = found.element, found.elements
    inside = min(length, _CELLS_INSIDE)
    if element >= length:
        numbers = list(range(length - inside, length))
        beyond = element - length
        outside = list(range(length, element + 1)) if beyond < _CELLS_OUTSIDE else [length, element]
        gap = beyond >= _CELLS_OUTSIDE
        edge_at = len(numbers)
        shown: list[int | None] = [*numbers, outside[0], None, outside[1]] if gap else [
            *numbers, *outside
        ]  # fmt: skip
        where = f"{beyond + 1} past the last" if beyond else "just past the last"
    elif element < 0:
        numbers = list(range(inside))
        gap = element < -_CELLS_OUTSIDE
        outside = [element, -1] if gap else list(range(element, 0))
        shown = [outside[0], None, outside[1], *numbers] if gap else [*outside, *numbers]
        edge_at = len(shown) - len(numbers)
        where = f"{-element} before the first" if element < -1 else "just before the first"
    else:
        return None
    width = min(_CELL, (WIDTH - 20) / len(shown))
    start = 10.0
    cells = []
    for place, number in enumerate(shown):
        x = round(start + place * width, 1)
        if number is None:
            cells.append(Cell(x=x, label="…", kind="gap"))
        elif number == element:
            cells.append(Cell(x=x, label=str(number), kind="hit"))
        else:
            kind = "inside" if 0 <= number < length else "outside"
            cells.append(Cell(x=x, label=str(number), kind=kind))
    name = found.buffer or "the buffer"
    verb = _VERBS[found.access] if found.access else "accesses"
    return Strip(
        cells=tuple(cells),
        edge_x=round(start + edge_at * width, 1),
        hit_x=next(cell.x for cell in cells if cell.kind == "hit") + width / 2,
        buffer=name,
        width=width,
        text=(
            f"{name} has {plural(length, 'element')}, 0 to {length - 1:,}. The thread {verb} "
            f"element {element:,}, {where}."
        ),
    )


def _xyz(value: tuple[int, int, int] | None) -> str:
    if value is None:
        return ""
    x, y, z = value
    return str(x) if y == z == 0 else f"({x},{y},{z})"
