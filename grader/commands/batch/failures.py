"""The commonest failures of a class: messages that differ only in numbers and names are one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from grader.formats.leading_diagnosis import leading_diagnosis
from grader.report.evidence import Finding
from grader.report.model import KernelResult, Report

MOST = 20
_NAME = re.compile(r"`[^`]*`")
_NUMBER = re.compile(r"[-+]?\d[\d.,×]*(?:e[-+]?\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure of `count` submissions; `message` is what the `example` is told first."""

    kernel: str
    verdict: str
    message: str
    count: int
    example: str


def failures(name: str, report: Report) -> Iterator[Failure]:
    """Yield the failures of a submission: of each counted kernel what its report begins with."""
    for kernel in report.kernels:
        message = _message(kernel) if kernel.counted else ""
        if message:
            yield Failure(
                kernel=kernel.name,
                verdict=kernel.verdict.value,
                message=message,
                count=1,
                example=name,
            )


def commonest(found: Iterable[Failure]) -> tuple[Failure, ...]:
    """Return the commonest failures, each with an example."""
    kinds: dict[tuple[str, ...], Failure] = {}
    for failure in found:
        key = failure.kernel, failure.verdict, _general(failure.message)
        before = kinds.get(key)
        kinds[key] = failure if before is None else replace(before, count=before.count + 1)
    return tuple(sorted(kinds.values(), key=lambda one: -one.count)[:MOST])


def _message(kernel: KernelResult) -> str:
    """Return what a failed kernel's report begins with, "" if nothing failed."""
    if (lead := leading_diagnosis(kernel)) is not None:
        place = lead.shown
        if isinstance(place, Finding) and place.line is not None:
            return f"{place.file}:{place.line}: {lead.message}"
        return lead.message
    # Hidden cases, or too slow.
    failed = (one for one in kernel.checks if one.verdict.judged and not one.verdict.earns_points)
    return next((f"{check.name}: {check.message}" for check in failed), "")


def _general(message: str) -> str:
    return _NUMBER.sub("#", _NAME.sub("`", message))
