"""Find the cause and the source line of a worker's death by signal.

There are three sources, none of them trusted: the host runtime's last record (the access, buffer
and instruction), the stack of Python's fault handler, and the last output of the C++ library (the
message of an exception, a failed assertion). They only explain a death that the judge saw itself.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from grader.build.artifact import Built
from grader.checks.common.symbolization import locator
from grader.checks.source.stuck_loops import stuck_loop
from grader.judge.outcome import Outcome
from grader.text.hints import hints
from grader.vocabulary import Device

_MOST_CHARACTERS = 500
_MOST_SAMPLES = 60  # of the places where a call was
_MOST_LINES = 10_000_000  # larger line numbers are forged

_PYTHON_FRAME = re.compile(
    r'^  File "(?P<file>[^"\n]+)", line (?P<line>\d+) in (?P<name>\S+)$', re.M
)
_ASSERTION = re.compile(
    r"^(?:\S+: )?(?P<file>[^\s:][^:\n]*):(?P<line>\d+): .{0,4000}"
    r"Assertion [`'](?P<what>.{0,4000})' failed",
    re.M,
)
# By the driver, for each thread: `silu.cu:7: void k(int): block: […], thread: […] Assertion …`
_ASSERTION_ON_A_GPU = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+): .{0,4000}: block: \[[\d,]+\], "
    r"thread: \[[\d,]+\] Assertion `(?P<what>.{0,4000})` failed",
    re.M,
)
_EXCEPTION = re.compile(
    r"^terminate called after throwing an instance of '(?P<type>[^'\n]+)'"
    r"(?:\n\s+what\(\):\s*(?P<what>.*))?",
    re.M,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """The cause of a death by signal.

    `what` describes it. `in_kernel` is true if a kernel caused it, `bad_access` if a memory access
    did, and `wrote_input` if that was a write to an input. `place` is "silu.cu:12", "" if unknown.
    """

    what: str
    hint: str = ""
    buffer: str = ""
    place: str = ""
    kernel: str = ""
    in_kernel: bool = False
    bad_access: bool = False
    wrote_input: bool = False


def explain_crash(number: int, outcome: Outcome, built: Built) -> Crash:
    """Return the cause of a death by the signal `number`."""
    record = last_record(outcome, "fault")
    if record is not None and number != signal.SIGABRT:
        return _from_record(record, built)
    if number == signal.SIGABRT:
        crash = _from_output(outcome.ended.output if outcome.ended else "", built)
        if crash is not None:
            return crash
    return _from_stack(number, outcome.stack, built)


def signal_name(number: int) -> str:
    """Return a signal's meaning, or its number."""
    try:
        known = signal.Signals(number)
    except ValueError:
        return f"signal {number}"
    return hints("signal").get(known.name, known.name)


def source_place(record: dict[str, Any], built: Built) -> str:
    """Return "silu.cu:12" for a record's line or instruction, "" if it is not known."""
    if line := record_line(record):
        return f"{built.file}:{line}"
    offset = record.get("pc")
    if type(offset) is not int or not 0 <= offset < 2**63 or built.language.imported:
        return ""
    place = locator(built)({offset}).get(offset)
    file = built.own_file(place.file) if place is not None else None
    return f"{file}:{place.line}" if place and file and place.line else ""


def record_line(record: Mapping[str, Any]) -> int | None:
    """Return the line of a worker's record, None if it has none."""
    line = record.get("line")
    return line if type(line) is int and 0 < line < _MOST_LINES else None


def _from_record(record: dict[str, Any], built: Built) -> Crash:
    in_kernel = record.get("in_kernel") is True
    message = text_of(record, "message")
    buffer = text_of(record, "buffer")
    bad_access = record.get("signal") in ("SIGSEGV", "SIGBUS")
    what = message or "crashed"
    hint = hints("fault").get(message, OUTSIDE_HINT if bad_access and in_kernel else "")
    if message == "host code accessed device memory" and buffer:
        what += f" (`{buffer}`)"
    elif message == "an access outside a buffer" and buffer:
        what, hint = f"an access {_distance(record, buffer)}", OUTSIDE_HINT
    return Crash(
        what=what,
        hint=hint,
        buffer=buffer,
        place=source_place(record, built),
        kernel=text_of(record, "kernel"),
        in_kernel=in_kernel,
        bad_access=bad_access,
        wrote_input=in_kernel and message == "a read-only input was written",
    )


OUTSIDE_HINT = "an index is outside its array: look for a missing guard such as `if (i < n)`"


def _distance(record: dict[str, Any], buffer: str) -> str:
    offset, size = record.get("offset"), record.get("buffer_bytes")
    if type(offset) is not int or type(size) is not int:
        return f"outside `{buffer}`"
    if offset < 0:
        return f"{-offset} bytes before the start of `{buffer}`"
    return (
        f"{offset - size} bytes past the end of `{buffer}`" if offset >= size else f"to `{buffer}`"
    )


