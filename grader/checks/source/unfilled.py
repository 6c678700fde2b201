"""Why device memory that a kernel reads was not written before: what host code fills, and when.

Only for a read of unwritten memory that was found; the words are a hint, never part of a verdict.
"""

from __future__ import annotations

import re

from grader.checks.source import cpp_code
from grader.checks.source.host_arrays import allocations
from grader.checks.source.size_product import product


def unfilled_hint(buffer: str, kernel: cpp_code.Kernel, text: str) -> str:
    """Return what the source shows about memory that the kernel reads unwritten, "" if nothing."""
    return (
        pitch_of_rows(buffer, kernel, text)
        or _filled_later(buffer, kernel.name, text)
        or _filled_in_part(buffer, kernel.name, text)
        or _filled_elsewhere(buffer, kernel.name, text)
        or _never_filled(buffer, kernel, text)
    )


def pitch_of_rows(buffer: str, kernel: cpp_code.Kernel, text: str) -> str:
    """Recognise rows of cudaMallocPitch that a kernel reads as if they lay side by side."""
    if not buffer:
        return ""
    word, host = re.escape(buffer), cpp_code.host_code(text)
    call = rf"\bcudaMallocPitch\s*\([^;]{{0,300}}&\s*{word}\s*,\s*&\s*(\w+)\s*,"
    launch = cpp_code.launch_with(text, buffer)
    made = re.search(call, host)
    if made is None or launch is None or launch.kernel != kernel.name:
        return ""
    line, pitch = cpp_code.line_at(host, made.start()), made[1]
    begins = (
        f"rows of `{buffer}` begin `{pitch}` bytes apart, as cudaMallocPitch in line {line} says"
    )
    if not any(re.search(rf"\b{re.escape(pitch)}\b", one) for one in launch.given):
        return (
            f"{begins}, but line {launch.line} does not pass `{pitch}` to `{kernel.name}`: the row "
            f"stride there is `{pitch} / sizeof(float)` elements"
        )
    if pitch in launch.arguments and "char" not in kernel.body:
        return (
            f"{begins}, but an index counts elements: pass `{pitch} / sizeof(float)` in line "
            f"{launch.line}"
        )
    return ""


def _filled_in_part(buffer: str, kernel: str, text: str) -> str:
    """Recognise a cudaMemset or copy of other bytes than the memory was given."""
    host, given = cpp_code.host_code(text), allocations(text, buffer)
    launch = cpp_code.launch_with(text, buffer)
    if launch is None or launch.kernel != kernel or len(given) != 1:
        return ""
    before = "\n".join(host.split("\n")[: launch.line - 1])
    name = re.escape(buffer)
    calls = list(re.finditer(rf"\bcudaMem(set|cpy)(?:Async)?\s*(\()\s*{name}\s*,", before))
    if len(calls) != 1:
        return ""
    (call,) = calls
    arguments = cpp_code.arguments_at(before, call.start(2))
    if len(arguments) < 3:
        return ""
    size = product(arguments[2], host)
    if size is None or size == product(given[0][1], host):
        return ""
    line = cpp_code.line_at(before, call.start())
    verb = "sets" if call[1] == "set" else "copies"
    return (
        f"line {line} {verb} `{arguments[2]}` bytes of `{buffer}`, but line {given[0][0]} gives it "
        f"`{given[0][1]}` bytes: the rest is read without a value"
    )


def _filled_elsewhere(buffer: str, kernel: str, text: str) -> str:
    """Name the only copy before the launch, if it fills the memory piece by piece."""
    host = cpp_code.host_code(text)
    launch = cpp_code.launch_with(text, buffer)
    before = "\n".join(host.split("\n")[: launch.line - 1]) if launch else ""
    name = re.escape(buffer)
    calls = list(
        re.finditer(rf"\bcudaMemcpy(?:Async)?\s*(\()\s*({name}\s*\+[^,;]{{1,60}}),", before)
    )
    if launch is None or launch.kernel != kernel or len(calls) != 1:
        return ""
    line = cpp_code.line_at(before, calls[0].start())
    return (
        f"line {line} copies to `{' '.join(calls[0][2].split())}`: compare the elements that this "
        f"fills with those that `{kernel}` reads, which are others"
    )


def _filled_later(buffer: str, kernel: str, text: str) -> str:
    """Recognise memory that host code fills after the launch that reads it."""
    all_launches = list(cpp_code.launches(text))
    reading = next(
        (one for one in all_launches if one.kernel == kernel and buffer in one.arguments), None
    )
    if reading is None:
        return ""
    word = re.escape(buffer)
    for at, line in enumerate(cpp_code.without_comments(text).split("\n")[reading.line :]):
        number = reading.line + 1 + at
        if line.startswith("}"):
            return ""
        fills = re.search(rf"\bcudaMem(?:cpy|set)\w*\s*\(\s*{word}\s*[,+]", line)
        found = cpp_code.kernels(text)
        writes = any(
            one.line == number
            and given == buffer
            and one.kernel in found
            and found[one.kernel].writes(parameter)
            for one in all_launches
            if one.kernel in found
            for given, parameter in zip(one.arguments, found[one.kernel].parameters, strict=False)
        )
        if fills or writes:
            return (
                f"line {number} fills `{buffer}`, but only after line {reading.line} has launched "
                f"`{kernel}`, which reads it: put line {number} first"
            )
    return ""


def _never_filled(buffer: str, kernel: cpp_code.Kernel, text: str) -> str:
    """Recognise memory that the file allocates and gives to no kernel or copy that writes it."""
    word = re.escape(buffer)
    bare, known = cpp_code.without_comments(text), cpp_code.kernels(text)
    used = [one for one in cpp_code.launches(text) if buffer in one.arguments]
    reading = next((one for one in used if one.kernel == kernel.name), None)
    others = [one for one in used if one is not reading]
    first = [one for one in others if reading is not None and one.line < reading.line]
    allocated = re.search(rf"\bcudaMalloc\w*\s*\([^;]{{0,300}}&\s*{word}\s*,", bare)
    copied = re.search(rf"\bcudaMem(?:cpy|set)\w*\s*\([^;]{{0,300}}\b{word}\b", bare)
    if reading is None or first or allocated is None or any(o.kernel not in known for o in others):
        return ""
    place = reading.arguments.index(buffer)
    parameter = kernel.parameters[place] if place < len(kernel.parameters) else ""
    if parameter and kernel.writes(parameter):
        before = "\n".join(bare.split("\n")[: reading.line - 1])
        if re.search(rf"\bcudaMem(?:cpy|set)\w*\s*\(\s*{word}\s*[,+]", before):
            return ""
        return (
            f"line {reading.line} lets `{kernel.name}` add to `{buffer}`, which nothing sets "
            f"before: put cudaMemset({buffer}, 0, bytes) between its cudaMalloc and that line"
        )
    if others or copied:
        return ""
    return (
        f"`{buffer}` is allocated, and line {reading.line} passes it to `{kernel.name}`, which "
        "reads it, but no launch and no copy before that gets it to write to: is a cudaMemcpy into "
        f"`{buffer}` missing, or is another array meant?"
    )
