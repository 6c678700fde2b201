"""How a worker ended → verdict, message and hint for the student.

A worker's own words are used only here, and only to explain a failure that the
judge has seen by itself.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import Any

from grader.build.product import Built
from grader.judge.session import Happening, Outcome
from grader.spec import Limits
from grader.verdict import Verdict

_WORDS_SHOWN = 500

# cudaError_t values that a hand-in causes, with the runtime's own words.
_CUDA_ERRORS = {
    1: "invalid argument",
    2: "out of memory",
    7: "too many resources requested for launch",
    9: "invalid configuration argument",
    13: "invalid symbol",
    17: "invalid device pointer",
    21: "invalid memcpy direction",
    98: "invalid device function",
    209: "no kernel image for this GPU",
    700: "an illegal memory access was encountered",
    701: "too many resources requested for launch",
    702: "the launch timed out",
    710: "device-side assert triggered",
    714: "hardware stack error",
    715: "an illegal instruction was encountered",
    716: "misaligned address",
    717: "operation not supported on this address space",
    718: "invalid program counter",
    719: "unspecified launch failure",
}
_CUDA_HINTS = {
    1: "look at the launch (at most 1024 threads a block) and at the arguments of CUDA calls",
    7: "use fewer threads per block, or fewer registers or less shared memory",
    9: "check grid and block: at least 1 each, and at most 1024 threads a block",
    700: "an index is outside its array: look for a missing guard such as `if (i < n)`",
    701: "use fewer threads per block, or fewer registers or less shared memory",
    716: "a vector type such as float4 needs an address that is a multiple of its size",
}
_MEMORY_ERRORS = frozenset({700, 714, 716, 717, 718})

_SIGNAL_WORDS = {
    signal.SIGSEGV: "segmentation fault",
    signal.SIGBUS: "bus error",
    signal.SIGFPE: "arithmetic error, such as a division by zero",
    signal.SIGABRT: "aborted",
    signal.SIGILL: "illegal instruction",
    signal.SIGKILL: "killed",
    signal.SIGXCPU: "out of processor time",
    signal.SIGXFSZ: "a file grew too large",
}
_FAULT_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<name>\w+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A verdict in words."""

    verdict: Verdict
    message: str
    hint: str = ""


def explain(outcome: Outcome, built: Built, limits: Limits, *, doing: str) -> Sentence:
    """Say what an outcome other than done means; `doing` is "loading" or "calling silu"."""
    match outcome.happening:
        case Happening.TIME_LIMIT:
            limit_s = limits.load_s if doing == "loading" else limits.call_s
            return Sentence(
                verdict=Verdict.TIME_LIMIT,
                message=f"{doing} did not end within {limit_s:g} s",
                hint="look for a loop whose condition never becomes false",
            )
        case Happening.OUTPUT_LIMIT:
            return Sentence(
                verdict=Verdict.OUTPUT_LIMIT,
                message=f"printed more than {limits.output_kib} KiB",
                hint="take out the printing: nobody reads it",
            )
        case Happening.MEMORY_LIMIT:
            return Sentence(
                verdict=Verdict.MEMORY_LIMIT,
                message=f"used more than {limits.memory_mib} MiB of memory",
            )
        case Happening.STRAY_ANSWER:
            return Sentence(
                verdict=Verdict.TAMPERED,
                message=f"the hand-in wrote on the grader's channel: {outcome.detail}",
            )
        case Happening.CUDA_ERROR:
            return _cuda_error(outcome.code, doing)
        case Happening.EXCEPTION | Happening.LOAD_FAILED:
            return _told_failure(outcome, built, doing)
        case _:
            return _death(outcome, built, doing)


def _cuda_error(code: int, doing: str) -> Sentence:
    words = _CUDA_ERRORS.get(code, "see the CUDA documentation")
    memory = code in _MEMORY_ERRORS
    return Sentence(
        verdict=Verdict.MEMORY_ERROR if memory else Verdict.RUNTIME_ERROR,
        message=f"{doing} gave CUDA error {code}: {words}",
        hint=_CUDA_HINTS.get(code, ""),
    )


