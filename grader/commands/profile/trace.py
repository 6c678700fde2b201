"""A trace of one call: what the host asks for and what runs, on a time axis.

The file is in Chrome's trace format, which ui.perfetto.dev and chrome://tracing open. On a GPU it
is torch.profiler's, of CUDA C++ and Triton. Without one the emulation reports its launches, copies,
allocations and waits (`trace=1`, see docs/host.md). Their order, number and sizes are those on a
GPU; the times are this CPU's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from grader.assignment.cases import Case
from grader.commands.profile.one_call import counted_case, run_once
from grader.grading.context import FileContext
from grader.protocol import programs
from grader.system import untrusted_json
from grader.text.printable import one_line
from grader.vocabulary import Language

_SETTINGS = "trace=1"
_CALLS = 2  # the first may make what later ones keep
_CALL = "call"  # the kind of the record that begins a call of the entry
# The rows of the picture, by the kinds of spans in them.
_ROWS = {
    "calls": (_CALL,),
    "host: memory and waits": ("memory", "wait"),
    "copies": ("copy",),
    "kernels": ("kernel",),
}
_PROCESS = 1  # and rows from 1: Perfetto takes 0 for the idle thread, some versions merge 0 and 1
_WALL_S = 120.0
TIMES_ON_GPU = "times are those of this GPU"
TIMES = "order, number and sizes are those on a GPU; times are of the emulation on this CPU"


def trace(file: FileContext) -> tuple[str, str]:
    """Return the trace of one case as JSON, and why there is none ("" if there is one)."""
    if file.gpu is not None:
        return _on_gpu(file)
    if file.file.language.imported:
        phrase = file.file.language.phrase
        return "", f"is of CUDA C++; {phrase}'s launches have no times without a GPU"
    # These import torch.
    from grader.checks.common.tool_run import run_under_tool
    from grader.judge.session import Session

    setup, case = file.setup(), counted_case(file)
    limits = file.assignment.limits
    with Session(
        setup.built, limits, None, host_settings=_SETTINGS, budget=setup.budget
    ) as session:
        ran = run_under_tool(setup, session, [(case, file.data(case))], limits, calls=_CALLS)
    if ran.failure is not None:
        return "", f"{case.name}: {ran.failure.message}"
    spans = [record for record in ran.records if record.get("record") == "span"]
    if not any(span.get("kind") != _CALL for span in spans):
        return "", f"nothing was launched on {case.name}"
    return json.dumps(document(spans, file.assignment.signature_of(case).entry, case)), ""


def _on_gpu(file: FileContext) -> tuple[str, str]:
    """Return torch.profiler's trace of two calls, and why there is none."""
    if file.file.language is Language.NUMBA:
        return "", "is of CUDA C++ and Triton"
    if file.built.launched and file.file.language.imported:
        return "", "is of functions that launch; the grader launches this kernel itself"
    case = counted_case(file)
    made, reason = run_once(file, case, programs.GPU_TRACE, wall_s=_WALL_S)
    if not made:
        return "", f"torch.profiler made none: {reason}"
    text = made.decode("utf-8", "replace")
    if not _has_kernels(text):
        return "", f"torch.profiler saw no kernel on {case.name}: may this user trace the GPU?"
    return text, ""


def _has_kernels(text: str) -> bool:
    """True if a trace in torch.profiler's form has a kernel; it comes from an untrusted process."""
    try:
        trace = untrusted_json.parse(text)
    except ValueError:
        return False
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    return isinstance(events, list) and any(
        isinstance(event, dict) and event.get("cat") == "kernel" for event in events
    )


def document(spans: Iterable[Mapping[str, Any]], entry: str, case: Case) -> dict[str, Any]:
    """Return the trace's JSON: a row of events for each kind, in microseconds from the first."""
    found = [span for record in spans if (span := _checked(record)) is not None]
    first = min((span["begin_ns"] for span in found), default=0)
    row_of = {kind: row for row, kinds in enumerate(_ROWS.values(), 1) for kind in kinds}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": _PROCESS, "tid": row, "args": {"name": name}}
        for row, name in enumerate(_ROWS, 1)
    ]
    for position, span in enumerate(found):
        name, end = span["name"], span["end_ns"]
        if span["kind"] == _CALL:
            later = found[position + 1 :]
            calls = [at for at, one in enumerate(later) if one["kind"] == _CALL]
            own = later[: calls[0]] if calls else later
            name, end = entry, max((one["end_ns"] for one in own), default=end)
        events.append(
            {
                "ph": "X",
                "name": name,
                "cat": span["kind"],
                "pid": _PROCESS,
                "tid": row_of[span["kind"]],
                "ts": (span["begin_ns"] - first) / 1e3,
                "dur": (end - span["begin_ns"]) / 1e3,
                "args": span["args"],
            }
        )
    about = {"case": case.name, "times": TIMES}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


def _checked(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a span of the expected form, None for another: a submission can write records."""
    numbers = [record.get(key) for key in ("begin_ns", "end_ns", "bytes")]
    begin, end, size = numbers
    if not all(type(number) is int for number in numbers) or not 0 <= begin <= end:  # type: ignore[operator]
        return None
    kind, name = record.get("kind"), record.get("name")
    if not any(kind in kinds for kinds in _ROWS.values()) or not isinstance(name, str):
        return None
    args: dict[str, Any] = {} if not size else {"bytes": size}
    for key in ("grid", "block"):
        extents = record.get(key)
        if isinstance(extents, list) and all(type(extent) is int for extent in extents):
            args[key] = "x".join(map(str, extents))
    if kind == "kernel" and "bytes" in args:
        args["shared_bytes"] = args.pop("bytes")
    return {
        "kind": kind,
        "name": one_line(name)[:200],
        "begin_ns": begin,
        "end_ns": end,
        "args": args,
    }
