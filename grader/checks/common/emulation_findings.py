"""Read the report of the checked host build into findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, Literal

from grader.build.artifact import Built
from grader.checks.common.findings import SHOWN, hint
from grader.checks.common.symbolization import locator
from grader.checks.source.cpp_code import closing
from grader.emulation.cuda_cpp.findings import Finding as HostFinding
from grader.emulation.cuda_cpp.findings import barrier_between
from grader.emulation.cuda_cpp.report import Report, report_of
from grader.report.evidence import Finding
from grader.text.hints import filled, hints

TOOL = "host device"  # its name in reports
_SPACES: dict[str, Literal["global", "shared"]] = {"global": "global", "shared": "shared"}
_LOOKED_AT = 2 * SHOWN  # some are merged
_INPUT_WRITTEN = "a read-only input is written"
# By message, where the hint for the kind of finding would mislead.
_HINTS = {
    message: hints("finding").get(text, text) for message, text in hints("emulated_finding").items()
}


def tool_phrase(tools: str) -> str:
    """Return the names of tools in a report, as students read them."""
    return tools.replace(TOOL, "the emulation on the CPU")


def read_run(
    records: Sequence[Mapping[str, Any]], built: Built, text: str, *, wrong: bool = False
) -> tuple[tuple[Finding, ...], Report]:
    """Read a worker's records about a checked build; `text` is the rewritten source file.

    `wrong` says that the judge saw wrong outputs.

    Raises ValueError if the runtime cannot have written a record, so the submission forged it.
    """
    with untrusted_records():
        report = read_emulation(records, built, text, wrong=wrong)
        # A submission can forge thousands, and a look at its source takes up to a second.
        looked_at, others = report.findings[:_LOOKED_AT], report.findings[_LOOKED_AT:]
        findings = [
            _finding(found, built, _hint(found, _text(found, built, text))) for found in looked_at
        ]
        findings += (_finding(found, built, _plain_hint(found)) for found in others)
        return tuple(findings), report


def read_emulation(
    records: Sequence[Mapping[str, Any]], built: Built, text: str, *, wrong: bool = False
) -> Report:
    """Return the emulation's own form of the report; call it in `untrusted_records`."""
    named = [record for record in records if isinstance(record.get("record"), str)]
    sources = {PurePath(built.file).name: text, **built.headers}
    locate = locator(built)
    return report_of(named, locate=locate, sources=sources, wrong=wrong)


@contextmanager
def untrusted_records() -> Iterator[None]:
    """Raise ValueError for what a forged record raises in the block."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a record of the grader's own: {error}") from error


def _text(found: HostFinding, built: Built, text: str) -> str:
    """Return the text of the finding's file; `text` is that of the source file."""
    return text if found.file is None else built.headers.get(PurePath(found.file).name, text)


def _finding(found: HostFinding, built: Built, words: str) -> Finding:
    """Return the finding in the common form; `words` are its hint."""
    # A header of the standard library has lines of its own.
    own = built.own_file(found.file or built.file)
    return Finding(
        kind=found.kind,
        # No memory error on a GPU; the correctness check reports the changed input.
        severity="warning" if found.message == _INPUT_WRITTEN else found.severity,
        message=found.sentence(),
        hint=words,
        file=own or built.file,
        line=found.line if own else None,
        other_line=found.other_line,
        kernel=found.kernel,
        block=found.block,
        thread=found.thread,
        buffer=found.buffer,
        element=found.element,
        access=_access(found.write),
        access_bytes=found.access_bytes,
        count=found.count,
        tool=TOOL,
        space=_SPACES.get(found.space or ""),
        elements=found.elements,
        block_size=found.block_size,
        other_thread=found.other_thread,
        other_access=_access(found.other_write) if found.kind == "race" else None,
    )


def _access(write: bool | None) -> Literal["read", "write"] | None:
    if write is None:
        return None
    return "write" if write else "read"


