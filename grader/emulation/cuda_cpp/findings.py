"""The checker's findings, one per kind and source line.

The runtime writes one record per kind, program counter and buffer. This module adds file
and line, and folds the records of one line into one finding with a count. It drops
findings that another one explains:

* an uninitialised read of shared memory that is also in a race: since threads run one
  after another, a missing barrier shows first as such a read;
* a race within a warp, at a line that also races between warps: a barrier orders both. In some
  cases the values are equal, and the message speaks of them instead of the warp;
* "different barriers" that are one line, compiled twice;
* every further barrier of a kernel that the same threads never reach, and the first one too if
  threads wait at different barriers.

An array index beyond its row in memory whose accesses are all checked is a warning,
because on a GPU it stays inside the variable.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal, get_args

from grader.emulation.cuda_cpp import parted_warps
from grader.emulation.cuda_cpp.compile_commands import RUNTIME_DIR
from grader.emulation.cuda_cpp.symbols import Place
from grader.protocol.targets import WARP
from grader.system import untrusted_json
from grader.text.numbers import grid_index

Kind = Literal[
    "out_of_bounds", "misaligned", "race", "uninitialized", "barrier", "leak", "invalid_copy"
]
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault at one line. Sizes and offsets are in bytes; None is unknown.

    `offset` counts from the buffer's start and may be negative or past its end; `element`
    is the same in elements of `element_bytes`, or of the access size if that is unknown.
    `parted_by` is the barrier that is missing in a race of two lines.
    """

    kind: Kind
    severity: Severity
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    other_file: str | None = None
    other_line: int | None = None
    kernel: str | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    other_thread: tuple[int, int, int] | None = None
    block_size: tuple[int, int, int] | None = None
    space: str | None = None
    buffer: str | None = None
    buffer_bytes: int | None = None
    element_bytes: int | None = None
    offset: int | None = None
    access_bytes: int | None = None
    write: bool | None = None
    other_write: bool | None = None
    arrived: int | None = None
    count: int = 1
    parted_by: str | None = None

    @property
    def element(self) -> int | None:
        """The offset in elements, rounded down."""
        size = self.element_bytes or self.access_bytes
        return None if self.offset is None or not size else self.offset // size

    @property
    def elements(self) -> int | None:
        """The number of elements in the buffer."""
        size = self.element_bytes or self.access_bytes
        return None if self.buffer_bytes is None or not size else self.buffer_bytes // size

    @property
    def within_element(self) -> bool:
        """True if the buffer's size is no multiple of what is accessed, so no index names it."""
        size = self.element_bytes or self.access_bytes
        known = self.buffer_bytes is not None and self.offset is not None
        return known and bool(size) and bool((self.buffer_bytes or 0) % (size or 1))

    @property
    def within_warp(self) -> bool:
        """True if a race is between threads of one warp, whatever its message says of the values.

        Only a race of one block knows the other thread.
        """
        if self.thread is None or self.other_thread is None or self.block_size is None:
            return False
        width, height, _ = self.block_size
        here, there = (
            (x + width * (y + height * z)) // WARP for x, y, z in (self.thread, self.other_thread)
        )
        return here == there

    def sentence(self) -> str:
        """Return the finding as a sentence without file and line."""
        parts = [self.message]
        if self.kind == "race" and self.other_line is not None:
            parts.append(
                f"(a {_access(self.write)} here, a {_access(self.other_write)} in line "
                f"{self.other_line})"
            )
        if self.buffer:
            what = f"`{self.buffer}`"
            if self.kind in ("leak", "invalid_copy"):
                plural = "" if self.buffer_bytes == 1 else "s"
                what += f" ({self.buffer_bytes} byte{plural})" if self.buffer_bytes else ""
            elif self.within_element and self.kind == "out_of_bounds":
                what = (
                    f"a {_access(self.write)} of {self.access_bytes} bytes at byte {self.offset} "
                    f"of {what}, which has {self.buffer_bytes}"
                )
            elif self.kind == "misaligned" and self.offset is not None:
                what = f"byte {self.offset} of {what}"
            elif self.element is not None and self.space != "local":
                what += f"[{self.element}] of {self.elements} element"
                what += "" if self.elements == 1 else "s"
                if self.kind == "out_of_bounds":
                    what = f"a {_access(self.write)} of {what}"
            parts.append(f": {what}")
        elif self.kind == "invalid_copy" and self.space == "host" and self.buffer_bytes is not None:
            parts.append(
                f": {self.access_bytes} bytes, from byte {self.offset} of a block of "
                f"{self.buffer_bytes} bytes"
            )
        if self.kind == "out_of_bounds" and self.other_line is not None:
            parts.append(f", its index overflows `int` in line {self.other_line}")
        if self.arrived and self.block_size:
            parts.append(f": {self.arrived} of {math.prod(self.block_size)} threads reach it")
            if self.other_line and self.other_line != self.line:
                parts.append(f", others wait in line {self.other_line}")
        if self.kernel and self.block and self.thread:
            parts.append(
                f", kernel {self.kernel}, block {grid_index(self.block)}, "
                f"thread {grid_index(self.thread)}"
            )
            if self.other_thread:
                parts.append(f" and thread {grid_index(self.other_thread)}")
        text = parts[0]
        for part in parts[1:]:
            text += part if part[0] in ":," or part.startswith(" and") else f" {part}"
        return text


