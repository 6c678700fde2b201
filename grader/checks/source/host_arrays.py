"""What the source says about memory of host code: allocations, what fills them, and frees.

Only for a failure that was seen; the words are a hint, never part of a verdict.
"""

from __future__ import annotations

import itertools
import re

from grader.assignment.signature import Argument, Signature
from grader.checks.source import cpp_code
from grader.checks.source.size_product import Product, product
from grader.checks.source.stuck_loops import Loop, loops
from grader.report.evidence import Finding
from grader.text.hints import filled
from grader.vocabulary import Language

_MOST_SHOWN = 60  # characters of a condition
_FREE = re.compile(r"\b(?:free|cudaFree|cudaFreeHost)\s*\(\s*(\w+)\s*\)|\bdelete\s*\[\]\s*(\w+)")
_VARIABLE = re.compile(r"(?!const\b|constexpr\b|using\b|typedef\b|#)[^()#]*[;=]")
_POINTER_ADDRESS = re.compile(
    r"\b(cudaMem(?:cpy|set)\w*)\s*\((?:[^;,]{0,300},)?[^;,&]{0,300}&\s*(\w+)\s*,"
)


def allocation_hint(text: str, line: int | None) -> str:
    """Return how long the host arrays of a line are as they are allocated, "" if none is found."""
    lines = cpp_code.without_comments(text).split("\n")
    if line is None or not 0 < line <= len(lines):
        return ""
    for name in dict.fromkeys(array for array, _, _ in cpp_code.subscripts(lines[line - 1])):
        word = re.escape(name)
        for number, other in enumerate(lines, start=1):
            given = re.search(rf"\b{word}\s*=[^;=]{{0,300}}\bmalloc\s*\(([^;]+)\)\s*;", other)
            if given and "sizeof" not in given[1]:
                return filled("found", "an allocation without sizeof", buffer=name)
            made = re.search(rf"\b{word}\s*=\s*new\s+\w+\s*\[([^;]+)\]\s*;", other)
            made = made or re.search(
                rf"\bvector\s*<[^;]{{0,300}}>\s*{word}\s*[({{]([^;,]+)[)}},]", other
            )
            if given or made:
                length = f"`{' '.join((given or made or ' ')[1].split())}`"
                return (
                    f"line {number} makes `{name}` {length} {'bytes' if given else 'elements'} "
                    f"long: compare that with the loop and the index of line {line}"
                )
    return ""


def room_hint(text: str, found: Finding) -> str:
    """Return how much memory the file gives an array that an index leaves, "" if it is not seen."""
    if re.search(
        rf"\bcudaMallocPitch\s*\([^;]{{0,300}}&\s*{re.escape(found.buffer or '?')}\b", text
    ):
        return ""
    for number, size in allocations(text, found.buffer or "?")[:1]:
        if words := _other_length(text, found, number, size):
            return words
        place = {"buffer": found.buffer, "line": found.line}
        return filled("found", "room for an index", bytes=size, number=number, **place)
    return ""


def copied_too_early_hint(text: str) -> str:
    """Return which copy to the host comes before the only launch that fills its source, or ""."""
    host = cpp_code.host_code(text)
    kernels = cpp_code.kernels(text)
    filled: dict[str, list[tuple[int, str]]] = {}
    for launch in cpp_code.launches(text):
        kernel = kernels.get(launch.kernel)
        pairs = zip(launch.arguments, kernel.parameters, strict=False) if kernel else ()
        for given, parameter in pairs:
            if kernel is not None and given and kernel.writes(parameter):
                filled.setdefault(given, []).append((launch.line, launch.kernel))
    copies = re.finditer(r"\bcudaMemcpy(?:Async)?\(", host)
    for match in itertools.islice(copies, cpp_code.MOST_CALLS):
        given_ = cpp_code.arguments_at(host, match.end() - 1)
        line = cpp_code.line_at(host, match.start())
        source = given_[1] if len(given_) > 3 and "DeviceToHost" in given_[3] else ""
        fills = filled.get(source, [])
        if fills and min(fills)[0] > line and loop_around(text, line) is None:
            at, kernel_name = min(fills)
            return (
                f"line {line} copies `{source}` to the host before line {at} launches "
                f"`{kernel_name}`, which computes it: launch first"
            )
    return ""


