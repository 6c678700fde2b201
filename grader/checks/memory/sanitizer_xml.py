"""Read compute-sanitizer's XML report into findings.

The text of its messages changes between versions, so it is matched loosely and only to choose a
kind. The exit code says whether there was an error.

A record counts if it names a line of the student's file or has a frame in the student's library;
faults of the worker or of torch do not count.

A leak counts if a repeated call left memory behind (its stack has a frame `grader_call_again`) and
its line leaked more than once. Scratch memory that is allocated once, or replaced by every call, is
kept and not lost. A launch that was refused is no memory error: the call that made it fails.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from typing import Any, Literal, cast
from xml.etree import ElementTree

from grader.checks.common.findings import MASK_HINT, hint
from grader.emulation.cuda_cpp.symbols import Place
from grader.report.evidence import Finding, FindingKind

_KINDS: tuple[tuple[str, FindingKind], ...] = (
    (r"misaligned", "misaligned"),
    (r"leak", "leak"),
    (r"uninitialized", "uninitialized"),
    (r"race|hazard", "race"),
    (r"barrier|divergent thread|syncwarp", "barrier"),
    (r"API call", "invalid_copy"),
    (r"invalid|out.of.bounds|illegal", "out_of_bounds"),
)
_OF_TOOL: dict[str, FindingKind] = {
    "racecheck": "race",
    "initcheck": "uninitialized",
    "synccheck": "barrier",
}
# cudaError_t from here on says that a kernel failed before: a consequence.
_FIRST_KERNEL_ERROR = 700
_AFTERWARDS = re.compile(r"API call to cuda(Get|Peek)\w*Error")
_LAUNCH = re.compile(r"API call to cu(da)?Launch")
_STICKY = re.compile(r"sticky error detected", re.IGNORECASE)  # the same, from 2026 on

# What synccheck calls "Barrier error", by the type that it adds.
_BARRIERS = {
    "Divergent thread(s) in block": "not all threads of the block come to this barrier",
    "Divergent thread(s) in warp": "not all threads of the warp come to this barrier",
    "Invalid arguments": "the mask of a warp function does not fit the threads that call it",
}
_SPACES = {"__global__": "global", "__shared__": "shared", "__local__": "local"}
Access = Literal["read", "write", "atomic"]
Locate = Callable[[set[int]], Mapping[int, Place]]


_FIRST_CALL, _REPEAT = "grader_call", "grader_call_again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReport:
    """The records of a report, sorted: findings, kept memory, and faults outside the submission.

    `kept` (with refused launches) and `foreign` count records; consequences of an earlier error are
    in neither.
    """

    findings: tuple[Finding, ...] = ()
    kept: int = 0
    foreign: int = 0

    @property
    def blames_submission(self) -> bool:
        """True if there are records and all are about the submission.

        The tool's exit code also says "errors" for warnings and for kept memory.
        """
        return self.foreign == 0 and bool(self.findings or self.kept)


class ReportError(ValueError):
    """An incomplete report; `report` holds its complete records."""

    def __init__(self, message: str, report: ToolReport | None = None) -> None:
        super().__init__(message)
        self.report = report or ToolReport()


def parse(
    xml: bytes, tool: str, file: str, copy: str, locate: Locate, headers: Collection[str] = ()
) -> ToolReport:
    """Return what one report says; ReportError if it is not XML or ends early."""
    records: list[ElementTree.Element] = []
    broken: ElementTree.ParseError | None = None
    try:
        # One by one, because a report may end early.
        for _, element in ElementTree.iterparse(io.BytesIO(xml)):
            if element.tag == "record":
                records.append(element)
    except ElementTree.ParseError as error:
        broken = error
    addresses = {a for record in records for f in record.iter("frame") for a in _address(f, copy)}
    own = {name: str(PurePosixPath(file).with_name(name)) for name in headers}
    files = {**own, copy: file, PurePosixPath(file).name: file}
    reader = _Reader(tool=tool, file=file, files=files, copy=copy, places=locate(addresses))
    read = [(record, reader.read(record)) for record in records if _reports_cause(record)]
    known = [(record, finding) for record, finding in read if finding is not None]
    findings = _without_kept_memory([pair for pair in known if not _LAUNCH.search(_text(pair[0]))])
    report = ToolReport(
        findings=findings, kept=len(known) - len(findings), foreign=len(read) - len(known)
    )
    if broken is not None:
        how = "ends early" if records else "is not XML"
        raise ReportError(f"its report {how} ({broken})", report)
    return report


def _reports_cause(record: ElementTree.Element) -> bool:
    """True if a record is an error or warning, and not the consequence of an earlier one."""
    text = _text(record)
    result = _integer(record.findtext("what/result"))
    consequence = (result is not None and result >= _FIRST_KERNEL_ERROR) or (
        _STICKY.search(text) or _AFTERWARDS.search(text)
    )
    return bool(text) and _level(record) in ("error", "warning") and not consequence


def _text(record: ElementTree.Element) -> str:
    return " ".join((record.findtext("what/text") or "").split())


def _level(record: ElementTree.Element) -> str:
    return (record.findtext("level") or "error").lower()


def _without_kept_memory(
    pairs: list[tuple[ElementTree.Element, Finding]],
) -> tuple[Finding, ...]:
    """Drop leaks of memory that a first call allocates and later calls use."""
    leaks = [(record, found) for record, found in pairs if found.kind == "leak"]
    count = Counter(found.line for _, found in leaks)
    lost = {
        found.line
        for record, found in leaks
        if (_REPEAT in (functions := _functions(record)) and count[found.line] > 1)
        # From neither call: a constructor, or an incomplete stack.
        or not {_FIRST_CALL, _REPEAT} & functions
    }
    return tuple(found for _, found in pairs if found.kind != "leak" or found.line in lost)


def _functions(record: ElementTree.Element) -> set[str]:
    return {frame.findtext("func") or "" for frame in record.iter("frame")}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One access of a race: its student's file and line, None in a header of the toolkit."""

    access: str
    place: tuple[str, int] | None
    function: str
    file_name: str

    def line_in(self, other: _Side) -> int | None:
        """Return the line if it is in the same file as the other's."""
        same = (
            self.place is not None and other.place is not None and self.place[0] == other.place[0]
        )
        return self.place[1] if self.place is not None and same else None

    def seen_from(self, other: _Side) -> str:
        """Return where it is, for a message about the other's line."""
        if self.place is None:
            return f"`{self.function}`" + (f" of {self.file_name}" if self.file_name else "")
        if (line := self.line_in(other)) is None:
            return f"{PurePath(self.place[0]).name}:{self.place[1]}"
        return "the same line" if self.place == other.place else f"line {line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads records; `files` are the student's paths by the names that the tool knows."""

    tool: str
    file: str
    files: Mapping[str, str]
    copy: str
    places: Mapping[int, Place]

    def read(self, record: ElementTree.Element) -> Finding | None:
        """Return the record as a finding, None if it is not the student's."""
        text = _text(record)
        kind = self._kind(text)
        places = list(self._lines(record)) or list(self._host_lines(record))
        access, other_access = _access(record), None
        message, other_line = "", None
        if kind == "race" and (sides := self._sides(record)):
            here, there = sides
            places = [here.place] if here.place else places
            access, other_access = here.access, there.access
            other_line = there.line_in(here)
            other_place = there.seen_from(here)
            message = f"race in shared memory: a {access} here, a {other_access} in {other_place}"
        file = places[0][0] if places else self.file
        lines = [line for name, line in places if name == file]
        if not lines and not self._from_library(record):
            return None
        return Finding(
            kind=kind,
            severity="warning" if _level(record) == "warning" else "error",
            message=message or _message(kind, text, record),
            hint=MASK_HINT if kind == "barrier" and _of_one_warp(record) else hint(kind),
            file=file,
            line=lines[0] if lines else None,
            other_line=other_line,
            kernel=_kernel(record),
            block=_triple(record.find("who/blockIdx")),
            thread=_triple(record.find("who/threadIdx")),
            access=cast(Access | None, access),
            other_access=cast(Access | None, other_access),
            access_bytes=_integer(record.findtext("what/size")) if kind != "leak" else None,
            tool=f"compute-sanitizer {self.tool}",
            space=_space(kind, record),
        )

    def _sides(self, record: ElementTree.Element) -> list[_Side]:
        """Return the two accesses of a race, first one in the student's own file if there is one.

        Of several places that the first access conflicts with, the first counts.
        """
        sides = []
        for name in ("source", "destination"):
            access = (record.findtext(f"what/{name}/direction") or "").lower()
            where = record.find(f"what/{name}/where")
            if not access or where is None:
                return []
            sides.append(
                _Side(
                    access=access,
                    place=self._place(where),
                    function=where.findtext("func") or "another function",
                    file_name=PurePath(where.findtext("path") or "").name,
                )
            )
        return sorted(
            sides, key=lambda one: (not one.place, not one.place or one.place[0] != self.file)
        )

    def _kind(self, text: str) -> FindingKind:
        for pattern, kind in _KINDS:
            if re.search(pattern, text, re.IGNORECASE):
                return kind
        return _OF_TOOL.get(self.tool, "out_of_bounds")

    def _lines(self, record: ElementTree.Element) -> Iterator[tuple[str, int]]:
        """Yield the student's files and lines: where it happened, other access, then callers."""
        yield from filter(None, map(self._place, record.iter()))

    def _place(self, element: ElementTree.Element) -> tuple[str, int] | None:
        """Return the student's file and line that an element names, None for another file."""
        path, line = element.findtext("path"), _integer(element.findtext("line"))
        file = self.files.get(PurePath(path).name) if path else None
        return (file, line) if file and line else None

    def _host_lines(self, record: ElementTree.Element) -> Iterator[tuple[str, int]]:
        """Yield the student's files and lines on the host's stack, innermost first."""
        for frame in record.iter("frame"):
            for address in _address(frame, self.copy):
                place = self.places.get(address)
                if place and place.line and (file := self.files.get(place.file)):
                    yield file, place.line

    def _from_library(self, record: ElementTree.Element) -> bool:
        """True if a frame of the host's stack lies in the student's own functions."""
        for frame in record.iter("frame"):
            module, function = frame.findtext("module"), frame.findtext("func") or ""
            foreign = function.startswith(("grader_", "cuda", "libcudart"))
            if module and PurePath(module).name == self.copy and function and not foreign:
                return True
        return False


