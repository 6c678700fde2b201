"""What the source says about a copy: its size, its pitches and its direction as they are written.

Only for a copy that failed, or left elements out; the words are a hint, never part of a verdict.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.assignment.signature import Signature
from grader.checks.source import cpp_code
from grader.checks.source.host_arrays import (
    address_of_pointer,
    allocations,
    bytes_of,
    c_type,
    elements,
    loop_around,
)
from grader.checks.source.size_product import Product, product
from grader.vocabulary import Memory

_COPY = re.compile(r"\b(cudaMemcpy(?:2D)?)(?:Async)?\s*\(")
_PARAMETERS = {
    "cudaMemcpy": ("dst", "src", "count", "kind"),
    "cudaMemcpy2D": ("dst", "dpitch", "src", "spitch", "width", "height", "kind"),
}


@dataclass(frozen=True, slots=True)
class _Copy:
    """A call, and its arguments as they are written, by the names of the parameters."""

    line: int
    function: str
    given: dict[str, str]


def copy_hint(text: str, line: int | None, message: str, signature: Signature) -> str:
    """Return what the copy in a line does, in its own words, for a finding's message; or ""."""
    if words := address_of_pointer(text, line):
        return words
    copy = next((one for one in _copies(text) if one.line == line), None)
    if copy is None:
        return _set_too_much(text, line, signature) if "past the end" in message else ""
    if "direction" in message:
        return _direction(copy, text, signature)
    if "read-only input" in message:
        return (
            f"the destination comes first: this {copy.function} copies from `{copy.given['src']}` "
            f"to `{copy.given['dst']}`, an input"
        )
    if copy.function == "cudaMemcpy2D" and ("pitch" in message or "past the end" in message):
        return _of_rows(copy, message, text, signature)
    if "past the end" in message:
        past = {role for role in ("dst", "src") if f"`{_name(copy.given[role])}` (" in message}
        ends = [
            length
            for role in ("dst", "src")
            if (not past or role in past)
            and (length := _length(role, copy.given[role], text, signature))
        ]
        size = _value(copy.given["count"], text)
        begins = [
            f"the copy begins at `{copy.given[role]}`"
            for role in ("dst", "src")
            if (not past or role in past) and re.search(r"\+", copy.given[role])
        ]
        words = "; ".join([f"the copy has `{size}` bytes", *begins, *ends])
        return words if ends else ""
    return ""


def _of_rows(copy: _Copy, message: str, text: str, signature: Signature) -> str:
    """Return which argument of a cudaMemcpy2D that was refused does not fit its arrays."""
    bare = cpp_code.without_comments(text)
    value = {name: _value(given, text) for name, given in copy.given.items()}
    shown = {name: f"{name} = `{words}`" for name, words in value.items()}
    if "sizeof" in value["height"] and "sizeof" not in value["width"]:
        return (
            f"{shown['width']} and {shown['height']} are exchanged: width counts the bytes of each "
            "row that are copied, height counts rows"
        )
    sizes = {
        name: product(copy.given[name], bare) for name in ("dpitch", "spitch", "width", "height")
    }
    sides = (("dst", "dpitch", "destination"), ("src", "spitch", "source"))
    if "pitch" in message:
        width = sizes["width"]
        for _, pitch, where in sides:
            if width is not None and (step := sizes[pitch]) is not None and _exceeds(width / step):
                return (
                    f"this copy has {shown['width']}, {shown['height']}, but rows lie "
                    f"{shown[pitch]} bytes apart in the {where}: width counts the bytes of each "
                    "row that are copied, a pitch all of its bytes"
                )
    for role, pitch, where in sides if "past the end" in message else ():
        name = _name(copy.given[role])
        has, step, height = bytes_of(name, text, signature), sizes[pitch], sizes["height"]
        if has is None or step is None or height is None or not _exceeds(step * height / has):
            continue
        over = step * height / has
        much = {name for name, power in over.powers if power > 0}
        for part, size, meaning in (
            (pitch, step, f"the distance in bytes from row to row in the {where}"),
            ("height", height, "the number of rows"),
        ):
            if (much or part == pitch) and much <= size.names and (size / over).whole:
                right = (size / over).shown("float" if part == pitch else "")
                length = _length(role, name, text, signature).partition(",")[0]
                return f"{shown[part]} is {meaning}, and {length}: should it be `{right}`?"
    for role, _, where in sides:
        if "+" in copy.given[role] and f"`{_name(copy.given[role])}` (" in message:
            return (
                f"in the {where} the copy begins at `{copy.given[role]}`, and its last row ends "
                "past the end: does it begin at the right element?"
            )
    listed = ", ".join(shown[name] for name in ("dpitch", "spitch", "width", "height"))
    return f"this copy has {listed}: both pitches are distances from row to row, in bytes"