def reserved_hint(text: str) -> str:
    """Return which vector only has room and no elements, "" if none is indexed so."""
    host = cpp_code.host_code(text)
    for made in itertools.islice(re.finditer(r"\b(\w+)\.reserve\(([^;()]{1,60})\)", host), 8):
        name, length = made.groups()
        grows = re.search(rf"\b{name}\.(?:push_back|emplace_back|resize|assign|insert)\b", host)
        if grows is None and re.search(rf"\b{name}\s?\[", host):
            line = cpp_code.line_at(host, made.start())
            return (
                f"`{name}` has no elements: reserve() in line {line} only makes room, and size() "
                f"stays 0; write {name}.resize({length})"
            )
    return ""


def copied_in_part_hint(text: str, output: str, signature: Signature) -> str:
    """Return which copy into an output has fewer bytes than it, "" if none has."""
    bare, line, given = _call_on(text, r"cudaMemcpy\w*", output)
    array = next((one for one in signature.arrays if one.name == output), None)
    if array is None or len(given) < 3 or "sizeof" in given[2]:
        return ""
    extents = " * ".join(extent.text for extent in array.shape or ())
    if product(extents) != product(given[2], bare):
        return ""
    size_of = signature.element_type(array, Language.CUDA).c_name
    return (
        f"line {line} copies `{given[2]}` bytes into `{output}`, which has `{extents} * "
        f"sizeof({size_of})`: a copy counts bytes"
    )


def _call_on(text: str, function: str, output: str) -> tuple[str, int, list[str]]:
    """Return the host code, and the line and the arguments of its first such call on an output."""
    bare = cpp_code.host_code(text)
    call = re.search(rf"\b{function}\s{{0,9}}\(\s{{0,9}}{re.escape(output)}\s{{0,9}},", bare)
    if call is None:
        return bare, 0, []
    arguments = cpp_code.arguments_at(bare, bare.index("(", call.start()))
    return bare, cpp_code.line_at(bare, call.start()), arguments


def _other_length(text: str, found: Finding, number: int, size: str) -> str:
    """Recognise a launch that passes an array with another length than it was allocated with."""
    made = re.fullmatch(r"(?:(\w+) \* )?sizeof ?\(\w+\)(?: \* (\w+))?", size)
    length = made[1] or made[2] if made else None
    kernel = cpp_code.kernels(text).get(cpp_code.plain_name(found.kernel or ""))
    if not length or length.isdigit() or kernel is None:
        return ""
    limits = set(re.findall(r"(?:<|>=)\s{0,9}(\w+)", kernel.body))
    for launch in cpp_code.launches(text):
        if launch.kernel != kernel.name or found.buffer not in launch.arguments:
            continue
        place = launch.arguments.index(found.buffer)
        name = kernel.parameters[place] if place < len(kernel.parameters) else ""
        line = text.split("\n")[(found.line or 1) - 1]
        if not name or not re.search(rf"\b{re.escape(name)}\s?\[", line):
            continue
        passed = [
            given
            for given, parameter in zip(launch.given, kernel.parameters, strict=False)
            if parameter in limits and re.fullmatch(r"[A-Za-z_]\w*", given)
        ]
        if len(passed) == 1 and passed[0] != length:
            return (
                f"line {launch.line} passes `{found.buffer}`, which has `{length}` elements (line "
                f"{number}), with the length `{passed[0]}`: one of the two is wrong"
            )
    return ""