def _address(frame: ElementTree.Element, copy: str) -> Iterator[int]:
    """Yield the address of the call that a frame of the student's library is in."""
    module, text = frame.findtext("module"), frame.findtext("pc") or ""
    if module and PurePath(module).name == copy and re.fullmatch(r"0x[0-9a-f]{1,12}", text):
        yield int(text, 16) - 1  # the report has the return address


def _message(kind: FindingKind, text: str, record: ElementTree.Element) -> str:
    """Return what happened in a student's words, from the record's parts."""
    size = _integer(record.findtext("what/size"))
    space = _SPACES.get(record.findtext("what/space") or "", "")
    verb = {"read": "reads", "write": "writes", "atomic": "updates"}.get(_access(record) or "", "")
    what = f"{verb} {size} bytes of {space} memory" if verb and size and space else ""
    match kind:
        case "out_of_bounds" if what:
            return f"{what} outside any array"
        case "misaligned" if what:
            return f"{what} at an address that is not a multiple of {size}"
        case "uninitialized" if size:
            return f"reads {size} bytes of global memory that nobody has written"
        case "race":
            return "race in shared memory"
        case "leak" if size:
            return f"{size} bytes of device memory were never freed"
        case "barrier":
            return _BARRIERS.get(record.findtext("what/type") or "", text)
    return text


