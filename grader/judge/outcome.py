"""The outcome of a command to a worker: its status and the worker's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from grader.protocol import wire
from grader.sandbox import spawn
from grader.system import untrusted_json


def parse_records(text: str) -> tuple[dict[str, Any], ...]:
    """Return the untrusted records in a worker's report pipe, one JSON object per line.

    Other lines are left out: a submission can write between the records. Numbers are finite.
    """
    records = []
    for line in text.splitlines():
        try:
            record = untrusted_json.parse(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return tuple(records)


def compiled_s(records: Sequence[Mapping[str, Any]], now_s: float) -> float:
    """Return how long a worker says that it has compiled, until `now_s` on the monotonic clock."""
    total_s, since_s = 0.0, None
    for record in records:
        at_s = record.get("at_s")
        if not isinstance(at_s, int | float):
            continue
        if record.get("record") == "compiling":
            since_s = at_s
        elif record.get("record") == "compiled" and since_s is not None:
            total_s += max(0.0, min(at_s, now_s) - since_s)
            since_s = None
    return total_s + (0.0 if since_s is None else max(0.0, now_s - since_s))


class Status(Enum):
    """How a command ended."""

    DONE = "done"
    EXCEPTION = "exception"
    CUDA_ERROR = "cuda error"
    LOAD_FAILED = "load failed"
    DIED = "died"
    TIME_LIMIT = "time limit"
    OUTPUT_LIMIT = "output limit"
    MEMORY_LIMIT = "memory limit"
    PROCESS_LIMIT = "process limit"
    STRAY_ANSWER = "stray answer"


# By the worker's answer, and by the limit that it exceeded.
OF_STATUS = {
    wire.OK: Status.DONE,
    wire.EXCEPTION: Status.EXCEPTION,
    wire.CUDA_ERROR: Status.CUDA_ERROR,
    wire.LOAD_FAILED: Status.LOAD_FAILED,
}
OF_LIMIT = {
    spawn.End.TIME_LIMIT: Status.TIME_LIMIT,
    spawn.End.OUTPUT_LIMIT: Status.OUTPUT_LIMIT,
    spawn.End.MEMORY_LIMIT: Status.MEMORY_LIMIT,
    spawn.End.PROCESS_LIMIT: Status.PROCESS_LIMIT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a command, with everything that can explain it.

    `records` holds what the worker reported during the command, and `stack` the raw text, which may
    contain the trace of Python's fault handler: both are untrusted and may be forged. `executed`
    holds those records that the trusted executor of Triton's launches wrote.
    """

    status: Status
    code: int = 0
    ended: spawn.Ended | None = None
    records: tuple[dict[str, Any], ...] = ()
    executed: tuple[dict[str, Any], ...] = ()
    stack: str = ""
    detail: str = ""

    @property
    def done(self) -> bool:
        """True if the command was carried out."""
        return self.status is Status.DONE