def _told_failure(outcome: Outcome, built: Built, doing: str) -> Sentence:
    record = _last(outcome, "exception")
    if record is not None:
        kind, text = str(record.get("type", "")), str(record.get("message", ""))
        line = record.get("line")
        place = f"{built.file}:{line}" if isinstance(line, int) else built.file
        # Triton's compiler names its errors so; the rest happened at run time.
        compiling = kind in ("CompilationError", "UnsupportedLanguageConstruct")
        what = f"{kind}: {_clip(text)}" if text else kind
        return Sentence(
            verdict=Verdict.COMPILE_ERROR if compiling else Verdict.RUNTIME_ERROR,
            message=f"{doing} raised {what} ({place})",
        )
    record = _last(outcome, "load")
    text = _clip(str(record.get("message", ""))) if record else "no reason was given"
    return Sentence(
        verdict=Verdict.COMPILE_ERROR,
        message=f"{built.file} was built but cannot be loaded: {text}",
        hint="a function is declared and used but defined nowhere" if "undefined" in text else "",
    )


def _death(outcome: Outcome, built: Built, doing: str) -> Sentence:
    ended = outcome.ended
    if ended is None or outcome.detail:
        return Sentence(
            verdict=Verdict.RUNTIME_ERROR, message=f"{doing}: the program {outcome.detail}"
        )
    if ended.signal is None:
        return Sentence(
            verdict=Verdict.RUNTIME_ERROR,
            message=f"{doing} ended the program with exit code {ended.exit_code}",
            hint="return from the function instead of calling exit()",
        )
    fault = _fault(outcome, doing)
    if fault is not None:
        return fault
    words = _SIGNAL_WORDS.get(ended.signal, ended.signal.name)
    place = _crash_place(ended.output, built)
    return Sentence(
        verdict=Verdict.RUNTIME_ERROR,
        message=f"{doing} crashed: {words}{place}",
        hint=_host_hint(ended.signal, built),
    )


def _fault(outcome: Outcome, doing: str) -> Sentence | None:
    """The host runtime's account of a crash, if it could still give one."""
    record = _last(outcome, "fault")
    if record is None or not record.get("in_kernel"):
        return None
    kernel = record.get("kernel")
    where = f" in the kernel {_clip(str(kernel))}" if kernel else ""
    buffer = record.get("buffer")
    what = f"`{_clip(str(buffer))}`" if buffer else "no buffer at all"
    if record.get("access") == "write" and record.get("read_only"):
        return Sentence(
            verdict=Verdict.WRONG_ANSWER,
            message=f"{doing} wrote to {what}, which is an input{where}",
            hint="inputs are read-only: write to the output",
        )
    return Sentence(
        verdict=Verdict.MEMORY_ERROR,
        message=f"{doing} made an illegal memory access{where}: the address belongs to {what}",
        hint=_CUDA_HINTS[700],
    )


def _crash_place(output: str, built: Built) -> str:
    """Python's fault handler prints a stack; the student's own frame is the place."""
    for match in _FAULT_FRAME.finditer(output):
        if match["file"].endswith(built.path.name):
            return f" at {built.file}:{match['line']}, in {match['name']}"
    return ""


def _host_hint(number: signal.Signals, built: Built) -> str:
    if number is signal.SIGSEGV and built.path.suffix == ".so":
        return "host code must not follow device pointers, nor a kernel host pointers"
    if number is signal.SIGSEGV:
        return "an address is outside its tensor: look for a missing mask, or a store to an input"
    return ""


def _last(outcome: Outcome, kind: str) -> dict[str, Any] | None:
    return next((record for record in reversed(outcome.told) if record.get("record") == kind), None)


def _clip(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _WORDS_SHOWN else text[:_WORDS_SHOWN] + " …"
