"""Read the report of the checked host build into findings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, Literal

from grader.build.artifact import Built
from grader.checks.common.findings import hint
from grader.checks.common.source_lines import locator
from grader.emulation.cuda_cpp.findings import Finding as HostFinding
from grader.emulation.cuda_cpp.report import Report, read_report
from grader.report.evidence import Finding
from grader.text.hints import hints

TOOL = "host device"
_SPACES: dict[str, Literal["global", "shared"]] = {"global": "global", "shared": "shared"}
_INPUT_WRITTEN = "a read-only input is written"
# By message, where the hint for the kind of finding would mislead.
_HINTS = {
    message: hints("finding").get(text, text) for message, text in hints("emulated_finding").items()
}


def read_run(
    records: Sequence[Mapping[str, Any]], built: Built, text: str
) -> tuple[tuple[Finding, ...], Report]:
    """Read a worker's records about a checked build; `text` is the rewritten source file.

    Raises ValueError if the runtime cannot have written a record, so the submission forged it.
    """
    with untrusted_records():
        report = read_emulation(records, built, text)
        return tuple(_finding(found, built.file) for found in report.findings), report


def read_emulation(records: Sequence[Mapping[str, Any]], built: Built, text: str) -> Report:
    """Return the emulation's own form of the report; call it in `untrusted_records`."""
    lines = "\n".join(json.dumps(record) for record in records)
    sources = {PurePath(built.file).name: text}
    return read_report(lines, locate=locator(built.path, built.file), sources=sources)


@contextmanager
def untrusted_records() -> Iterator[None]:
    """Raise ValueError for what a forged record raises in the block."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a record of the grader's own: {error}") from error


def _finding(found: HostFinding, file: str) -> Finding:
    return Finding(
        kind=found.kind,
        # No memory error on a GPU; the correctness check reports the changed input.
        severity="warning" if found.message == _INPUT_WRITTEN else found.severity,
        message=found.sentence(),
        hint=_hint(found),
        file=file,
        line=found.line,
        other_line=found.other_line,
        kernel=found.kernel,
        block=found.block,
        thread=found.thread,
        buffer=found.buffer,
        element=found.element,
        access=_access(found.write),
        access_bytes=found.access_bytes,
        count=found.count,
        tool=TOOL,
        space=_SPACES.get(found.space or ""),
        elements=found.elements,
        block_size=found.block_size,
        other_thread=found.other_thread,
        other_access=_access(found.other_write) if found.kind == "race" else None,
    )


def _access(write: bool | None) -> Literal["read", "write"] | None:
    if write is None:
        return None
    return "write" if write else "read"


def _hint(found: HostFinding) -> str:
    if found.kind == "out_of_bounds" and found.element is not None and found.element < 0:
        return _HINTS["the access begins before its buffer"]
    return _HINTS.get(found.message) or hint(found.kind)
