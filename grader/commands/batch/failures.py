"""The commonest failures of a class: messages that differ only in numbers and names are one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from grader.report.verdict import Verdict

MOST = 20
_NAME = re.compile(r"`[^`]*`")
_NUMBER = re.compile(r"[-+]?\d[\d.,×]*(?:e[-+]?\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure of `count` submissions; `message` is what the `example` is told."""

    kernel: str
    check: str
    verdict: str
    message: str
    count: int
    example: str


def commonest(reports: Mapping[str, dict[str, Any]]) -> tuple[Failure, ...]:
    """Return the commonest failures of counted kernels, by the reports of submissions."""
    found: dict[tuple[str, ...], Failure] = {}
    for name, report in reports.items():
        seen = set()
        for failure in _failures(name, report):
            key = failure.kernel, failure.check, failure.verdict, _general(failure.message)
            if key in seen:
                continue
            seen.add(key)
            before = found.get(key)
            found[key] = failure if before is None else replace(before, count=before.count + 1)
    return tuple(sorted(found.values(), key=lambda one: -one.count)[:MOST])


def _failures(name: str, report: dict[str, Any]) -> Iterator[Failure]:
    for kernel in report["kernels"]:
        for check in kernel["checks"] if kernel["counted"] else ():
            verdict = Verdict(check["verdict"])
            if verdict.judged and not verdict.earns_points:
                yield Failure(
                    kernel=kernel["name"],
                    check=check["name"],
                    verdict=verdict.value,
                    message=check["message"],
                    count=1,
                    example=name,
                )


def _general(message: str) -> str:
    return _NUMBER.sub("#", _NAME.sub("`", message))
