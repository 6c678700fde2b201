"""What the source says about a copy: its size, its pitches and its direction as they are written.

Only for a copy that failed, or left elements out; the words are a hint, never part of a verdict.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.assignment.signature import Argument, Signature
from grader.checks.common import cpp_code
from grader.checks.common.stuck_loops import Loop, loops
from grader.report.evidence import Finding
from grader.text.hints import hints
from grader.vocabulary import Memory

_COPY = re.compile(r"\b(cudaMemcpy(?:2D)?)(?:Async)?\s*\(")
_PARAMETERS = {
    "cudaMemcpy": ("dst", "src", "count", "kind"),
    "cudaMemcpy2D": ("dst", "dpitch", "src", "spitch", "width", "height", "kind"),
}
_MOST_SHOWN = 60  # characters of a condition
_FREE = re.compile(r"\b(?:free|cudaFree|cudaFreeHost)\s*\(\s*(\w+)\s*\)|\bdelete\s*\[\]\s*(\w+)")
_POINTER_ADDRESS = re.compile(r"\b(cudaMem(?:cpy|set)\w*)\s*\((?:[^;,]*,)?[^;,&]*&\s*(\w+)\s*,")


@dataclass(frozen=True, slots=True)
class _Copy:
    """A call, and its arguments as they are written, by the names of the parameters."""

    line: int
    function: str
    given: dict[str, str]


def copy_hint(text: str, line: int | None, message: str, signature: Signature) -> str:
    """Return what the copy in a line does, in its own words, for a finding's message; or ""."""
    if words := _address_of_pointer(text, line):
        return words
    copy = next((one for one in _copies(text) if one.line == line), None)
    if copy is None:
        return ""
    if "direction" in message:
        return _direction(copy, text, signature)
    if "read-only input" in message:
        return (
            f"the destination comes first: this {copy.function} copies from `{copy.given['src']}` "
            f"to `{copy.given['dst']}`, an input"
        )
    if copy.function == "cudaMemcpy2D" and ("pitch" in message or "past the end" in message):
        words = _pitches(copy, text)
        ends = [
            length
            for role, name in (("dst", copy.given["dst"]), ("src", copy.given["src"]))
            if (length := _length(role, name, text, signature))
        ]
        return (
            f"this copy has {words}: it takes `height` rows of `width` bytes, whose beginnings lie "
            f"dpitch bytes apart in the destination and spitch in the source; {'; '.join(ends)}"
        ).rstrip(" ;")
    if "past the end" in message:
        ends = [
            length
            for role in ("dst", "src")
            if (length := _length(role, copy.given[role], text, signature))
        ]
        size = _value(copy.given["count"], text)
        begins = [
            f"the copy begins at `{copy.given[role]}`"
            for role in ("dst", "src")
            if re.search(r"\+", copy.given[role])
        ]
        words = "; ".join([f"the copy has `{size}` bytes", *begins, *ends])
        return words if ends else ""
    return ""


def copy_into(text: str, output: str, signature: Signature) -> str:
    """Return "the copy in line 11 has `rows` bytes; …" about copies into an output, or ""."""
    found = [one for one in _copies(text) if re.fullmatch(rf"{output}\b.*", one.given["dst"])]
    if len(found) != 1:
        return ""
    (copy,) = found
    length = _length("dst", output, text, signature)
    loop = _around(text, copy.line)
    if loop is not None and copy.given["dst"] == output:
        return (
            f"the copy in line {copy.line} stands in the loop `{loop.condition.strip()}`, and its "
            f"destination is the beginning of `{output}` in every round"
        )
    if copy.function == "cudaMemcpy":
        return f"the copy in line {copy.line} has `{copy.given['count']}` bytes; {length}"
    return (
        f"the copy in line {copy.line} has `{copy.given['height']}` rows of "
        f"`{copy.given['width']}` bytes; {length}"
    )


def allocation_hint(text: str, line: int | None) -> str:
    """Return how long the host arrays of a line are as they are allocated, "" if none is found."""
    lines = cpp_code.without_comments(text).split("\n")
    if line is None or not 0 < line <= len(lines):
        return ""
    for name in dict.fromkeys(array for array, _, _ in cpp_code.subscripts(lines[line - 1])):
        word = re.escape(name)
        for number, other in enumerate(lines, start=1):
            given = re.search(rf"\b{word}\s*=[^;=]*\bmalloc\s*\(([^;]+)\)\s*;", other)
            if given and "sizeof" not in given[1]:
                return hints("found")["an allocation without sizeof"].replace("BUFFER", name)
            made = re.search(rf"\b{word}\s*=\s*new\s+\w+\s*\[([^;]+)\]\s*;", other)
            made = made or re.search(rf"\bvector\s*<[^;]*>\s*{word}\s*[({{]([^;,]+)[)}},]", other)
            if given or made:
                length = f"`{' '.join((given or made or ' ')[1].split())}`"
                return (
                    f"line {number} makes `{name}` {length} {'bytes' if given else 'elements'} "
                    f"long: compare that with the loop and the index of line {line}"
                )
    return ""


