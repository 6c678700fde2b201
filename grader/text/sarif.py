"""SARIF 2.1.0, the format in which editors and code scanners read findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import grader

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifResult:
    """One result: what is wrong, and where.

    `rule` is a short name such as "memory/race". `path` is the file as the reader would type it,
    `other_line` a second place in it. A result without a file is about the run: viewers show it as
    a notification.
    """

    rule: str
    level: Level
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    other_line: int | None = None


def sarif_log(results: Iterable[SarifResult], *, successful: bool = True) -> dict[str, Any]:
    """Return the log of one run as JSON values; `successful` is false if the tool itself failed."""
    found = list(dict.fromkeys(results))
    placed = [one for one in found if one.path is not None]
    rules = list(dict.fromkeys(one.rule for one in placed))
    return {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gpu-grade",
                        "version": grader.__version__,
                        "rules": [{"id": rule} for rule in rules],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": successful,
                        "toolExecutionNotifications": [
                            {"level": one.level, "message": {"text": one.message}}
                            for one in found
                            if one.path is None
                        ],
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": [_result(one, one.path, rules) for one in placed if one.path],
            }
        ],
    }


def _result(one: SarifResult, path: str, rules: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "ruleId": one.rule,
        "ruleIndex": rules.index(one.rule),
        "level": one.level,
        "message": {"text": one.message},
        # GitHub's code scanning refuses a result without a line.
        "locations": [_location(path, one.line or 1, one.column)],
    }
    if one.other_line is not None:
        other = _location(path, one.other_line, None)
        values["relatedLocations"] = [{**other, "message": {"text": "the other access"}}]
    return values


def _location(path: str, line: int, column: int | None) -> dict[str, Any]:
    region = {"startLine": line} | ({} if column is None else {"startColumn": column})
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": region}}


def _uri(path: str) -> str:
    """Return a URI in ASCII: absolute for an absolute path, else relative."""
    return Path(path).as_uri() if Path(path).is_absolute() else quote(path, errors="replace")