def loop_hint(text: str, found: Finding, signature: Signature) -> str:
    """Return which loop leads host code to an access outside an array, "" if none is found."""
    loop = None if found.line is None else loop_around(text, found.line)
    if loop is None or len(loop.condition) > _MOST_SHOWN:
        return ""
    counted = re.fullmatch(r"\s*(\w+)\s*>=\s*0\s*", loop.condition)
    unsigned = rf"\b(?:size_t|unsigned(?:\s+(?:int|long))*)\s+{counted[1]}\b" if counted else "(?!)"
    if counted and re.search(unsigned, loop.start + text):
        return (
            f"`{counted[1]}` is unsigned: `{counted[0].strip()}` always holds, and what is below 0 "
            "is a very large number; declare it `int`"
        )
    array = next((one for one in signature.arrays if one.name == found.buffer), None)
    long = f", and `{array.name}` has {elements(array)}" if array else ""
    return (
        f"line {found.line} runs in the loop `{' '.join(loop.condition.split())}`{long}: compare "
        "the end of the loop with the length of the axis that it runs along"
    )


def fixed_array_hint(text: str, found: Finding) -> str:
    """Return how long an array of host code is that a loop leaves, "" if that is not seen."""
    bare = cpp_code.without_comments(text)
    name = (found.buffer or "?").strip("`")
    made = re.search(rf"\b\w+\s+{re.escape(name)}\s*\[\s*(\w+)\s*\]\s*[;=]", bare)
    if made is None or found.line is None:
        return ""
    loop = loop_around(text, found.line)
    if loop is None or len(loop.condition) > _MOST_SHOWN:
        return ""
    line = cpp_code.line_at(bare, made.start())
    return (
        f"`{name}` has {made[1]} elements (line {line}), and line {found.line} runs in the loop "
        f"`{' '.join(loop.condition.split())}`: end the loop at the array's length, or allocate as "
        "many elements as it needs, with malloc or std::vector"
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
            line = cpp_code.line_at(bare, match.start())
            other = cpp_code.line_at(bare, begin + used.start())
            return f"line {line} frees `{name}`, and line {other} still uses it: free it at the end"
    return ""


def address_hint(text: str) -> str:
    """Return which copy gets the address of a pointer variable, "" if none does."""
    bare = cpp_code.without_comments(text)
    calls = itertools.islice(_POINTER_ADDRESS.finditer(bare), cpp_code.MOST_CALLS)
    lines = (cpp_code.line_at(bare, call.start()) for call in calls)
    return next((words for line in lines if (words := address_of_pointer(text, line))), "")


def address_of_pointer(text: str, line: int | None) -> str:
    """Recognise a call that gets the address of a pointer variable in the place of the pointer."""
    lines = cpp_code.without_comments(text).split("\n")
    call = _POINTER_ADDRESS.search(lines[line - 1]) if line and line <= len(lines) else None
    name = re.escape(call[2]) if call else "?"
    vector = re.search(rf"\bvector\s*<[^;<>]*>\s*{name}\b", cpp_code.without_comments(text))
    if call is not None and vector is not None:
        return (
            f"`&{call[2]}` in line {line} is the address of the vector itself, not of its elements:"
            f" {call[1]} needs `{call[2]}.data()`"
        )
    # A variable that is no pointer can be copied to.
    if call is None or not (allocations(text, call[2]) or _is_pointer(call[2], text)):
        return ""
    name = call[2]
    return (
        f"`&{name}` in line {line} is the address of the pointer variable itself, in host memory: "
        f"{call[1]} needs `{name}`, which holds the array's address"
    )


def _is_pointer(name: str, text: str) -> bool:
    types = r"(?:float|double|int|char|void|half|unsigned|float4|T)"
    declared = rf"\b{types}\s*(?:const\s*)?\*\s*(?:__restrict__\s*|const\s*)?{re.escape(name)}\b"
    return re.search(declared, cpp_code.without_comments(text)) is not None


def reallocated_hint(text: str, signature: Signature) -> str:
    """Return which argument gets new memory, which the caller never sees, "" if none does."""
    for array in signature.arrays:
        calls = rf"\b(cudaMalloc\w*)\s*\([^;]{{0,300}}&\s*{re.escape(array.name)}\s*,"
        call = re.search(calls, cpp_code.host_code(text))
        if call is not None:
            line = cpp_code.line_at(cpp_code.host_code(text), call.start())
            return (
                f"line {line} gives `{array.name}` new memory with {call[1]}, so that nothing is "
                f"written to the caller's array: `{array.name}` is allocated already, leave this "
                "line out"
            )
    return ""


def unused_output_hint(text: str, output: str) -> str:
    """Return that host code passes an output to nothing, and what its kernels write instead."""
    host = cpp_code.host_code(text)
    if len(re.findall(rf"(?<![\w.]){re.escape(output)}\b", host)) != 1:
        return ""
    for launch in cpp_code.launches(text):
        kernel = cpp_code.kernels(text).get(launch.kernel)
        pairs = zip(launch.arguments, kernel.parameters, strict=False) if kernel else ()
        for given, parameter in pairs:
            if kernel is not None and given and kernel.writes(parameter):
                return (
                    f"`{output}` stands in no launch and in no copy: line {launch.line} lets "
                    f"`{launch.kernel}` write to `{given}`; pass `{output}` there, or copy "
                    f"`{given}` to `{output}` at the end"
                )
    return f"`{output}` stands in no launch and in no copy: nothing can write to it"


def appended_hint(text: str) -> str:
    """Return which vector with a length gets more elements behind it, "" if none does."""
    host = cpp_code.host_code(text)
    for number, line in enumerate(host.split("\n"), start=1):
        made = re.search(r"\bvector\s*<[^;>]{0,60}>\s*(\w+)\s*\(\s*(\w[^;,]{0,60}?)\s*[,)]", line)
        if made is None:
            continue
        name, length = made.groups()
        more = re.search(rf"\b{name}\.(?:push|emplace)_back\s*\(", host)
        cleared = re.search(rf"\b{name}\.(?:clear|resize)\s*\(", host)
        if more is not None and cleared is None:
            at = cpp_code.line_at(host, more.start())
            return (
                f"`{name}` has `{length}` elements from line {number} on, all 0, and line {at} "
                f"appends others behind them: store `{name}[i]`, or declare it without a length"
            )
    return ""


def added_to_hint(text: str, output: str) -> str:
    """Return which launch adds to an output that nothing sets before, "" if none does."""
    host = cpp_code.host_code(text)
    for launch in cpp_code.launches(text):
        kernel = cpp_code.kernels(text).get(launch.kernel)
        if kernel is None or output not in launch.arguments:
            continue
        place = launch.arguments.index(output)
        parameter = kernel.parameters[place] if place < len(kernel.parameters) else ""
        adds = re.search(rf"\batomicAdd\s*\(\s*&?\s*{re.escape(parameter or '?')}\b", kernel.body)
        before = "\n".join(host.split("\n")[: launch.line - 1])
        if adds and not re.search(rf"\bcudaMem\w*\s*\(\s*{re.escape(output)}\b", before):
            return (
                f"`{launch.kernel}` adds to `{output}` with atomicAdd, and an output holds garbage "
                f"before: set it to 0 first, with cudaMemset before line {launch.line}"
            )
    return ""


def cleared_in_part_hint(text: str, output: str, signature: Signature) -> str:
    """Return which cudaMemset of an output has another number of bytes than it, or ""."""
    bare, line, given = _call_on(text, r"cudaMemset\w*", output)
    array = next(one for one in signature.arrays if one.name == output)
    extents = " * ".join(extent.text for extent in array.shape or ())
    size_of = signature.element_type(array, Language.CUDA).c_name
    whole = product(f"{extents} * sizeof({size_of})")
    size = product(given[2], bare) if len(given) == 3 else None
    if whole is None or size is None or size == whole:
        return ""
    return (
        f"line {line} sets `{given[2]}` bytes of `{output}`, which has `{extents} * "
        f"sizeof({size_of})`: the rest still holds garbage, to which the kernel adds"
    )


def never_allocated_hint(text: str, kernel: str) -> str:
    """Return which pointer a launch of the kernel passes that nothing allocates, or ""."""
    host = cpp_code.host_code(text)
    for launch in cpp_code.launches(text):
        for given in launch.arguments if launch.kernel == kernel else ():
            word = re.escape(given or "?")
            declared = re.search(rf"\*\s*{word}\s*(?:=\s*(?:nullptr|NULL|0)\s*)?;", host)
            set_ = re.search(rf"&\s*{word}\b|\b{word}\s*=(?!=)(?!\s*(?:nullptr|NULL|0)\s*;)", host)
            # From the first only: a search from each would take seconds in a hostile source.
            made = re.search(rf"&\s*{word}\b[^\n]*\n", host)
            cleared = re.compile(rf"\b{word}\s*=\s*(?:nullptr|NULL|0)\s*;")
            if made and (lost := cleared.search(host, made.end())) is not None:
                line = cpp_code.line_at(host, lost.end())
                return (
                    f"line {line} sets the pointer `{given}` itself to 0, not what it points to: "
                    f"cudaMemset({given}, 0, bytes)"
                )
            if declared and not set_:
                return (
                    f"line {launch.line} passes `{given}`, which is declared and never allocated: "
                    f"cudaMalloc(&{given}, bytes) before, and cudaFree at the end"
                )
    return ""


def keeps_nothing(text: str) -> bool:
    """True if no variable outlives a call: none is static, and none stands outside functions."""
    bare = cpp_code.without_comments(text)
    if not bare or re.search(r"\bstatic\b(?!_)", bare):
        return False
    outside, depth = [""], 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        if depth == 0:
            outside.append(character)
    # No pattern here begins at every blank or letter: a hostile line has thousands.
    lines = map(str.strip, "".join(outside).split("\n"))
    variables = filter(_VARIABLE.match, lines)
    return not any(re.search(r"\b\w+[\s*&]+\w", one) for one in variables)


def loop_around(text: str, line: int) -> Loop | None:
    """Return the innermost loop around a line, None if there is none."""
    around = [loop for loop in loops(text) if loop.first <= line <= loop.last]
    return min(around, key=lambda one: one.last - one.first, default=None)


def allocations(text: str, name: str) -> list[tuple[int, str]]:
    """Return the line and the bytes of each cudaMalloc and malloc of an array."""
    bare, word = cpp_code.without_comments(text), re.escape(name)
    calls = (
        rf"\b(cudaMalloc\w*)\s*\((?=[^;]{{0,300}}&\s*{word}\s*,)"
        rf"|\b{word}\s*=[^;=]{{0,300}}\bmalloc\s*\("
    )
    found = []
    for match in itertools.islice(re.finditer(calls, bare), cpp_code.MOST_CALLS):
        arguments = cpp_code.arguments_at(bare, match.end() - 1)
        size = arguments[1] if match[1] and len(arguments) > 1 else ", ".join(arguments)
        if match[1] == "cudaMallocPitch" and len(arguments) == 4:
            size = f"{arguments[1].lstrip('& ')} * {arguments[3]}"
        found.append((cpp_code.line_at(bare, match.start()), " ".join(size.split())))
    return found


def elements(array: Argument) -> str:
    """Return how long an array is: "rows × cols elements, `rows * cols * sizeof(float)` bytes"."""
    extents = " × ".join(extent.text for extent in array.shape or ())
    size = f"sizeof({c_type(array)})"
    if extents == "1":
        return f"1 element, `{size}` bytes"
    return f"{extents} elements, `{extents.replace(' × ', ' * ')} * {size}` bytes"


def bytes_of(name: str, text: str, signature: Signature) -> Product | None:
    """Return the bytes of an array by its shape or its only allocation; None if not known."""
    array = next((one for one in signature.arrays if one.name == name), None)
    bare = cpp_code.without_comments(text)
    if array is None:
        found = [size for _, size in allocations(text, name)]
        return product(found[0], bare) if len(found) == 1 else None
    size = product(f"sizeof({c_type(array)})")
    for extent in array.shape or ():
        factor = product(extent.text)
        size = size * factor if size is not None and factor is not None else None
    return size


def c_type(array: Argument) -> str:
    """Return the C++ name of an array's elements."""
    return {"float32": "float", "float64": "double", "int32": "int"}.get(array.type, array.type)