def pitch_hint(text: str, output: str, signature: Signature) -> str:
    """Return what the only copy into an output takes of its source, "" if there is not one."""
    found = [one for one in _copies(text) if one.given["dst"] == output]
    source = _length("src", found[0].given["src"], text, signature) if len(found) == 1 else ""
    if not source:
        return ""
    if found[0].function == "cudaMemcpy":
        return (
            f"the copy in line {found[0].line} takes `{found[0].given['count']}` bytes that lie "
            f"side by side, and {source}: gather what lies apart first, or use cudaMemcpy2D"
        )
    return (
        f"the copy in line {found[0].line} has {_pitches(found[0], text)}, and {source}: is spitch "
        "the distance from row to row there, and does the source begin at the right element?"
    )


def set_hint(text: str, output: str) -> str:
    """Return which cudaMemset of an output stands behind what computes it, "" if none does."""
    bare = cpp_code.without_comments(text)
    found = re.finditer(rf"\bcudaMemset\w*\s*\(\s*{re.escape(output)}\s*,", bare)
    for match in itertools.islice(found, cpp_code.MOST_CALLS):
        line = bare.count("\n", 0, match.start()) + 1
        before = [one for one in cpp_code.launches(text) if output in one.arguments]
        lines = [one.line for one in before if one.line < line]
        lines += [
            one.line for one in _copies(text) if one.given["dst"] == output and one.line < line
        ]
        if lines:
            return (
                f"line {line} sets all of `{output}` with cudaMemset, after line {max(lines)} has "
                "written the result there: leave it out, or put it first"
            )
    return ""


def _pitches(copy: _Copy, text: str) -> str:
    names = ("dpitch", "spitch", "width", "height")
    return ", ".join(f"{name} = `{_value(copy.given[name], text)}`" for name in names)


def room_hint(text: str, found: Finding) -> str:
    """Return how much memory the file gives an array that an index leaves, "" if it is not seen."""
    for number, size in _allocations(text, found.buffer or "?")[:1]:
        words = hints("found")["room for an index"].replace("BUFFER", str(found.buffer))
        words = words.replace("BYTES", size).replace("NUMBER", str(number))
        return words.replace("LINE", str(found.line))
    return ""


def loop_hint(text: str, found: Finding, signature: Signature) -> str:
    """Return which loop leads host code to an access outside an array, "" if none is found."""
    loop = None if found.line is None else _around(text, found.line)
    if loop is None or len(loop.condition) > _MOST_SHOWN:
        return ""
    array = next((one for one in signature.arrays if one.name == found.buffer), None)
    long = f", and `{array.name}` has {_elements(array)}" if array else ""
    return (
        f"line {found.line} runs in the loop `{' '.join(loop.condition.split())}`{long}: compare "
        "the end of the loop with the length of the axis that it runs along"
    )


def freed_hint(text: str) -> str:
    """Return which memory the file frees and then uses, "" if none."""
    bare = cpp_code.without_comments(text)
    for match in _FREE.finditer(bare):
        name = match[1] or match[2]
        # As far as the block goes in which it is freed.
        begin = bare.find(";", match.end()) + 1
        depth, end = 0, begin
        while end < len(bare) and depth >= 0:
            depth += (bare[end] == "{") - (bare[end] == "}")
            end += 1
        block = bare[begin:end]
        if re.search(r"\b(?:return|break|continue)\b|\bcase\b", bare[match.end() : begin]):
            continue
        used = re.search(rf"(?<![\w.&])\b{name}\b(?!\s*=(?!=))", block)
        again = re.search(rf"\b{name}\s*=(?!=)|&\s*{name}\b", block)
        if used and not (again and again.start() < used.start()):
            line = bare.count("\n", 0, match.start()) + 1
            other = bare.count("\n", 0, begin + used.start()) + 1
            return f"line {line} frees `{name}`, and line {other} still uses it: free it at the end"
    return ""


def address_hint(text: str) -> str:
    """Return which copy gets the address of a pointer variable, "" if none does."""
    bare = cpp_code.without_comments(text)
    calls = itertools.islice(_POINTER_ADDRESS.finditer(bare), cpp_code.MOST_CALLS)
    lines = (bare.count("\n", 0, call.start()) + 1 for call in calls)
    return next((words for line in lines if (words := _address_of_pointer(text, line))), "")


