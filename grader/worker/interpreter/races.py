"""Who else was at this element? Races between programs, and between lanes of one store.

Programs of a launch run in any order, so two of them at one element, one of
them writing, is a fault, unless both are atomic or atomics order them
(`triton_shadow.Clock`). Two that write the same value are only warned of:
no order of theirs makes a difference.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from grader.worker.interpreter import findings

if TYPE_CHECKING:
    from grader.worker.interpreter import regions, shadow
    from grader.worker.interpreter.lanes import OneAccess

_Array = np.ndarray[Any, np.dtype[Any]]


def lanes_meet(one: "OneAccess", region: "regions.Region", where: Any, offsets: _Array) -> None:
    """Report lanes of a store that meet in one element."""
    last = region.shadow.met(where)
    if last is None:
        return
    factor = len(where) // len(offsets)
    meet = np.flatnonzero(last != np.arange(len(last)))
    mine, others = one.values[meet // factor], one.values[last[meet] // factor]
    differ = _bits(mine) != _bits(others)
    same = not differ.any()
    lane = meet[0 if same else int(np.argmax(differ))] // factor
    at = (int(offsets[lane]) + region.shadow.base - region.low) // region.item
    count = max(1, len(meet) // factor)
    one.report(
        "race",
        region,
        at,
        lambda: findings.lanes_collide(region.name, count, at, same=same),
        severity="warning" if same else "error",
    )


def programs_meet(
    one: "OneAccess",
    region: "regions.Region",
    trace: "shadow.Trace",
    theirs: str,
    where: Any,
    offsets: _Array | None = None,
) -> None:
    """Report another program that touched these cells, with nothing that orders us.

    `theirs` is what `trace` remembers. `offsets` are given for a store against
    stores: the values decide how grave it is.
    """
    conflict = trace.conflict(where, one.launch.clock)
    if conflict is None:
        return
    foreign, stamps = conflict
    cells = np.flatnonzero(foreign)
    severity = "error"
    cell = int(cells[0])
    if offsets is not None:
        lanes = cells // (len(foreign) // len(offsets))
        before = one.owner.peek(offsets[lanes] + region.shadow.base, one.size)
        differ = _bits(one.values[lanes]) != before
        severity = "error" if differ.any() else "warning"
        cell = int(cells[int(np.argmax(differ))])
    start = where.start + cell if isinstance(where, slice) else int(where[cell])
    address = start * region.shadow.granule + region.shadow.base
    at = (address - region.low) // region.item
    grid = one.launch.grid
    other = one.launch.clock.owner(int(stamps[cell]))
    programs = (
        findings.program_words(one.launch.program, grid),
        findings.program_words(other, grid),
    )
    one.report(
        "race",
        region,
        at,
        lambda: findings.programs_collide((one.access, theirs), region.name, at, programs),
        severity=severity,
        other_program=list(other),
        other_line=trace.line(int(stamps[cell])),
    )


def _bits(values: _Array) -> _Array:
    """The values' bits, so that NaN equals itself and 0.0 is not -0.0."""
    found: _Array = np.ascontiguousarray(values).view(f"u{values.itemsize}")
    return found
