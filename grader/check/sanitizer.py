"""compute-sanitizer: its command line, and its XML in the common wording.

The text of its messages changes between versions, so it is matched loosely and
only to choose a kind; whether there was an error is what its exit code says.
One tool is one run:

    memcheck    accesses outside allocations, misaligned ones, failing API
                calls, leaks
    racecheck   hazards in shared memory (global memory it does not see)
    initcheck   reads of global memory that nobody wrote
    synccheck   barriers that not all threads reach
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from xml.etree import ElementTree

from grader.check.finding import hint
from grader.evidence import Finding, FindingKind, Severity
from grader.judge.session import Watcher
from grader.toolchain import Tool

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOUND = 86  # our choice of exit code for "there were errors"
_FILE = "findings.xml"
_MOST_BYTES = 32 << 20
# Between neighbours, so that an overrun of a whole block's width is seen too.
_PADDING_BYTES = 1 << 16

_KINDS: tuple[tuple[str, FindingKind], ...] = (
    (r"misaligned", "misaligned"),
    (r"leak", "leak"),
    (r"uninitialized", "uninitialized"),
    (r"race|hazard", "race"),
    (r"barrier|divergent thread|syncwarp", "barrier"),
    (r"cudaErrorInvalid|on CUDA API call|cuMem|cudaMem|cudaFree", "invalid_copy"),
    (r"invalid|out.of.bounds|illegal", "out_of_bounds"),
)
_WORDS: dict[FindingKind, str] = {
    "out_of_bounds": "outside its array",
    "misaligned": "at a misaligned address",
}
_DISTANCE = re.compile(
    r"(?P<bytes>[\d,]+) bytes (?P<side>after|before) the nearest allocation[^.]*?"
    r"of size (?P<size>[\d,]+) bytes"
)


def watcher(sanitizer: Tool, tool: str) -> Watcher:
    """Return how to run a worker under one of `TOOLS`."""
    command = [
        str(sanitizer.path),
        "--tool",
        tool,
        "--xml",
        "--save",
        _FILE,
        "--error-exitcode",
        str(FOUND),
        "--print-limit",
        "10000",
    ]
    if tool == "memcheck":
        command += ["--leak-check", "full", "--padding", str(_PADDING_BYTES)]
    # torch's cache would hide an overrun inside one of its large blocks.
    return Watcher(command=tuple(command), environment={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})


def read_findings(box: Path, tool: str, file: str, copy: str) -> tuple[Finding, ...]:
    """Return what a run left in its folder; () if it left nothing.

    `copy` is the name under which the tool saw the student's `file`. Raises
    ValueError if the file is not the tool's XML.
    """
    path = box / _FILE
    if not path.is_file():
        return ()
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError("its report is larger than 32 MiB")
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        raise ValueError(f"its report is not XML: {error}") from error
    names = {PurePath(copy).name, PurePath(file).name}
    return tuple(_findings(root, tool, file, names))


def _findings(
    root: ElementTree.Element, tool: str, file: str, names: set[str]
) -> Iterator[Finding]:
    for record in root.iter("record"):
        text = " ".join((record.findtext("what/text") or record.findtext("what") or "").split())
        level = (record.findtext("level") or "").lower()
        if level in ("info", "status") or not text:
            continue
        places = list(_places(record, names))
        kind = _kind(text, tool)
        if not places and kind not in ("leak", "invalid_copy"):
            continue  # in nobody's code but ours or a library's
        severity: Severity = "warning" if level.startswith("warn") else "error"
        yield Finding(
            kind=kind,
            severity=severity,
            message=_message(text, kind, record),
            hint=hint(kind),
            file=file,
            line=places[0] if places else None,
            other_line=next((line for line in places[1:] if line != places[0]), None)
            if kind == "race"
            else None,
            kernel=_kernel(record),
            block=_triple(record.find("who/blockIdx")),
            thread=_triple(record.find("who/threadIdx")),
            access=_access(text),
            access_bytes=_integer(record.findtext("what/size")),
            tool=f"compute-sanitizer {tool}",
        )


def _kind(text: str, tool: str) -> FindingKind:
    by_tool: dict[str, FindingKind] = {
        "racecheck": "race",
        "initcheck": "uninitialized",
        "synccheck": "barrier",
    }
    for pattern, kind in _KINDS:
        if re.search(pattern, text, re.IGNORECASE):
            return kind
    return by_tool.get(tool, "out_of_bounds")


def _places(record: ElementTree.Element, names: set[str]) -> Iterator[int]:
    """Yield the student's lines in the order of the record: where first, then stacks."""
    for element in record.iter():
        path, line = element.findtext("path"), element.findtext("line")
        if path and line and line.isdigit() and int(line) and PurePath(path).name in names:
            yield int(line)
        elif element.tag in ("where", "frame") and element.findtext("file"):
            name = PurePath(element.findtext("file") or "").name
            if name in names and (line or "").isdigit():
                yield int(line or 0)


def _message(text: str, kind: FindingKind, record: ElementTree.Element) -> str:
    return text


def _access(text: str):  # type: ignore[no-untyped-def]
    lowered = text.lower()
    for word in ("read", "write", "atomic"):
        if word in lowered:
            return word
    return None


def _kernel(record: ElementTree.Element) -> str | None:
    name = record.findtext("where/func")
    return name.split("(")[0].strip() if name else None


def _triple(element: ElementTree.Element | None) -> tuple[int, int, int] | None:
    if element is None:
        return None
    values = [_integer(element.findtext(axis)) for axis in "xyz"]
    if any(value is None for value in values):
        return None
    x, y, z = values
    return x or 0, y or 0, z or 0


def _integer(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if re.fullmatch(r"-?\d{1,12}", text) else None