def _address_of_pointer(text: str, line: int | None) -> str:
    """Recognise a call that gets the address of a pointer variable in the place of the pointer."""
    lines = cpp_code.without_comments(text).split("\n")
    call = _POINTER_ADDRESS.search(lines[line - 1]) if line and line <= len(lines) else None
    # A variable that is no array can be copied to.
    if call is None or not _allocations(text, call[2]):
        return ""
    name = call[2]
    return (
        f"`&{name}` in line {line} is the address of the pointer variable itself, in host memory: "
        f"{call[1]} needs `{name}`, which holds the array's address"
    )


def _around(text: str, line: int) -> Loop | None:
    """Return the innermost loop around a line, None if there is none."""
    around = [loop for loop in loops(text) if loop.first <= line <= loop.last]
    return min(around, key=lambda one: one.last - one.first, default=None)


def _copies(text: str) -> Iterator[_Copy]:
    bare = cpp_code.without_comments(text)
    for match in itertools.islice(_COPY.finditer(bare), cpp_code.MOST_CALLS):
        begin = match.end() - 1
        given = cpp_code.split(bare[begin + 1 : cpp_code.closing(bare, begin)])
        names = _PARAMETERS[match[1]]
        if len(given) >= len(names):
            line = bare.count("\n", 0, match.start()) + 1
            words = (" ".join(one.split()) for one in given)
            yield _Copy(line, match[1], dict(zip(names, words, strict=False)))


def _value(given: str, text: str) -> str:
    """Return what a variable is set to in its only assignment, or the argument as it is."""
    if not re.fullmatch(r"[A-Za-z_]\w*", given):
        return given
    bare = cpp_code.without_comments(text)
    several = len(re.findall(rf"(?<![\w.]){given}\s*[-+*/]?=(?!=)", bare)) != 1
    return given if several else cpp_code.first_value(bare, given) or given


def _length(role: str, name: str, text: str, signature: Signature) -> str:
    """Return how long an array is, by its shape or as it is allocated; "" if that is not known."""
    plain = re.match(r"\w+", re.sub(r"^\([^)]*\)\s*", "", name))
    if plain is None:
        return ""
    word = plain[0]
    where = "destination" if role == "dst" else "source"
    array = next((one for one in signature.arrays if one.name == word), None)
    if array is not None:
        return f"the {where} `{word}` has {_elements(array)}"
    given = [size for _, size in _allocations(text, word)]
    return f"the {where} `{word}` was given `{given[0]}` bytes" if len(given) == 1 else ""


def _allocations(text: str, name: str) -> list[tuple[int, str]]:
    """Return the line and the bytes of each cudaMalloc and malloc of an array."""
    bare, word = cpp_code.without_comments(text), re.escape(name)
    calls = rf"\b(cudaMalloc\w*)\s*\((?=[^;]*&\s*{word}\s*,)|\b{word}\s*=[^;=]*\bmalloc\s*\("
    found = []
    for match in re.finditer(calls, bare):
        inside = bare[match.end() : cpp_code.closing(bare, match.end() - 1)]
        arguments = cpp_code.split(inside)
        size = arguments[1] if match[1] and len(arguments) > 1 else inside
        found.append((bare.count("\n", 0, match.start()) + 1, " ".join(size.split())))
    return found


def _elements(array: Argument) -> str:
    extents = " × ".join(extent.text for extent in array.shape or ())
    return f"{extents} elements, `{extents.replace(' × ', ' * ')} * sizeof({_type(array)})` bytes"


def _type(array: Argument) -> str:
    return {"float32": "float", "float64": "double", "int32": "int"}.get(array.type, array.type)


def _direction(copy: _Copy, text: str, signature: Signature) -> str:
    source, target = (_memory(copy.given[role], text, signature) for role in ("src", "dst"))
    if source is None or target is None:
        return ""
    kind = f"cudaMemcpy{source.value.title()}To{target.value.title()}"
    return (
        f"the source `{copy.given['src']}` is in {source.value} memory and the destination "
        f"`{copy.given['dst']}` in {target.value} memory: the direction is {kind}"
    )


def _memory(name: str, text: str, signature: Signature) -> Memory | None:
    """Return where a pointer points to, None if the text does not show it."""
    array = next((one for one in signature.arrays if one.name == name), None)
    if array is not None:
        return array.memory
    if not re.fullmatch(r"\w+", name):
        return None
    if re.search(rf"\bcudaMalloc(?:Pitch|Async)?\s*\([^;]*&\s*{name}\b", text):
        return Memory.DEVICE
    host = rf"\bcuda(?:MallocHost|HostAlloc)\s*\([^;]*&\s*{name}\b"
    if re.search(rf"{host}|\b{name}\s*=[^;]*\b(?:malloc|new|calloc)\b", text):
        return Memory.HOST
    return None
