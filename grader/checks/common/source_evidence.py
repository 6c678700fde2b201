"""Give a finding the hint that the source supports, in the place of a general one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from grader.assignment.signature import Signature
from grader.build.artifact import Built
from grader.checks.common.emulation_findings import two_lines_hint
from grader.checks.common.findings import INPUT_HINT, hint
from grader.checks.source import cpp_code
from grader.checks.source.copies import copy_hint, host_argument_hint
from grader.checks.source.cuda_grid import block_hint
from grader.checks.source.cuda_index import index_hint, row_begin_hint
from grader.checks.source.host_arrays import (
    allocation_hint,
    copied_in_part_hint,
    fixed_array_hint,
    freed_hint,
    loop_hint,
    never_allocated_hint,
    room_hint,
)
from grader.checks.source.launch_arguments import (
    launch_hint,
    missing_axis_hint,
    shared_bytes_hint,
)
from grader.checks.source.stuck_loops import misses_end, runs_away
from grader.checks.source.triton_errors import scratch_hint
from grader.checks.source.triton_grid import (
    any_grid_hint,
    let_through_hint,
    triton_grid_hint,
)
from grader.emulation.cuda_cpp import parted_warps
from grader.emulation.triton_ir.findings import PROVEN_HINTS
from grader.report.evidence import Finding
from grader.text.hints import filled, filled_pattern, hints
from grader.vocabulary import Language

# Hints that say what a finding's figures prove: the source does not know better.
_PROVEN = (
    "one past the end",
    "one past a return",
    "one lane past the end",
    "a vector access crosses the end",
    "a vector access past the end",
    "a wide access crosses the end",
    "too few bytes",
    "size of a pointer",
    "bytes are elements",
    "an allocation without sizeof",
    "programs begin within rows",
    "rows are no multiple",
)


_PROVEN_HINT = re.compile("|".join(filled_pattern("found", key) for key in _PROVEN))
_WITHOUT_NAMES = "compute-sanitizer"  # a tool that knows addresses, and no arrays
_LAUNCHED_WRONG = frozenset({"out_of_bounds", "uninitialized", "race"})


def with_sources(
    findings: Iterable[Finding], built: Built, signature: Signature
) -> tuple[Finding, ...]:
    """Return the findings, each `with_source`."""
    return tuple(with_source(found, built, signature) for found in findings)


def with_source(found: Finding, built: Built, signature: Signature) -> Finding:
    """Return the finding with what the source shows about its launch, index or copy as its hint."""
    # Of a kernel's write to an input, the verdict asks for the hint.
    kept = found.hint == INPUT_HINT and found.kind != "invalid_copy"
    if found.file != built.file or kept:
        return found
    if found.kernel is not None:
        named = replace(found, kernel=cpp_code.plain_name(found.kernel))
        if found.tool.startswith(_WITHOUT_NAMES) and built.language.base is Language.CUDA:
            written = found.access == "write"
            named = replace(
                named,
                buffer=cpp_code.accessed_argument(
                    built.text, named.kernel or "", found.line, written=written
                ),
            )
        return replace(found, hint=_of_kernel(named, built, signature))
    return replace(found, hint=_of_host(found, built, signature))


def _parted_hint(text: str) -> str:
    """Return which barrier stands in a branch of some threads, "" if none does."""
    bare = cpp_code.without_comments(text)
    for line in (at for at, one in enumerate(bare.split("\n"), 1) if "__syncthreads" in one):
        if parted_warps.branches_by_thread(text, line):
            return (
                f"the `__syncthreads()` in line {line} stands in a branch that some threads do not "
                "take, and they go on without the others: take it out of the branch"
            )
    return ""


def _of_host(found: Finding, built: Built, signature: Signature) -> str:
    """Return the hint for a fault in host code."""
    if _PROVEN_HINT.fullmatch(found.hint):
        return found.hint
    words = ""
    if found.kind == "invalid_copy":
        words = copy_hint(built.text, found.line, found.message, signature)
    elif found.message.startswith("host code accesses memory past the end of what"):
        words = allocation_hint(built.text, found.line) or loop_hint(built.text, found, signature)
    elif found.message.startswith("host code accesses memory outside an array"):
        words = loop_hint(built.text, found, signature)
    elif found.message.startswith("an array index is outside the array"):
        words = fixed_array_hint(built.text, found)
    return words or found.hint


def _of_kernel(found: Finding, built: Built, signature: Signature) -> str:
    """Return the hint for a fault in a kernel."""
    text, kernel = built.text, found.kernel or ""
    if found.kind in _LAUNCHED_WRONG and (
        words := launch_hint(text, built.language.base, signature, kernel)
    ):
        return words
    if found.hint == hints("found")["one lane past the end"] and not re.search(r"[<>]=", text):
        # Without `<=` one element is as much a chance as any other number.
        found = replace(found, hint=hints("found")["lanes past the end"])
    if _PROVEN_HINT.fullmatch(found.hint) or found.hint in PROVEN_HINTS:
        return found.hint
    if found.kind == "out_of_bounds" and built.language.base is Language.CUDA:
        away = runs_away(text) if (found.element or 0) < 0 else misses_end(text, found.line)
        if away is not None:
            return f"line {away.line}: {away.why}"
    if found.kind == "barrier" and found.message.startswith("lanes named by the mask"):
        return _parted_hint(text) or found.hint
    if found.message.startswith("freed memory"):
        return freed_hint(text) or found.hint
    if found.message.startswith("a null pointer is dereferenced"):
        return never_allocated_hint(text, kernel) or found.hint
    if found.message.startswith("host memory is accessed in a kernel"):
        return host_argument_hint(text, kernel, signature) or found.hint
    general = found.kind == "race" and found.hint == hint("race") and found.access is not None
    if general and found.line and found.other_line:
        # racecheck names the earlier access first.
        lines, accesses = (found.other_line, found.line), (found.other_access, found.access)
        return two_lines_hint(text, lines, accesses)
    in_block = found.kind in ("race", "uninitialized", "out_of_bounds")
    if in_block and built.language.base is Language.CUDA and (words := block_hint(text, kernel)):
        return words
    if found.message.startswith("the access is outside its shared variable") and (
        words := shared_bytes_hint(text, kernel, found.buffer or "")
    ):
        return words
    arrays = {array.name for array in signature.arrays}
    outputs = {array.name for array in signature.arrays if not array.role.read}
    words = ""
    if found.kind == "out_of_bounds" and found.buffer and found.buffer not in arrays:
        words = room_hint(text, found)
    if found.kind == "out_of_bounds" and built.language.base is Language.CUDA:
        words = words or row_begin_hint(found, text, signature)
    if found.kind == "out_of_bounds" and built.language.base is Language.TRITON and not words:
        words = triton_grid_hint(text, signature, kernel, sizes_only=True)
    own = found.buffer and found.buffer not in arrays
    if found.kind == "out_of_bounds" and built.language.base is Language.TRITON and own:
        words = words or scratch_hint(text)
    words = words or index_hint(found, text, built.language.base)
    if found.kind == "uninitialized" and found.space == "global" and not words:
        words = missing_axis_hint(text, built.language.base)  # of the kernel that should fill it
    if found.kind == "uninitialized" and own and built.language.base is Language.TRITON:
        words = words or any_grid_hint(text, signature)
        words = words or let_through_hint(text, kernel, found.line)
    is_read = found.kind == "uninitialized" and found.access != "write"
    if is_read and found.buffer in outputs and not words:
        words = copied_in_part_hint(text, str(found.buffer), signature)
    if is_read and found.buffer in outputs and not words:
        words = filled("found", "an output is read", buffer=found.buffer, kernel=kernel)
    return words or found.hint
