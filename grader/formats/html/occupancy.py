"""How many blocks a multiprocessor holds at once, and what limits them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from grader.formats.html.panel import WIDTH, Panel, plural
from grader.protocol.targets import WARP
from grader.report.evidence import LaunchResources

COLOURS = 4  # of blocks, in turn
_ACROSS = 16  # warps in a row
_LEFT, _TOP = 8.0, 20.0
_CELL = (WIDTH - 2 * _LEFT) / _ACROSS
_CELL_HEIGHT = 15.0
_ROW = 30.0
_MOST_WARPS = 128
_MOST_BLOCKS = 256  # that any resource allows


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The place of one warp; `name` is its block's colour, "free" if it has none."""

    x: float
    y: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One resource: how many blocks it allows."""

    y: float
    name: str
    value: str
    length: float
    limits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy(Panel):
    """The warps of a multiprocessor, and a bar for each resource."""

    template: ClassVar[str] = "occupancy.html"

    slots: tuple[Slot, ...]
    slot_width: float
    slot_height: float
    bars_y: float
    limits: tuple[Limit, ...]
    block_x: tuple[float, ...]
    height: float


def panel(found: LaunchResources) -> Occupancy | None:
    """Return the picture; None if no block fits, or the numbers are not the grader's."""
    warps = -(-found.threads // WARP)
    allowed = {
        "threads": found.blocks_by_threads,
        "registers": found.blocks_by_registers,
        "shared memory": found.blocks_by_shared_memory,
        "blocks": found.blocks_by_limit,
    }
    known = {name: blocks for name, blocks in allowed.items() if blocks is not None}
    fewest = min(known.values())
    if not fewest or not found.occupancy or max(known.values()) > _MOST_BLOCKS:
        return None
    whole = round(fewest * warps / found.occupancy)
    if not fewest * warps <= whole <= _MOST_WARPS:
        return None
    # The number of threads that a multiprocessor holds is a limit that cannot be moved.
    limiting = [name for name, blocks in known.items() if blocks == fewest]
    uses = {
        "threads": f"{plural(found.threads, 'thread')} a block",
        "registers": f"{plural(found.registers, 'register')} a thread",
        "shared memory": f"{found.shared_bytes:,} bytes of shared memory a block",
        "blocks": "most blocks at once",
    }
    rows = -(-whole // _ACROSS)
    bars_y = _TOP + rows * _CELL_HEIGHT + 26
    scale = (WIDTH - 2 * _LEFT) / max(max(known.values()), 1)
    return Occupancy(
        title=f"Occupancy of a multiprocessor, {found.kernel}: {found.occupancy:.0%}",
        caption=_caption(found, fewest, warps, whole, limiting),
        slots=tuple(
            Slot(
                x=round(_LEFT + number % _ACROSS * _CELL, 2),
                y=round(_TOP + number // _ACROSS * _CELL_HEIGHT, 2),
                name=_colour(number // warps, warps) if number < fewest * warps else "free",
            )
            for number in range(whole)
        ),
        slot_width=round(_CELL - 1.5, 2),
        slot_height=_CELL_HEIGHT - 1.5,
        bars_y=bars_y,
        limits=tuple(
            Limit(
                y=bars_y + 8 + number * _ROW,
                name=uses[name],
                value=plural(blocks, "block"),
                length=round(blocks * scale, 1),
                limits=name in limiting and fewest * warps < whole,
            )
            for number, (name, blocks) in enumerate(known.items())
        ),
        block_x=tuple(round(_LEFT + number * scale, 1) for number in range(1, max(known.values()))),
        height=bars_y + 8 + len(known) * _ROW + 4,
    )


def _colour(block: int, warps: int) -> str:
    """Return a block's colour: another one than that of the blocks beside and above it."""
    return f"block{(block + block * warps // _ACROSS) % COLOURS}"


def _caption(
    found: LaunchResources, blocks: int, warps: int, whole: int, limiting: list[str]
) -> str:
    text = (
        f"A multiprocessor of {found.gpu} ({found.target}) has room for {whole} warps (squares). "
        f"{plural(blocks, 'block')} of {plural(warps, 'warp')} {'runs' if blocks == 1 else 'run'} "
        f"there at once, each in a colour: {found.occupancy:.0%} of it. "
    )
    if blocks * warps == whole:
        text += "It is full."
    else:
        text += f"The limit is the shortest bar: {' and '.join(limiting)}."
    if found.spill_bytes:
        text += f" Registers do not suffice: a thread spills {found.spill_bytes:,} bytes to memory."
    return text