def _space(kind: FindingKind, record: ElementTree.Element) -> Literal["global", "shared"] | None:
    """Return which memory a finding is about; racecheck sees shared memory, initcheck global."""
    by_kind: dict[str, Literal["global", "shared"]] = {"race": "shared", "uninitialized": "global"}
    known: dict[str, Literal["global", "shared"]] = {"global": "global", "shared": "shared"}
    return known.get(_SPACES.get(record.findtext("what/space") or "", "")) or by_kind.get(kind)


def _of_one_warp(record: ElementTree.Element) -> bool:
    """True if a barrier error is one of a warp function, whose mask is wrong."""
    return (record.findtext("where/func") or "").startswith(("__syncwarp", "__shfl"))


def _access(record: ElementTree.Element) -> str | None:
    word = (record.findtext("what/direction") or "").lower()
    text = (record.findtext("what/text") or "").lower()
    for access in ("atomic", "read", "write"):
        if access in (word or text):
            return access
    return None


def _kernel(record: ElementTree.Element) -> str | None:
    name = record.findtext("where/func") or record.findtext("what/source/where/func")
    return name.split("(")[0].strip()[:200] if name else None


def _triple(element: ElementTree.Element | None) -> tuple[int, int, int] | None:
    if element is None:
        return None
    values: list[Any] = [_integer(element.findtext(axis)) for axis in "xyz"]
    return None if None in values else (values[0], values[1], values[2])


def _integer(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if re.fullmatch(r"-?\d{1,15}", text) else None
