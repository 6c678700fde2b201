"""Give a finding the hint that the source supports, in the place of a general one."""

from __future__ import annotations

import re
from dataclasses import replace

from grader.assignment.signature import Signature
from grader.build.artifact import Built
from grader.checks.common.copy_source import copy_hint, host_argument_hint
from grader.checks.common.findings import INPUT_HINT
from grader.checks.common.host_memory import allocation_hint, loop_hint, room_hint
from grader.checks.common.index_source import index_hint
from grader.checks.common.launch_source import launch_hint
from grader.report.evidence import Finding
from grader.text.hints import hints

# Hints that say what a finding's figures prove: the source does not know better.
_PROVEN = (
    "one past the end",
    "one lane past the end",
    "a vector access crosses the end",
    "a vector access past the end",
    "too few bytes",
    "size of a pointer",
    "bytes are elements",
    "an allocation without sizeof",
    "programs begin within rows",
    "rows are no multiple",
)
_PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b")


def _words(key: str) -> str:
    """Return a regular expression for a hint whose placeholders are filled in."""
    return ".+".join(map(re.escape, _PLACEHOLDER.split(hints("found")[key])))


_PROVEN_HINT = re.compile("|".join(map(_words, _PROVEN)))
_LAUNCHED_WRONG = frozenset({"out_of_bounds", "uninitialized", "race"})


def with_source(found: Finding, built: Built, signature: Signature) -> Finding:
    """Return the finding with what the source shows about its launch, index or copy as its hint."""
    # Of a kernel's write to an input, the verdict asks for the hint.
    kept = found.hint == INPUT_HINT and found.kind != "invalid_copy"
    if found.file != built.file or kept:
        return found
    if found.kind in _LAUNCHED_WRONG and found.kernel is not None:
        words = launch_hint(built.text, built.language, signature, found.kernel)
        if words:
            return replace(found, hint=words)
    one_lane = found.hint == hints("found")["one lane past the end"]
    if one_lane and not re.search(r"[<>]=", built.text):
        # Without `<=` one element is as much a chance as any other number.
        found = replace(found, hint=hints("found")["lanes past the end"])
    if found.hint and _PROVEN_HINT.fullmatch(found.hint):
        return found
    words = ""
    if found.kind == "invalid_copy":
        words = copy_hint(built.text, found.line, found.message, signature)
    elif found.message.startswith("host code accesses memory past the end of what"):
        words = allocation_hint(built.text, found.line) or loop_hint(built.text, found, signature)
    elif found.message.startswith("host code accesses memory outside an array"):
        words = loop_hint(built.text, found, signature)
    elif found.message.startswith("host memory is accessed in a kernel") and found.kernel:
        words = host_argument_hint(built.text, found.kernel, signature)
    elif found.kernel is not None:
        arrays = {array.name for array in signature.arrays}
        outputs = {array.name for array in signature.arrays if not array.role.read}
        if found.kind == "out_of_bounds" and found.buffer and found.buffer not in arrays:
            words = room_hint(built.text, found)
        words = words or index_hint(found, built.text, built.language)
        if found.kind == "uninitialized" and found.buffer in outputs and not words:
            words = hints("found")["an output is read"].replace("BUFFER", str(found.buffer))
            words = words.replace("KERNEL", found.kernel)
    return replace(found, hint=words) if words else found
