"""What the executor of Triton's launches reported → findings in the common wording."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.emulation_findings import untrusted_records
from grader.checks.common.findings import INPUT_HINT
from grader.report.evidence import Finding, FindingKind, Severity
from grader.report.verdict import Verdict
from grader.text.hints import hints
from grader.vocabulary import Language

TOOL = "executor of Triton's IR"  # its name in reports
_TOOLS = {Language.NUMBA: "executor of PTX"}

NOT_OWN_HINT = (
    "the output was written even with all launches of your kernels left out: compute and store "
    "the result in a kernel of your own"
)

_ACCESS = {"load": "read", "store": "write", "atomic": "atomic"}


def tool_of(language: Language) -> str:
    """Return the name of a language's executor in reports."""
    return _TOOLS.get(language, TOOL)


def not_own(language: Language) -> str:
    """Say that no kernel has computed the result."""
    who = "torch" if language is Language.TRITON else "host code"
    return f"the result is computed by {who}, not by a kernel of yours"


def read_run(
    records: Iterable[Mapping[str, Any]], file: str, tool: str = TOOL
) -> tuple[tuple[Finding, ...], int]:
    """Return the findings and how many bytes kernels loaded and stored.

    Raises ValueError if a record is not one of the executor's.
    """
    findings: list[Finding] = []
    touched = 0
    for record in records:
        with untrusted_records():
            if record.get("record") == "finding":
                findings.append(_finding(record, file, tool))
            elif record.get("record") == "counters":
                touched += int(record["loaded_bytes"]) + int(record["stored_bytes"])
    return tuple(findings), touched


def not_executed(records: Iterable[Mapping[str, Any]]) -> str | None:
    """Return why a launch was recorded and not executed, None if all were executed."""
    for record in records:
        if record.get("record") == "not_executed":
            at = f" (line {record['line']})" if record.get("line") else ""
            return f"{str(record['message'])[:300]}{at}"
    return None


def _finding(record: Mapping[str, Any], file: str, tool: str) -> Finding:
    if record["kind"] not in get_args(FindingKind) or record["severity"] not in get_args(Severity):
        raise ValueError("an unknown kind of finding")
    line, offset = record["line"], record.get("offset")
    other_line = record.get("other_line")
    return Finding(
        kind=record["kind"],
        # No memory error on a GPU; the correctness check reports the changed input.
        severity="warning" if record.get("read_only") else record["severity"],
        message=str(record["message"])[:500],
        hint=INPUT_HINT if record.get("read_only") else _hint(record),
        file=file,
        line=line if type(line) is int else None,
        other_line=other_line if type(other_line) is int else None,
        kernel=str(record["kernel"] or "")[:200] or None,
        block=_triple(record["program"]) if record.get("program") is not None else None,
        thread=_triple(record["thread"]) if record.get("thread") is not None else None,
        buffer=None if record["tensor"] is None else str(record["tensor"])[:200],
        element=offset if type(offset) is int else None,
        access=cast(Any, _ACCESS.get(str(record["access"]))),
        count=max(1, int(record["count"])),
        tool=tool,
        space="shared" if record.get("space") == "shared" else "global",
        other_block=_triple(record["other_program"]) if record.get("other_program") else None,
        other_thread=_triple(record["other_thread"]) if record.get("other_thread") else None,
        other_access=cast(Any, _ACCESS.get(str(record.get("other_access")))),
        block_size=_triple(record["block_size"]) if record.get("block_size") else None,
    )


_ONE_PAST = re.compile(
    r"1 element past the end of `[^`]*` \(element ([\d,]+); the last is ([\d,]+)\)"
)


def _hint(record: Mapping[str, Any]) -> str:
    if record.get("thread") is not None:
        return str(record["hint"])[:500]  # the executor of PTX has hints of its own
    found = _ONE_PAST.search(str(record["message"]))
    one = found is not None and found[2] == "0"  # a buffer of one element has no mask to widen
    if found and not one and int(found[1].replace(",", "")) == int(found[2].replace(",", "")) + 1:
        return hints("found")["one lane past the end"]
    return str(record["hint"])[:500]


def _triple(program: Iterable[Any]) -> tuple[int, int, int]:
    return cast("tuple[int, int, int]", (*(int(index) for index in program), 0, 0, 0)[:3])


def fault(executed: Iterable[Mapping[str, Any]], file: str) -> Diagnosis | None:
    """Return what a GPU would have stopped, or the comparison would miss: a store outside.

    Lanes that are outside are left out by the executor, so that outputs may be right.
    """
    for record in executed:
        if record.get("record") != "finding" or record["access"] == "load":
            continue
        line = f"{file}:{record['line']}" if record["line"] else file
        if record.get("read_only"):
            message = f"wrote to `{record['tensor']}`, an input, in the kernel {record['kernel']}"
            return Diagnosis(Verdict.WRONG_ANSWER, f"{message} ({line})", hint=INPUT_HINT)
        if record["kind"] in ("out_of_bounds", "misaligned") and record["severity"] == "error":
            message = f"the kernel {record['kernel']} ({line}) {record['message']}"
            return Diagnosis(Verdict.MEMORY_ERROR, message, hint=_hint(record))
    return None