_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


@functools.cache
def own_messages() -> frozenset[str]:
    """Return the string literals of the runtime: each message of a finding is one of them."""
    texts = (path.read_text(encoding="utf-8") for path in RUNTIME_DIR.iterdir() if path.is_file())
    return frozenset(literal for text in texts for literal in _LITERAL.findall(text))


# What tells findings apart. The runtime keeps 512 in each call, in all calls nearly the same; each
# may need a look at the source, which takes up to 20 ms.
_DISTINCT = ("kind", "message", "pc", "other_pc", "file", "line", "column", "buffer")
_MOST_DISTINCT = 1024

_ABSENT = "a shuffle reads a lane that does not take part"


def read_findings(
    records: Iterable[Mapping[str, Any]],
    *,
    places: Mapping[int, Place],
    sources: Mapping[str, str],
    wrong: bool = False,
) -> tuple[Finding, ...]:
    """Return the folded findings of a report, errors before warnings, by line.

    Threads that end before a barrier are a finding only if there is an error as well, or the
    results were `wrong`: a kernel may be right without them. Where no error explains wrong
    results, a shuffle from a lane that does not take part is one: a GPU may give another value,
    with which the result is right.

    `places` maps program counters (see `program_counters`). `sources` maps file names to
    rewritten texts, which contain the names of arrays.
    """
    told = [record for record in records if record["record"] == "finding"]
    if len({tuple(str(record.get(key)) for key in _DISTINCT) for record in told}) > _MOST_DISTINCT:
        raise ValueError("more findings than the runtime keeps")
    found = [_finding(record, places, sources) for record in told]
    found = [proven for one in found if (proven := _proven(one, sources)) is not None]
    if all(finding.severity == "warning" for finding in found):
        if wrong:
            found = [replace(f, severity="error") if f.message == _ABSENT else f for f in found]
        else:
            found = [finding for finding in found if not finding.arrived]
    kept = [_parted(finding, sources) for finding in _explained(found)]
    folded: dict[object, Finding] = {}
    for finding in kept:
        key = _fold_key(finding)
        before = folded.get(key)
        if before is None:
            folded[key] = finding
            continue
        worse = before if before.severity == "error" or finding.severity == "warning" else finding
        folded[key] = replace(worse, count=before.count + finding.count)
    return tuple(
        sorted(folded.values(), key=lambda f: (f.severity, f.file or "", f.line or 0, f.kind))
    )


def read_records(text: str) -> list[dict[str, Any]]:
    """Return the JSON lines of a report; incomplete lines are left out."""
    records = []
    for line in text.splitlines():
        try:
            record = untrusted_json.parse(line)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get("record"), str):
            records.append(record)
    return records


