"""One request of a warp: lanes on sectors of global memory, or on banks of shared memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from grader.formats.html.panel import WIDTH, Panel, plural
from grader.protocol.targets import WARP
from grader.report.evidence import WarpAccess

SECTOR = 32
BANKS = 32
_MOST_PANELS = 6
_SEEN = 1.8  # the least width of a filled part
_LARGEST = 16  # bytes that one lane accesses at once
_LEFT, _RIGHT = 8.0, WIDTH - 8.0
_LANES_Y, _SECTORS_Y, _SECTOR_HEIGHT = 30.0, 110.0, 26.0
_WORDS_Y = 92.0
_BANK = (_RIGHT - _LEFT) / BANKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A lane of the warp, and where the line to its first byte ends; None if it is off."""

    x: float
    to_x: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sector:
    """A sector that is fetched; `used` are the parts of it that lanes asked for."""

    x: float
    width: float
    used: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sectors(Panel):
    """A request to global memory."""

    template: ClassVar[str] = "sectors.html"

    lanes: tuple[Lane, ...]
    sectors: tuple[Sector, ...]
    lane_width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a bank; `turn` is the wavefront that fetches it, from 0."""

    x: float
    y: float
    late: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Banks(Panel):
    """A request to shared memory."""

    template: ClassVar[str] = "banks.html"

    lanes: tuple[Lane, ...]
    words: tuple[Word, ...]
    bank_width: float
    row: float
    turns: int
    height: float


def panel(found: WarpAccess) -> Panel | None:
    """Return the picture; None if no lane takes part."""
    if not any(lane is not None for lane in found.lanes):
        return None
    return _sectors(found) if found.space == "global" else _banks(found)


def panels(
    warps: Sequence[WarpAccess], before: Sequence[WarpAccess], before_name: str
) -> list[Panel]:
    """Return the pictures of a kernel's requests, the wasteful ones first.

    Beside a picture is that of the kernel `before` in the ladder, if it differs there. One request
    without excess is enough.
    """
    wasteful = [one for one in warps if one.transactions > one.least]
    perfect = [one for one in warps if one.transactions <= one.least][:1]
    found: list[Panel] = []
    for one in wasteful + perfect:
        if (picture := panel(one)) is None:
            continue
        found.append(picture)
        other = next((w for w in before if (w.space, w.access) == (one.space, one.access)), None)
        if other is None or other.transactions == one.transactions:
            continue
        if (earlier := panel(other)) is not None:
            found.append(replace(earlier, title=f"Before, in {before_name}: {earlier.title}"))
    return found[:_MOST_PANELS]


def _title(found: WarpAccess, what: str) -> str:
    place = found.file if found.line is None else f"line {found.line}"
    return f"One warp's {found.access}, {place}: {what}"


def _sectors(found: WarpAccess) -> Sectors:
    size = min(found.access_bytes, _LARGEST)
    asked = {
        byte for lane in found.lanes if lane is not None
        for byte in range(lane, lane + size)
    }  # fmt: skip
    numbers = sorted({byte // SECTOR for byte in asked})
    gaps = sum(b - a > 1 for a, b in itertools.pairwise(numbers))
    gap = 0.0 if not gaps else min(4.0, 60.0 / gaps)
    width = min(40.0, (_RIGHT - _LEFT - gaps * gap) / len(numbers))
    start = (WIDTH - len(numbers) * width - gaps * gap) / 2
    sectors: list[Sector] = []
    place: dict[int, float] = {}
    x, before = start, None
    for number in numbers:
        x += gap if before is not None and number - before > 1 else 0.0
        place[number] = x
        used = [byte - number * SECTOR for byte in sorted(asked) if byte // SECTOR == number]
        sectors.append(
            Sector(
                x=round(x, 2),
                width=round(width, 2),
                used=tuple(
                    (
                        round(x + first * width / SECTOR, 2),
                        max(_SEEN, round(count * width / SECTOR, 2)),
                    )
                    for first, count in _together(used)
                ),
            )
        )
        x, before = x + width, number
    step = (_RIGHT - _LEFT) / WARP
    lanes = []
    for lane, byte in enumerate(found.lanes):
        to_x = None
        if byte is not None:
            middle = byte + min(size, SECTOR - byte % SECTOR) / 2
            to_x = round(place[byte // SECTOR] + (middle % SECTOR) * width / SECTOR, 2)
        lanes.append(Lane(x=round(_LEFT + (lane + 0.5) * step, 2), to_x=to_x))
    active = sum(lane is not None for lane in found.lanes)
    fetched = len(numbers) * SECTOR
    share = len(asked) / fetched
    if found.transactions <= found.least:
        verdict = "Neighbouring lanes share sectors: this is coalesced."
    elif found.transactions == found.least + 1 and not gaps:
        verdict = "Coalesced, but the first byte lies inside a sector: one sector more."
    else:
        verdict = f"{plural(found.least, 'sector')} would do: let neighbouring lanes access "
        verdict += "neighbouring elements."
    return Sectors(
        title=_title(found, plural(len(numbers), "sector")),
        caption=(
            f"{plural(active, 'lane')} of a warp of {found.kernel} (above) ask for "
            f"{plural(len(asked), 'byte')}; memory moves whole sectors of 32 bytes (below), "
            f"{fetched:,} bytes in all. {share:.0%} of that is used (filled). {verdict}"
        ),
        lanes=tuple(lanes),
        sectors=tuple(sectors),
        lane_width=round(step - 1, 2),
        height=_SECTORS_Y + _SECTOR_HEIGHT + 24,
    )


def _together(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive numbers: first and count."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == sum(runs[-1]):
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((number, 1))
    return runs


def _banks(found: WarpAccess) -> Banks:
    # Accesses of 8 and 16 bytes are served for 16 and 8 lanes at a time.
    group = WARP if found.access_bytes <= 4 else WARP // 2 if found.access_bytes == 8 else WARP // 4
    groups = [range(at, at + group) for at in range(0, WARP, group)]
    slowest = max(groups, key=lambda lanes: _turns(_words(found, lanes)))
    banks = _words(found, slowest)
    turns = _turns(banks)
    row = min(15.0, 200.0 / turns)
    words = []
    for bank, lanes_of in banks.items():
        for turn, (word, lanes) in enumerate(lanes_of.items()):
            names = ", ".join(map(str, lanes[:4])) + (" …" if len(lanes) > 4 else "")
            words.append(
                Word(
                    x=round(_LEFT + bank * _BANK, 2),
                    y=round(_WORDS_Y + turn * row, 2),
                    late=turn > 0,
                    text=f"bank {bank}, word {word}: lane {names}",
                )
            )
    which = "" if group == WARP else f" (the {group} lanes of a warp that take longest)"
    verdict = (
        "No bank is asked for two words, so all lanes are served at once."
        if turns == 1
        else f"A bank gives one word at a time: {turns} words lie in one bank, so this takes "
        f"{turns} turns where {max(1, found.least * group // WARP)} would do. Pad the rows by one "
        "element, or swizzle the index."
    )
    return Banks(
        title=_title(found, "no bank conflict" if turns == 1 else f"{turns}-way bank conflict"),
        caption=(
            f"The lanes of a warp of {found.kernel} (above) and the 32 banks of shared memory that "
            f"have their words{which}; a row is a turn. {verdict}"
        ),
        lanes=tuple(
            Lane(x=round(_LEFT + (lane + 0.5) * _BANK, 2), to_x=_bank_x(found, lane, slowest))
            for lane in range(WARP)
        ),
        words=tuple(words),
        bank_width=round(_BANK - 1, 2),
        row=round(row, 2),
        turns=turns,
        height=_WORDS_Y + turns * row + 24,
    )


def _turns(banks: dict[int, dict[int, list[int]]]) -> int:
    """Return how many words the busiest bank has to give."""
    return max((len(words) for words in banks.values()), default=1)


def _bank_x(found: WarpAccess, lane: int, shown: range) -> float | None:
    """Return the middle of the bank of a lane's first word; None if the lane is not shown."""
    byte = found.lanes[lane]
    if byte is None or lane not in shown:
        return None
    return round(_LEFT + (byte // 4 % BANKS + 0.5) * _BANK - 0.5, 2)


def _words(found: WarpAccess, lanes: range) -> dict[int, dict[int, list[int]]]:
    """Return by bank the distinct words, each with the lanes that ask for it."""
    banks: dict[int, dict[int, list[int]]] = {}
    size = min(found.access_bytes, _LARGEST)
    for lane in lanes:
        byte = found.lanes[lane]
        if byte is None:
            continue
        for word in range(byte // 4, (byte + size - 1) // 4 + 1):
            banks.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
    return banks