_FOUND = hints("found")
_GUARD = re.compile(r"\bif\s*\(.*<|<.*\?")
_RETURNS_BEHIND = re.compile(
    r"\bif\s*\([^;]{0,300}\w\s*>\s*\w[^;=]{0,300}\)\s*\{?\s*(?:return|continue|break)\b"
)
_CONDITION = re.compile(r"\bif\s{0,9}\(")
_CHANGED = re.compile(
    r"\b(\w+)\s*\[[^;=]{0,200}\]\s*(?:\+\+|--|[-+*|&^]=)|(?:\+\+|--)\s*(\w+)\s*\["
    r"|(?:^|[;{})])\s*\*\s*(\w+)\s*(?:[-+*|&^]=|=\s*\*\s*\3\s*[-+*|&^])"
    r"|\b(\w+)\s*\[(\w+)\]\s*=\s*\4\s*\[\5\]\s*[-+*|&^]"
)
# Copies whose wait is no barrier; those of groups and of `cuda::barrier` have one that is.
# `float* sums = mem;`, `float* scale = sums + blockDim.x;`, `float* t = (float*)&mem[n];`
_POINTER = re.compile(
    r"\*\s?(?:const\s)?(?P<name>\w+)\s?=\s?(?:\([\w\s]{1,60}\*\)|reinterpret_cast<[\w\s]{1,60}\*>\()?"
    r"\s?&?(?P<base>\w+)\s?(?P<offset>[^;,]{0,100})[;,]"
)
_STORED = re.compile(r"(?:^|[;{})])\s*(\w+)\s*\[[^;=]{0,200}\]\s*=(?!=)")
_INDEXED = re.compile(r"\b(\w+)\s?\[")
# PTX is read as it is written, or as the emulation rewrites it.
_ASYNCHRONOUS = re.compile(r"__pipeline_memcpy_async|cp\.async|grader_copy_async")
_WAITS = {
    "__pipeline_memcpy_async": "`__pipeline_wait_prior(0)`",
    "cp.async": "cp.async.wait_all",
    "grader_copy_async": "cp.async.wait_all",
}
_WAIT = re.compile(r"\b\w*wait\w*")
_BARRIER = re.compile(r"__syncthreads|\bsync\s?\(|arrive_and_wait")
_LEAVES = re.compile(r"\bif\s?\([^;]{0,300}\)\s{0,9}\{?\s{0,40}(?:return|break)\b")
_WIDEST_SCALAR = 8  # bytes
_LINES_BEFORE = 8  # in which a guard or loop head stands, usually