def program_counters(records: Iterable[Mapping[str, Any]]) -> set[int]:
    """Return all program counters in the records."""
    keys = ("pc", "other_pc", "launch_pc")
    return {record[key] for record in records for key in keys if record.get(key)}


# The types of a finding's fields; all but `message` and `count` may be missing.
_TYPES: dict[str, type] = {
    **dict.fromkeys(("kind", "severity", "message", "file", "kernel", "space", "buffer"), str),
    **dict.fromkeys(
        ("pc", "other_pc", "launch_pc", "line", "column", "buffer_bytes", "element_bytes"), int
    ),
    **dict.fromkeys(("offset", "access_bytes", "arrived", "count"), int),
    **dict.fromkeys(("write", "other_write"), bool),
}


def _require_types(record: Mapping[str, Any]) -> None:
    """Raise ValueError if the runtime cannot have written this finding."""
    if record["kind"] not in get_args(Kind) or record["severity"] not in get_args(Severity):
        raise ValueError("an unknown kind of finding")
    for name, kind in _TYPES.items():
        value: Any = record.get(name)
        if type(value) is not kind and (value is not None or name in ("message", "count")):
            raise ValueError(f"{name} is {value!r}")
        if type(value) is int and name != "offset" and value < 0:
            raise ValueError(f"{name} is {value!r}")


def _finding(
    record: Mapping[str, Any], places: Mapping[int, Place], sources: Mapping[str, str]
) -> Finding:
    _require_types(record)
    place = places.get(record.get("pc", 0))
    launch = places.get(record.get("launch_pc", 0))
    if (
        launch is not None
        and launch.file in sources
        and (place is None or place.file not in sources)
    ):
        place = launch  # in a library's kernel: the call of the library
    other = places.get(record.get("other_pc", 0))
    file = record.get("file")
    line = record.get("line")
    finding = Finding(
        kind=record["kind"],
        severity=record["severity"],
        message=record["message"],
        file=PurePath(file).name if file else place.file if place else None,
        line=line if line else (place.line or None) if place else None,
        column=record.get("column"),
        other_file=other.file if other else None,
        other_line=(other.line or None) if other else None,
        kernel=record.get("kernel"),
        block=_read_triple(record.get("block")),
        thread=_read_triple(record.get("thread")),
        other_thread=_read_triple(record.get("other_thread")),
        block_size=_read_triple(record.get("block_size")),
        space=record.get("space"),
        buffer=record.get("buffer"),
        buffer_bytes=record.get("buffer_bytes"),
        element_bytes=record.get("element_bytes"),
        offset=record.get("offset"),
        access_bytes=record.get("access_bytes"),
        write=record.get("write"),
        other_write=record.get("other_write"),
        arrived=record.get("arrived"),
        count=record["count"],
    )
    return _named_index(finding, sources) if finding.column is not None else finding


def _named_index(finding: Finding, sources: Mapping[str, str]) -> Finding:
    """Give an index finding its array's name; the compiler's column is at the `]`."""
    text = sources.get(finding.file or "", "")
    name = _indexed_name(text, finding.line or 0, finding.column or 0)
    if name is None or finding.kind != "out_of_bounds":
        return replace(finding, column=None)
    if _is_checked(text, name):
        message = "an array index runs over the end of its row"
        return replace(
            finding, severity="warning", message=message, buffer=name, space="shared", column=None
        )
    return replace(finding, buffer=name, column=None)


@functools.lru_cache(maxsize=_MOST_DISTINCT)
def _is_checked(text: str, name: str) -> bool:
    """True if all accesses of an array are checked, as the rewritten text shows."""
    name = re.escape(name)
    return bool(re.search(rf"\bgrader_type_{name}\b|grader_variable_\d+\({name}, ", text))


