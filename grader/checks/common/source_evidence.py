"""Give a finding the hint that the source supports, in the place of a general one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
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
from grader.checks.source.triton_errors import never_cleared, scratch_hint
from grader.checks.source.triton_grid import (
    any_grid_hint,
    let_through_hint,
    passed_name,
    triton_grid_hint,
)
from grader.emulation.cuda_cpp import parted_warps
from grader.emulation.triton_ir.messages import proven
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
    if found.hint == hints("found")["one lane past the end"] and not re.search(
        r"[<>]=", built.text
    ):
        # Without `<=` one element is as much a chance as any other number.
        found = replace(found, hint=hints("found")["lanes past the end"])
    return next(filter(None, _hints_of_kernel(found, built, signature)), found.hint)


def _hints_of_kernel(found: Finding, built: Built, signature: Signature) -> Iterator[str | None]:
    """Yield what the text shows of the fault's cause, the surest first."""
    text, kernel, buffer = built.text, found.kernel or "", found.buffer or ""
    cuda = built.language.base is Language.CUDA
    triton = built.language.base is Language.TRITON
    outside, unwritten = found.kind == "out_of_bounds", found.kind == "uninitialized"
    # Triton's executor names an array as the kernel does.
    array = (passed_name(text, kernel, buffer) if triton else "") or buffer
    own = array not in {"", *(one.name for one in signature.arrays)}
    if found.kind in _LAUNCHED_WRONG:
        yield launch_hint(text, built.language.base, signature, kernel)
    if _PROVEN_HINT.fullmatch(found.hint) or proven(found.hint):
        yield found.hint
    if outside and cuda and found.tool.startswith(_WITHOUT_NAMES):
        yield freed_hint(text)  # memcheck does not know that there was an array
    if outside and cuda:
        away = runs_away(text) if (found.element or 0) < 0 else misses_end(text, found.line)
        if away is not None:
            yield f"line {away.line}: {away.why}"
    for begins, only in _HINT_OF_MESSAGE.items():
        if found.message.startswith(begins):
            yield only(text, kernel, signature)
            return
    general = found.kind == "race" and found.hint == hint("race") and found.access is not None
    if general and found.line and found.other_line:
        # racecheck names the earlier access first.
        lines, accesses = (found.other_line, found.line), (found.other_access, found.access)
        yield two_lines_hint(text, lines, accesses)
        return
    if cuda and (outside or unwritten or found.kind == "race"):
        yield block_hint(text, kernel)
    if found.message.startswith("the access is outside its shared variable"):
        yield shared_bytes_hint(text, kernel, buffer)
    if outside and own:
        yield room_hint(text, found)
    if outside and cuda:
        yield row_begin_hint(found, text, signature)
    if outside and triton:
        yield triton_grid_hint(text, signature, kernel, sizes_only=True)
        if own:
            yield scratch_hint(text)
    yield index_hint(found, text, built.language.base)
    if unwritten and found.space == "global":
        yield missing_axis_hint(text, built.language.base)  # of the kernel that should fill it
    if unwritten and own and triton:
        yield any_grid_hint(text, signature)
        yield let_through_hint(text, kernel, found.line)
    outputs = {one.name for one in signature.arrays if not one.role.read}
    if unwritten and found.access != "write" and array in outputs:
        yield copied_in_part_hint(text, array, signature)
        if found.access == "atomic":
            yield never_cleared(text, signature.entry, array)
        yield filled("found", "an output is read", buffer=array, kernel=kernel)


# Of messages that name their fault: what looks for the cause.
_HINT_OF_MESSAGE: dict[str, Callable[[str, str, Signature], str | None]] = {
    "lanes named by the mask": lambda text, *_: _parted_hint(text),
    "freed memory": lambda text, *_: freed_hint(text),
    "a null pointer is dereferenced": lambda text, kernel, _: never_allocated_hint(text, kernel),
    "host memory is accessed in a kernel": host_argument_hint,
}