def _exceeds(ratio: Product) -> bool:
    """True if a ratio of two sizes can be above 1."""
    return ratio.number > 1 or any(power > 0 for _, power in ratio.powers)


def _set_too_much(text: str, line: int | None, signature: Signature) -> str:
    """Return how much a cudaMemset in a line sets, and how long its array is; or ""."""
    lines = cpp_code.without_comments(text).split("\n")
    if line is None or not 0 < line <= len(lines):
        return ""
    call = re.search(r"\bcudaMemset(?:Async)?\s*\(\s*(\w+)\s*,[^,;]*,(.*)\)\s*;", lines[line - 1])
    length = _length("dst", call[1], text, signature) if call else ""
    if call is None or not length:
        return ""
    size = cpp_code.split(call[2])[0]
    return f"line {line} sets `{size}` bytes, and {length}"


def copy_into(text: str, output: str, signature: Signature) -> str:
    """Return "the copy in line 11 has `rows` bytes; …" about copies into an output, or ""."""
    found = [one for one in _copies(text) if re.fullmatch(rf"{output}\b.*", one.given["dst"])]
    if len(found) != 1:
        return ""
    (copy,) = found
    length = _length("dst", output, text, signature)
    loop = loop_around(text, copy.line)
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


def pitch_hint(text: str, output: str, signature: Signature) -> str:
    """Return what the only copy into an output takes of its source, "" if there is not one."""
    found = [one for one in _copies(text) if re.fullmatch(rf"{output}\b.*", one.given["dst"])]
    source = _length("src", found[0].given["src"], text, signature) if len(found) == 1 else ""
    if not source:
        return ""
    copy, name = found[0], _name(found[0].given["src"])
    array = next((one for one in signature.arrays if one.name == name), None)
    if array is None and (gathered := _gathered(name, text, signature)):
        return gathered
    if array is not None and array.shape is not None and len(array.shape) == 2:
        columns, kind = array.shape[1].text, c_type(array)
        row = product(f"{columns} * sizeof({kind})")
        step = product(copy.given.get("spitch", ""), cpp_code.without_comments(text))
        if row is not None and step is not None and step != row:
            return (
                f"the copy in line {copy.line} has spitch = "
                f"`{_value(copy.given['spitch'], text)}`, but rows of the source `{name}` begin "
                f"`{row.shown(kind)}` bytes apart"
            )
        if copy.function == "cudaMemcpy" and copy.given["src"] != name:
            return (
                f"the copy in line {copy.line} takes its source from `{copy.given['src']}`: "
                f"element (i, j) of `{name}` is at i * {columns} + j"
            )
    if found[0].function == "cudaMemcpy":
        return (
            f"the copy in line {found[0].line} takes `{found[0].given['count']}` bytes that lie "
            f"side by side, and {source}: gather what lies apart first, or use cudaMemcpy2D"
        )
    return (
        f"the copy in line {found[0].line} has {_pitches(found[0], text)}, and {source}: is spitch "
        "the distance from row to row there, and does the source begin at the right element?"
    )