@functools.lru_cache(maxsize=_MOST_DISTINCT)
def _indexed_name(text: str, line: int, column: int) -> str | None:
    """Return the name before the subscripts that end at a place."""
    lines = text.splitlines()
    if not 0 < line <= len(lines):
        return None
    before = "\n".join([*lines[: line - 1], lines[line - 1][:column]])
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        character = before[at]
        if character == "]":
            depth += 1
        elif character == "[":
            depth -= 1
        elif depth == 0 and not character.isspace():
            match = re.search(r"([^\W\d]\w*)$", before[: at + 1])
            return match[1] if match else None
    return None


def _proven(found: Finding, sources: Mapping[str, str]) -> Finding | None:
    """Return a barrier in a branch as an error if the source proves it, else None."""
    if found.message != parted_warps.MESSAGE:
        return found
    text = sources.get(found.file or "", "")
    return (
        replace(found, severity="error") if parted_warps.passes_by(text, found.line or 0) else None
    )


def _explained(found: list[Finding]) -> list[Finding]:
    raced = {(f.kernel, f.buffer) for f in found if f.kind == "race" and f.space == "shared"}
    across_warps = {
        (f.kernel, line)
        for f in found
        if "of one block access" in f.message
        for line in (f.line, f.other_line)
    }
    outside = {
        (f.file, f.line) for f in found if f.kind == "out_of_bounds" and f.severity == "error"
    }
    apart = {f.kernel for f in found if f.kind == "barrier" and f.severity == "error"}
    kept: list[Finding] = []
    for f in found:
        if f.arrived and f.severity == "warning" and f.kernel in apart:
            continue
        if f.arrived and any(other.arrived and other.kernel == f.kernel for other in kept):
            continue
        if f.kind == "uninitialized" and f.space == "shared" and (f.kernel, f.buffer) in raced:
            continue
        lines = {(f.kernel, f.line), (f.kernel, f.other_line)}
        if f.within_warp and lines & across_warps:
            continue
        one_line = f.other_line is not None and (f.file, f.line) == (f.other_file, f.other_line)
        if f.kind == "barrier" and one_line and "different barriers" in f.message:
            continue
        row = f.severity == "warning" and "end of its row" in f.message
        if row and (f.file, f.line) in outside:
            continue
        kept.append(f)
    return kept


_BARRIERS = {
    "threads of one block access one location without a barrier between": "__syncthreads()",
    "threads of one warp access one location without __syncwarp between": "__syncwarp()",
}


def barrier_between(text: str, first: int, last: int | None, *, barrier: str) -> bool:
    """True if a barrier stands between two lines of one function."""
    between = text.split("\n")[first : (last or first) - 1]
    ends = any(line.startswith("}") for line in between)
    return not ends and any(barrier in line for line in between)


def _parted(finding: Finding, sources: Mapping[str, str]) -> Finding:
    """Name the barrier that a race of two lines lacks."""
    barrier = _BARRIERS.get(finding.message)
    if barrier is None or finding.file is None or finding.file != finding.other_file:
        return finding
    first, last = sorted((finding.line or 0, finding.other_line or 0))
    if first in (0, last):
        return finding
    text = sources.get(finding.file, "")
    if any(line.startswith("}") for line in text.split("\n")[first : last - 1]):
        return finding  # two functions
    there = barrier_between(text, first, last, barrier=barrier.removesuffix("()"))
    where = (
        f"line {last} and line {first} of the next round" if there else f"lines {first} and {last}"
    )
    return replace(finding, parted_by=f"`{barrier}` between {where}")


def _fold_key(f: Finding) -> object:
    if f.kind == "race":
        # Both sides may report the same race.
        return (f.kind, f.buffer, frozenset({(f.file, f.line), (f.other_file, f.other_line)}))
    return (f.kind, f.file, f.line, f.buffer if f.line is None else None)


def _read_triple(value: object) -> tuple[int, int, int] | None:
    if isinstance(value, list) and len(value) == 3:
        x, y, z = (int(number) for number in value)
        if min(x, y, z) < 0:
            raise ValueError(f"{value!r} is no place in a grid")
        return x, y, z
    return None


def _access(write: bool | None) -> str:
    return "write" if write else "read"