def _hint(found: HostFinding, text: str) -> str:
    """Return what to do about the finding; `text` is the source, whose lines a hint may name."""
    if found.kind == "out_of_bounds" and found.element is not None:
        if found.element < 0:
            return _HINTS["the access begins before its buffer"]
        if found.message == "the access is past the end of its buffer":
            return _beyond(found, text)
    if found.kind == "misaligned" and found.offset is not None:
        width, bytes_ = (found.access_bytes or 0) // 4, found.access_bytes or 0
        if width > 1 and found.offset % bytes_ and found.offset % 4 == 0:
            units = {"element": found.offset // 4, "width": width, "bytes": bytes_}
            return filled("found", "between two vectors", **units)
    if found.message == "host code accesses memory outside an allocation" and found.buffer:
        call = re.search(
            rf"[aA]lloc\w*\([^;]{{0,300}}&\s*{re.escape(found.buffer)}\b[^;]{{0,300}};", text
        )
        if call and "sizeof" not in call[0]:
            return filled("found", "an allocation without sizeof", buffer=found.buffer)
    changed = _CHANGED.search(_line(text, found.line))
    own_line = found.kind == "race" and found.line == found.other_line
    # A sum in shared memory adds other elements of the array, as a tree does, or nothing of it.
    alone = changed and not re.search(
        rf"\b{re.escape(found.buffer or '?')}\s*\[", _line(text, found.line)[changed.end() :]
    )
    alone = alone or found.space == "global"
    if own_line and changed and found.buffer in changed.groups() and alone:
        return filled("found", "one element is changed", line=found.line, buffer=found.buffer)
    if found.kind == "race" and found.line == found.other_line and found.message not in _HINTS:
        return _FOUND["one element of all" if found.write and found.other_write else "one line"]
    apart = found.kind == "race" and "different blocks" in found.message
    if apart and found.write != found.other_write and found.line != found.other_line:
        added, read = found.line, found.other_line
        if not found.write:
            added, read = read, added
        if re.search(r"\batomic\w+\s*\(", _line(text, added)):
            lines = {"read": read, "add": added}
            return filled("found", "blocks are not waited for", buffer=found.buffer, **lines)
    both_write = found.kind == "race" and found.write and found.other_write
    if (
        found.kind == "race"
        and found.severity == "warning"
        and (words := _read_for_cas(found, text))
    ):
        return words
    in_block = found.kind == "race" and "threads of one block" in found.message
    if in_block and (words := _initialised_late(found, text)):
        return words
    if in_block and (words := _parts_that_meet(found, text)):
        return words
    if in_block and found.line and found.other_line:
        accesses = _access(found.write), _access(found.other_write)
        return two_lines_hint(text, (found.line, found.other_line), accesses)
    if found.kind == "invalid_copy" and found.access_bytes and found.buffer_bytes:
        times, rest = divmod(found.access_bytes, found.buffer_bytes)
        pointer = re.search(r"sizeof\(?\s*(\w+)", _line(text, found.line))
        types = ("float", "double", "int", "char", "long", "unsigned", "half", "__half")
        if found.access_bytes == 8 and pointer and pointer[1] not in types:
            return filled("found", "size of a pointer", name=pointer[1])
        if rest == 0 and times in (2, 4, 8) and _allocated(found.buffer, text):
            return filled("found", "bytes are elements", times=times)
    several = found.buffer_bytes != found.access_bytes
    if both_write and several and "different blocks" in found.message:
        return _FOUND["one element of all blocks"]
    return _plain_hint(found)


def _plain_hint(found: HostFinding) -> str:
    """Return what to do about such a finding, without a look at the source."""
    return _HINTS.get(found.message) or hint(found.kind)


def _read_for_cas(found: HostFinding, text: str) -> str:
    """Return that a plain read in front of a loop of atomicCAS does no harm, "" of other races."""
    lines = {found.line: found.write, found.other_line: found.other_write}
    read = [line for line, write in lines.items() if not write]
    swap = [line for line in lines if re.search(r"\batomicCAS\w*\s*\(", _line(text, line))]
    if len(lines) != 2 or len(read) != 1 or len(swap) != 1 or read == swap:
        return ""
    return filled("found", "read for a loop of atomicCAS", read=read[0], swap=swap[0])


def _initialised_late(found: HostFinding, text: str) -> str:
    """Return where a `cuda::barrier` of shared memory is initialised while others use it, or ""."""
    of_buffer = re.compile(rf"\binit\s?\(\s?&?\s?{re.escape(found.buffer or '?')}\b")
    for line, other in ((found.line, found.other_line), (found.other_line, found.line)):
        if found.buffer and line != other and of_buffer.search(_line(text, line)):
            names = {"buffer": found.buffer, "line": line, "other_line": other}
            return filled("found", "a barrier is not ready", **names)
    return ""


def _parts_that_meet(found: HostFinding, text: str) -> str:
    """Return which two parts of a dynamic shared array a race is between, "" if it is within one.

    Parts that begin at one place are one memory that is used twice.
    """
    name = re.escape(found.buffer or "?")
    # As it is written, or as the emulation rewrites it.
    dynamic = rf"\bextern\b[^;]{{0,300}}\b{name}\b|\bgrader_dynamic_shared\(\"{name}\""
    if not found.buffer or not re.search(dynamic, text):
        return ""
    parts = {found.buffer: ""}
    for pointer in _POINTER.finditer(text):
        if pointer["base"] in parts:
            parts[pointer["name"]] = pointer["offset"].strip()

    def used(line: int | None, write: bool | None) -> set[str]:
        words = _line(text, line)
        stored = _STORED.search(words) if write else None
        return {stored[1]} if stored else set(_INDEXED.findall(words)) & parts.keys()

    here, there = used(found.line, found.write), used(found.other_line, found.other_write)
    if len(here) != 1 or len(there) != 1 or not here | there <= parts.keys():
        return ""
    (first,), (second,) = here, there
    if parts[first] == parts[second]:
        return ""
    lines = {"line": found.line, "other_line": found.other_line}
    names = {"first": first, "second": second, "buffer": found.buffer}
    return filled("found", "parts of one array meet", **names, **lines)


def two_lines_hint(
    text: str, lines: tuple[int, int], accesses: tuple[str | None, str | None]
) -> str:
    """Return where a barrier is missing between two accesses of a block, by their lines."""
    (other_line, other_access), (line, access) = sorted(
        zip(lines, accesses, strict=True), key=lambda one: one[0]
    )
    if wait := _wait_behind_barrier(text, other_line, line):
        return filled(
            "found", "an asynchronous copy is not waited for", copy=other_line, line=line, wait=wait
        )
    between = barrier_between(text, other_line, line, barrier="__syncthreads")
    leaves = (other_access, access) == ("write", "read") and _LEAVES.search(
        "\n".join(text.split("\n")[line - 1 : line + 1])
    )
    other_side = "two lines, leaves by it" if leaves else "two lines, other side"
    return filled(
        "found",
        other_side if between else "two lines",
        line=line,
        access=access,
        other_line=other_line,
        other_access=other_access,
    )


def _wait_behind_barrier(text: str, copy: int, line: int) -> str:
    """Return how an asynchronous copy is waited for if no barrier follows the wait; else ""."""
    how = _ASYNCHRONOUS.search(_line(text, copy))
    between = "\n".join(text.split("\n")[copy : line - 1])
    waits = [one.end() for one in _WAIT.finditer(between)]
    if how is None or _BARRIER.search(between, waits[-1] if waits else len(between)):
        return ""
    return _WAITS[how[0]]


def _allocated(buffer: str | None, text: str) -> bool:
    """True if the file itself allocates the array."""
    name = re.escape(buffer or "?")
    return re.search(rf"[aA]lloc\w*\([^;]{{0,300}}&\s*{name}\b", text) is not None


def _line(text: str, line: int | None) -> str:
    return text.split("\n")[line - 1] if line and line <= text.count("\n") + 1 else ""


def _joined_wrong(line: str) -> str:
    """Return the hint for two tests that are joined with the wrong operator, "" if none are."""
    for found in _CONDITION.finditer(line):
        end = closing(line, found.end() - 1)
        head = line[found.end() : end]
        returns = re.match(r"\s{0,9}\{?\s{0,9}return\b", line[end + 1 :])
        if returns and "||" not in head and _all_have(head.split("&&"), ">="):
            return "returns past both"
        if not returns and "&&" not in head and _all_have(head.split("||"), "<"):
            return "past either"
    return ""


def _all_have(tests: Sequence[str], sign: str) -> bool:
    return len(tests) > 1 and all(re.search(rf"\w\s?{sign}\s?[A-Za-z_]", one) for one in tests)


def _beyond(found: HostFinding, text: str) -> str:
    """Return a hint for an access past the end: a guard, a loop's end, or a wrong index."""
    element, elements = found.element or 0, found.elements or 0
    if found.within_element:
        wide = (found.access_bytes or 0) > _WIDEST_SCALAR
        if wide and (found.offset or 0) >= (found.buffer_bytes or 0):
            return _FOUND["a vector access past the end"]
        if wide:
            return _FOUND["a vector access crosses the end"]
        if not found.buffer or _allocated(found.buffer, text):
            return _FOUND["too few bytes"]
        units = {"buffer": found.buffer, "bytes": found.access_bytes}
        return filled("found", "a wide access crosses the end", **units)
    line = found.line or 0
    lines = dict(enumerate(text.splitlines()[:line], start=1))
    near = {at: words for at, words in lines.items() if at > line - _LINES_BEFORE}
    first = max((at for at, words in lines.items() if "__global__" in words), default=1)
    for at, words in lines.items():
        if at > first and (key := _joined_wrong(words)):
            return filled("found", key, line=at)
    inclusive = [at for at, words in near.items() if "<=" in words]
    if inclusive and element == elements:
        return filled("found", "one past the end", line=inclusive[-1])
    returns = [at for at, words in near.items() if _RETURNS_BEHIND.search(words)]
    if returns and element == elements:
        return filled("found", "one past a return", line=returns[-1])
    guards = [at for at, words in near.items() if at > line - 3 and _GUARD.search(words)]
    if guards:
        return filled("found", "the guard lets it through", line=guards[-1])
    if found.thread == (0, 0, 0):
        return _FOUND["the first thread is past the end"]
    return hint(found.kind)