def _gathered(name: str, text: str, signature: Signature) -> str:
    """Return the line that fills a host array from a matrix, "" if none does."""
    matrices = {one.name: one for one in signature.arrays if len(one.shape or ()) == 2}
    word = rf"\b{re.escape(name)}\s*(?:\[[^;=]{{0,80}}\]\s*=|\.(?:push|emplace)_back\s*\()"
    for number, line in enumerate(cpp_code.without_comments(text).split("\n"), start=1):
        stored = re.search(rf"{word}\s*(\w+)\s*\[([^;]{{1,80}})\]\s*\)?\s*;", line)
        if stored is None or stored[1] not in matrices:
            continue
        columns = (matrices[stored[1]].shape or ())[1].text
        index, begins = stored[2].strip(), f"row i of `{stored[1]}` begins at i * {columns}"
        if cpp_code.NAME.fullmatch(index):
            return (
                f"line {number} takes `{stored[1]}[{index}]`, which lies in the first row until "
                f"`{index}` passes its end: {begins}"
            )
        return f"line {number} takes `{stored[1]}[{index}]`: {begins}, with its first element"
    return ""


def overwritten_hint(text: str, output: str, signature: Signature) -> str:
    """Return which cudaMemset or copy overwrites a result that is there, "" if none does."""
    bare = cpp_code.without_comments(text)
    name = re.escape(output)
    found = re.finditer(rf"\b(cudaMem(?:set|cpy))(?:Async)?\s*(\()\s*{name}\s*,", bare)
    for match in itertools.islice(found, cpp_code.MOST_CALLS):
        line = cpp_code.line_at(bare, match.start())
        given = cpp_code.arguments_at(bare, match.start(2))
        size = product(given[2], bare) if len(given) > 2 else None
        if match[1] == "cudaMemcpy" and (size is None or size != bytes_of(output, text, signature)):
            continue
        lines = [one.line for one in cpp_code.launches(text) if output in one.arguments]
        lines += [one.line for one in _copies(text) if one.given["dst"] == output]
        before = [one for one in lines if one < line]
        if before and loop_around(text, line) is None:
            does = "sets" if match[1] == "cudaMemset" else f"copies `{given[1]}` over"
            return (
                f"line {line} {does} all of `{output}` with {match[1]}, after line {max(before)} "
                "has written the result there: leave it out, or put it first"
            )
    return ""


def _pitches(copy: _Copy, text: str) -> str:
    names = ("dpitch", "spitch", "width", "height")
    return ", ".join(f"{name} = `{_value(copy.given[name], text)}`" for name in names)


def _name(given: str) -> str:
    """Return the array that an argument of a copy begins with, without a cast; "" without one."""
    plain = re.match(r"&?\s*(\w+)", re.sub(r"^\([^)]*\)\s*", "", given))
    return plain[1] if plain else ""


@functools.lru_cache(maxsize=4)
def _copies(text: str) -> Sequence[_Copy]:
    bare, found = cpp_code.without_comments(text), []
    for match in itertools.islice(_COPY.finditer(bare), cpp_code.MOST_CALLS):
        given = cpp_code.arguments_at(bare, match.end() - 1)
        names = _PARAMETERS[match[1]]
        if len(given) >= len(names):
            line = cpp_code.line_at(bare, match.start())
            found.append(_Copy(line, match[1], dict(zip(names, given, strict=False))))
    return found


def _value(given: str, text: str) -> str:
    """Return what a variable is set to in its only assignment, or the argument as it is."""
    if not re.fullmatch(r"[A-Za-z_]\w*", given):
        return given
    return cpp_code.only_value(cpp_code.without_comments(text), given) or given


