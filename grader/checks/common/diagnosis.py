"""How a worker ended → verdict, message and hint for the student.

A worker's own words are used only here and in `crash`, and only to explain a
failure that the judge has seen by itself.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import Enum
from typing import Any

from grader.assignment.model import Limits
from grader.build.artifact import Built
from grader.checks.common.crash import Crash, source_place, understand
from grader.checks.common.cuda_errors import ASSERTION, CUDA_ERRORS, CUDA_HINTS, MEMORY_ERRORS
from grader.checks.common.python_hints import advice
from grader.judge.outcome import Outcome, Status
from grader.report.verdict import Verdict
from grader.vocabulary import Device

_WORDS_SHOWN = 500

_EXIT_HINT = "return from the function instead: the grader's worker runs in the same program"
LOOP_HINT = "look for a loop that never ends, or is far longer than the sizes ask for"
_LEFTOVER_HINT = "end every thread and process that you start before the function returns"
# _Z7preparei: a C++ name with its length before it.
_MANGLED = re.compile(r"_Z(\d+)(\w+)")


class Doing(Enum):
    """What the worker was asked to do when it ended."""

    LOADING = "loading"
    CALLING = "calling"
    BETWEEN = "between two calls"

    def phrase(self, built: Built, case: str = "") -> str:
        """Return the subject of a sentence."""
        match self:
            case Doing.LOADING:
                return f"loading {built.file}"
            case Doing.CALLING:
                return f"calling {built.entry}" + (f" on {case}" if case else "")
        return "something that the hand-in left running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """A verdict in words."""

    verdict: Verdict
    message: str
    hint: str = ""


def explain(
    outcome: Outcome, built: Built, limits: Limits, doing: Doing, *, case: str = ""
) -> Diagnosis:
    """Say what an outcome other than done means; name the case where nobody else does."""
    subject = doing.phrase(built, case)
    match outcome.status:
        case Status.TIME_LIMIT:
            return _time_limit(subject, limits, doing)
        case Status.OUTPUT_LIMIT if outcome.detail:
            return Diagnosis(
                verdict=Verdict.OUTPUT_LIMIT,
                message=f"{subject} {outcome.detail}",
                hint="write to the output only, and on no descriptor that you did not open",
            )
        case Status.OUTPUT_LIMIT:
            return Diagnosis(
                verdict=Verdict.OUTPUT_LIMIT,
                message=f"{subject} printed more than {limits.output_kib} KiB",
                hint="take out the printing: nobody reads it",
            )
        case Status.MEMORY_LIMIT:
            return Diagnosis(
                verdict=Verdict.MEMORY_LIMIT,
                message=f"{subject} used more than {limits.memory_mib} MiB of memory",
                hint="look for an allocation in a loop",
            )
        case Status.PROCESS_LIMIT:
            return Diagnosis(
                verdict=Verdict.RUNTIME_ERROR,
                message=f"{subject} started too many processes",
                hint="a kernel needs no process of its own",
            )
        case Status.STRAY_ANSWER:
            return Diagnosis(
                verdict=Verdict.TAMPERED,
                message=f"the hand-in wrote on the grader's channel: {outcome.detail}",
                hint="write on no descriptor that you did not open",
            )
        case Status.CUDA_ERROR:
            return _cuda_error(outcome, built, subject)
        case Status.EXCEPTION | Status.LOAD_FAILED:
            return _told_failure(outcome, built, limits, doing, subject)
    return _death(outcome, built, doing, subject)


def _time_limit(subject: str, limits: Limits, doing: Doing) -> Diagnosis:
    if doing is Doing.BETWEEN:
        message, hint = f"{subject} kept the grader from going on", _LEFTOVER_HINT
    else:
        limit_s = limits.load_s if doing is Doing.LOADING else limits.call_s
        message = f"{subject} did not end within {limit_s:g} s"
        hint = LOOP_HINT
    return Diagnosis(verdict=Verdict.TIME_LIMIT, message=message, hint=hint)


def _cuda_error(outcome: Outcome, built: Built, subject: str) -> Diagnosis:
    code = outcome.code
    if code == ASSERTION:
        record = _last(outcome, "assertion")
        if record is not None:
            return Diagnosis(
                verdict=Verdict.RUNTIME_ERROR,
                message=f"{subject}: the assertion `{_words(record, 'expression')}` failed"
                f"{_in_kernel(_words(record, 'kernel'))}{_at(_place_of(record, built))}",
            )
    words = CUDA_ERRORS.get(code, "see the CUDA documentation")
    return Diagnosis(
        verdict=Verdict.MEMORY_ERROR if code in MEMORY_ERRORS else Verdict.RUNTIME_ERROR,
        message=f"{subject} gave CUDA error {code}: {words}",
        hint=CUDA_HINTS.get(code, ""),
    )


def _told_failure(
    outcome: Outcome, built: Built, limits: Limits, doing: Doing, subject: str
) -> Diagnosis:
    closed = _last(outcome, "gpu")
    if closed is not None and outcome.status is Status.LOAD_FAILED:
        return _no_gpu(_words(closed, "message"), built)
    limit = _last(outcome, "not_measured")
    if limit is not None:
        return _beyond_interpreter(limit, built, limits, subject)
    raised = _last(outcome, "exception")
    if raised is not None:
        return _exception(raised, built, doing, subject)
    unfit = _last(outcome, "entry")
    if unfit is not None:
        return _unfit_entry(_words(unfit, "problem"), built)
    if outcome.status is Status.EXCEPTION:
        return Diagnosis(
            verdict=Verdict.RUNTIME_ERROR,
            message=f"{subject} raised an exception, and closed the pipe that would tell which",
            hint="close no descriptor that you did not open",
        )
    record = _last(outcome, "load")
    text = _words(record, "message") if record else ""
    return _unloadable(text, built)


def _no_gpu(words: str, built: Built) -> Diagnosis:
    """Say that the worker could not open the GPU: no fault of whoever is to be graded."""
    first = (words.splitlines() or ["no reason was given"])[0]
    return Diagnosis(
        verdict=Verdict.NOT_MEASURED,
        message=f"no GPU could be opened for {built.file}: {first}",
        hint="is its memory full, or is it kept for one process? `nvidia-smi` tells; grade again "
        "when it is free",
    )


def _beyond_interpreter(
    record: dict[str, Any], built: Built, limits: Limits, subject: str
) -> Diagnosis:
    """What the interpreter cannot do is not the student's fault; a loop without an end is."""
    place = _place_of(record, built)
    if record.get("reason") == "endless":
        return Diagnosis(
            verdict=Verdict.TIME_LIMIT,
            message=f"{subject} did not end within {limits.call_s:g} s{_at(place)}",
            hint=LOOP_HINT,
        )
    return Diagnosis(
        verdict=Verdict.NOT_MEASURED,
        message=f"{place}: {_words(record, 'message')}",
        hint="grade it on a machine with a GPU",
    )