def _from_output(output: str, built: Built) -> Crash | None:
    """Read what the C++ library printed before it aborted."""
    asserted = list(_ASSERTION.finditer(output))
    if asserted:
        return _asserted(asserted[-1], built)
    thrown = list(_EXCEPTION.finditer(output))
    if thrown:
        match = thrown[-1]
        text = f": {_clip(match['what'])}" if match["what"] else ""
        return Crash(
            what=f"an exception was not caught: {_clip(match['type'])}{text}",
            hint="catch it inside the function, or do not throw",
        )
    return None


def _asserted(printed: re.Match[str], built: Built) -> Crash:
    file = built.own_file(printed["file"])
    what = f"the assertion `{_clip(printed['what'])}` failed"
    return Crash(what=what, place=f"{file}:{printed['line']}" if file else "")


def kernel_assertion(outcome: Outcome, built: Built) -> Crash | None:
    """Return the assertion that failed in a kernel, None if it is not known.

    The emulation records it; a GPU's driver prints it, without the kernel.
    """
    if record := last_record(outcome, "assertion"):
        return Crash(
            what=f"the assertion `{text_of(record, 'expression')}` failed",
            kernel=text_of(record, "kernel"),
            place=source_place(record, built) or built.file,
        )
    printed = _ASSERTION_ON_A_GPU.search(outcome.ended.output if outcome.ended else "")
    return _asserted(printed, built) if printed else None


def sampled_place(outcome: Outcome, built: Built) -> str:
    """Return where a call was that exceeded its time limit: "; it was in the kernel k (silu.cu:7)".

    The loop is named if the source proves that it cannot end (`stuck_loops`). Returns "" if nothing
    is known. Functions of a library have no place in the student's file.
    """
    samples = [one for one in outcome.records if one.get("record") == "place"][:_MOST_SAMPLES]
    kernel = next((name for one in samples if (name := text_of(one, "kernel"))), "")
    place = _first_place(samples, built)
    if not place and built.path.suffix != ".so":
        frames = _PYTHON_FRAME.finditer(outcome.stack)
        own = next((f for f in frames if PurePath(f["file"]).name == built.path.name), None)
        place = f"{built.file}:{own['line']}" if own else ""
    why = ""
    in_entry_file = not place or place.startswith(f"{built.file}:")
    if in_entry_file and (stuck := stuck_loop(built.text, built.language.base, _line_of(place))):
        place, why = f"{built.file}:{stuck.line}", f": {stuck.why}"
    if kernel:
        return f"; it was in the kernel {kernel}" + (f" ({place})" if place else "") + why
    return f"; it was at {place}{why}" if place else ""


def _line_of(place: str) -> int | None:
    line = place.rpartition(":")[2]
    return int(line) if line.isdigit() else None


def _first_place(samples: list[dict[str, Any]], built: Built) -> str:
    """Return the first place in the student's file, with one look-up for all."""
    offsets = [at for one in samples if type(at := one.get("pc")) is int and 0 <= at < 2**63]
    if not offsets or built.language.imported:
        return ""
    places = locator(built)(set(offsets))
    for offset in offsets:
        found = places.get(offset)
        if found and found.line and (file := built.own_file(found.file)):
            return f"{file}:{found.line}"
    return ""


def _from_stack(number: int, stack: str, built: Built) -> Crash:
    """Find the student's frame in the stack of Python's fault handler, innermost frame first."""
    what = signal_name(number)
    frames = list(_PYTHON_FRAME.finditer(stack))
    own = next((f for f in frames if PurePath(f["file"]).name == built.path.name), None)
    if own is None or built.path.suffix == ".so":
        hint = ""
        if number == signal.SIGKILL:
            hint = "perhaps the machine ran out of memory"
        elif number == signal.SIGSEGV and built.device is Device.CUDA:
            hint = "host code must not dereference device pointers: copy with cudaMemcpy"
        return Crash(what=what, hint=hint)
    return Crash(
        what=what,
        place=f"{built.file}:{own['line']}",
        bad_access=number in (signal.SIGSEGV, signal.SIGBUS),
    )


def text_of(record: Mapping[str, Any], key: str) -> str:
    """Return the text under a key of a worker's record, cut to a readable length; "" if none."""
    value = record.get(key)
    return _clip(value) if isinstance(value, str) else ""


def last_record(outcome: Outcome, kind: str) -> dict[str, Any] | None:
    """Return the worker's last record of a kind, None if there is none."""
    return next((one for one in reversed(outcome.records) if one.get("record") == kind), None)


def _clip(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + " …"