def _length(role: str, name: str, text: str, signature: Signature) -> str:
    """Return how long an array is, by its shape or as it is allocated; "" if that is not known."""
    word = _name(name)
    where = "destination" if role == "dst" else "source"
    array = next((one for one in signature.arrays if one.name == word), None)
    if array is not None:
        return f"the {where} `{word}` has {elements(array)}"
    given = [size for _, size in allocations(text, word)]
    return f"the {where} `{word}` was given `{given[0]}` bytes" if len(given) == 1 else ""


def _direction(copy: _Copy, text: str, signature: Signature) -> str:
    source, target = (_memory(copy.given[role], text, signature) for role in ("src", "dst"))
    if source is None or target is None:
        return ""
    if source is target is Memory.HOST and "HostToHost" not in copy.given["kind"]:
        for name in (copy.given["dst"], copy.given["src"]):
            for line, _ in allocations(text, _name(name)):
                return (
                    f"line {line} allocates `{name}` in host memory, but `{copy.given['kind']}` "
                    f"and kernels need device memory: cudaMalloc(&{name}, bytes)"
                )
    kind = f"cudaMemcpy{source.value.title()}To{target.value.title()}"
    return (
        f"the source `{copy.given['src']}` is in {source.value} memory and the destination "
        f"`{copy.given['dst']}` in {target.value} memory: the direction is {kind}"
    )


def direction_hint(text: str, signature: Signature) -> str:
    """Return which copy has a direction that its pointers do not have, "" if none is found."""
    for copy in _copies(text):
        sides = [_memory(copy.given[role], text, signature) for role in ("src", "dst")]
        kind = "To".join(side.value.title() for side in sides if side is not None)
        named = re.fullmatch(r"cudaMemcpy\w+To\w+", copy.given["kind"])
        if None not in sides and named and named[0] != f"cudaMemcpy{kind}":
            words = _direction(copy, text, signature)
            return words if words.startswith("line ") else f"line {copy.line}: {words}"
    return ""


def host_argument_hint(text: str, kernel: str, signature: Signature) -> str:
    """Return which launch passes host memory to a kernel, "" if it is not exactly one."""
    found = [
        (launch.line, given)
        for launch in cpp_code.launches(text)
        if launch.kernel == cpp_code.plain_name(kernel)
        for given in launch.given
        if _memory(given, text, signature) is Memory.HOST
    ]
    if len(found) != 1:
        return ""
    ((line, given),) = found
    return (
        f"line {line} passes `{given}`, which is in host memory, to `{kernel}`: a kernel needs "
        "device memory, from cudaMalloc, and cudaMemcpy to it and back"
    )


def _memory(given: str, text: str, signature: Signature) -> Memory | None:
    """Return where a pointer points to, None if the text does not show it."""
    name, bare = _name(given), cpp_code.without_comments(text)
    array = next((one for one in signature.arrays if one.name == name), None)
    if array is not None:
        return array.memory
    if not re.fullmatch(r"&?\s*\w+", given):
        return None
    word = re.escape(name)
    if re.search(rf"\bcudaMalloc(?:Pitch|Async)?\s*\([^;]{{0,300}}&\s*{word}\b", bare):
        return Memory.DEVICE
    host = rf"\bcuda(?:MallocHost|HostAlloc)\s*\([^;]{{0,300}}&\s*{word}\b"
    variable = rf"\b(?:float|double|int)\s+(?:\w+\s*(?:=[^,;]*)?,\s*)*{word}\s*[;,={{]"
    if re.search(rf"{host}|\b{word}\s*=[^;]{{0,300}}\b(?:malloc|new|calloc)\b", bare):
        return Memory.HOST
    array_ = rf"\b(?:float|double|int)\s+{word}\s*\["
    if re.search(array_, cpp_code.host_code(text)):
        return Memory.HOST
    on_host = re.search(variable, bare) and not re.search(
        rf"__(?:device|constant|managed|shared)__[^;(){{}}]*\b{word}\b", bare
    )
    return Memory.HOST if given.startswith("&") and on_host else None