# Triton's compiler names its errors so; Python's say that there is nothing to run.
_COMPILE_ERRORS = frozenset({"CompilationError", "UnsupportedLanguageConstruct"})
_IMPORT_ERRORS = frozenset(
    {"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError"}
)


def _exception(record: dict[str, Any], built: Built, doing: Doing, subject: str) -> Diagnosis:
    kind, text = _words(record, "type"), _words(record, "message")
    place = _at(_place_of(record, built))
    if kind == "SystemExit":
        return Diagnosis(
            verdict=Verdict.RUNTIME_ERROR,
            message=f"{subject} ended the program with exit(){place}",
            hint=_EXIT_HINT,
        )
    compiling = kind in _COMPILE_ERRORS or (doing is Doing.LOADING and kind in _IMPORT_ERRORS)
    hint = advice(text, gpu=built.device is Device.CUDA)
    if kind == "ModuleNotFoundError":
        hint = f"only {built.file} is graded: put everything into it, and import what is installed"
    return Diagnosis(
        verdict=Verdict.COMPILE_ERROR if compiling else Verdict.RUNTIME_ERROR,
        message=f"{subject} raised {f'{kind}: {text}' if text else kind}{place}",
        hint=hint,
    )


def _unfit_entry(problem: str, built: Built) -> Diagnosis:
    match problem:
        case "missing":
            message = f"{built.file} defines no function `{built.entry}` when it is imported"
        case "kernel":
            message = (
                f"`{built.entry}` in {built.file} is a @triton.jit kernel; "
                "it must be an ordinary function that launches one"
            )
        case _:
            message = f"`{built.entry}` in {built.file} is no function but of the type {problem}"
    return Diagnosis(
        verdict=Verdict.COMPILE_ERROR,
        message=message,
        hint=f"define it at the top level: def {built.entry}(...)",
    )


def _unloadable(text: str, built: Built) -> Diagnosis:
    _, undefined, symbol = text.partition("undefined symbol: ")
    if undefined:
        name = _plain_name(symbol)
        does = "declares" if name == built.entry else "uses"
        return Diagnosis(
            verdict=Verdict.COMPILE_ERROR,
            message=f"{built.file} {does} `{name}` but does not define it",
            hint="write its body into the file; is the name misspelt where the body stands?",
        )
    # The folder that it was loaded from means nothing to the student.
    reason = text.replace(f"{built.path.parent}/", "").rpartition("/")[2] or "no reason was given"
    return Diagnosis(
        verdict=Verdict.COMPILE_ERROR, message=f"{built.file} cannot be loaded: {reason}"
    )


def _plain_name(symbol: str) -> str:
    symbol = symbol.split()[0] if symbol.split() else symbol
    match = _MANGLED.match(symbol)
    return match[2][: int(match[1][:4])] if match else symbol


def _death(outcome: Outcome, built: Built, doing: Doing, subject: str) -> Diagnosis:
    ended = outcome.ended
    left = doing is Doing.BETWEEN
    if ended is None or outcome.detail:
        return Diagnosis(
            verdict=Verdict.RUNTIME_ERROR,
            message=f"{subject} {outcome.detail}",
            hint="close no descriptor that you did not open",
        )
    if ended.signal is None:
        return Diagnosis(
            verdict=Verdict.RUNTIME_ERROR,
            message=f"{subject} ended the program with exit code {ended.exit_code}",
            hint=_LEFTOVER_HINT if left else _EXIT_HINT,
        )
    if ended.signal == signal.SIGXCPU:
        return Diagnosis(
            verdict=Verdict.TIME_LIMIT, message=f"{subject} used up all its processor time"
        )
    crash = understand(ended.signal, outcome, built)
    hint = _LEFTOVER_HINT if left and not crash.in_kernel else crash.hint
    return _crash(crash, subject, hint)


def _crash(crash: Crash, subject: str, hint: str) -> Diagnosis:
    where = f"{_in_kernel(crash.kernel)}{_at(crash.place)}"
    if crash.wrote_input:
        # What a GPU permits and the comparison of inputs finds there.
        return Diagnosis(
            verdict=Verdict.WRONG_ANSWER,
            message=f"{subject} wrote to `{crash.buffer}`, an input,{where}",
            hint=hint,
        )
    memory = crash.in_kernel and crash.bad_access
    return Diagnosis(
        verdict=Verdict.MEMORY_ERROR if memory else Verdict.RUNTIME_ERROR,
        message=f"{subject} crashed: {crash.what}{where}",
        hint=hint,
    )


def _place_of(record: dict[str, Any], built: Built) -> str:
    return source_place(record, built) or built.file


def _at(place: str) -> str:
    return f" ({place})" if place else ""


def _in_kernel(name: str) -> str:
    return f" in the kernel {name}" if name else ""


def _last(outcome: Outcome, kind: str) -> dict[str, Any] | None:
    return next((record for record in reversed(outcome.told) if record.get("record") == kind), None)


def _words(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    text = value.strip() if isinstance(value, str) else ""
    return text if len(text) <= _WORDS_SHOWN else text[:_WORDS_SHOWN] + " …"
