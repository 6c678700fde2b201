"""Read report.json back into a `Report`.

The values are validated against the package's schema, then decoded by the annotations of the
dataclasses, so that a new key needs no code here.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import types
import typing
from collections.abc import Iterable
from enum import Enum
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import jsonschema

from grader.errors import UsageError
from grader.report.evidence import Evidence
from grader.report.model import FORMAT, Report
from grader.system import untrusted_json
from grader.vocabulary import CheckName, Language

MOST_BYTES = 256 << 20  # a report has some kilobytes
_MOST_SHOWN = 200
# Digests of texts that were validated. Validation takes most of the time of reading a report, and a
# batch reads each report several times.
_validated: set[bytes] = set()


def read_report(path: Path) -> Report:
    """Read a report that `grade` wrote.

    Raises UsageError, which names the file and the key, if it is not a valid report.
    """
    return _decode(read_values(path))


def read_values(path: Path) -> dict[str, Any]:
    """Read a report as JSON values, validated against the schema.

    Raises UsageError, which names the file and the key, if it is not a valid report.
    """
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is larger than any report")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the report {path}: {error.strerror or error}") from error
    except ValueError as error:  # not UTF-8, or a zero byte in the path
        raise UsageError(f"{path} is not a report: it is not text in UTF-8") from error
    try:
        data = untrusted_json.parse(text, strict=True)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{path}:{error.lineno}: not a report: {error.msg}",
            tip="reports are written by `grade local --json` and `grade ci --format json`",
        ) from error
    except ValueError as error:
        raise UsageError(f"{path} is not a report: {error}") from error
    digest = hashlib.sha256(text.encode()).digest()
    if digest not in _validated:
        _validate(data, str(path))
        _validated.add(digest)
    values: dict[str, Any] = data
    return values


def from_json(data: Any, source: str) -> Report:
    """Return the report with these JSON values; `source` names them in an error."""
    return _decode(_validate(data, source))


def _validate(data: Any, source: str) -> dict[str, Any]:
    """Return the values. Raises UsageError if they are not a valid report."""
    version = data.get("format") if isinstance(data, dict) else FORMAT
    if isinstance(version, int) and version != FORMAT:
        raise UsageError(
            f"{source}: `format` is {version}, and this grader reads format {FORMAT}",
            tip="read it with the version of the grader that wrote it",
        )
    try:
        wrong = next(iter(_validator(tuple(CheckName), tuple(Language)).iter_errors(data)), None)
        json.dumps(data, ensure_ascii=False).encode()
    except RecursionError as error:
        raise UsageError(f"{source} is not a report: it is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise UsageError(f"{source} is not a report: it has a lone surrogate") from error
    if wrong is not None:
        shown = wrong.message if len(wrong.message) < _MOST_SHOWN else "does not fit the schema"
        raise UsageError(
            f"{source}: `{_place(wrong.absolute_path)}`: {shown}",
            tip="docs/report.md documents every key",
        )
    values: dict[str, Any] = data
    return values


def _decode(values: dict[str, Any]) -> Report:
    fields = {key: value for key, value in values.items() if key != "format"}
    report: Report = _decode_record(Report, fields)
    return report


@functools.cache
def _validator(checks: tuple[CheckName, ...], languages: tuple[Language, ...]) -> Any:
    text = resources.files("grader").joinpath("schemas/report.schema.json").read_text("utf-8")
    schema = json.loads(text)
    # The schema lists what is shipped; registered checks and languages are valid, too.
    schema["$defs"]["check"]["properties"]["check"]["enum"] = list(checks)
    schema["$defs"]["kernel"]["properties"]["language"]["enum"] = [*languages, None]
    return jsonschema.Draft202012Validator(schema)


def _place(path: Iterable[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "report"


def _decode_record(kind: Any, data: dict[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(**{name: _decode_value(hints[name], value) for name, value in data.items()})


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _decode_value(kind: Any, value: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        member = next(one for one in arguments if one is not type(None))
        return None if value is None else _decode_value(member, value)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_decode_value(arguments[0], item) for item in value)
        return tuple(_decode_value(one, item) for one, item in zip(arguments, value, strict=True))
    if origin in (dict, Literal):
        return value
    if kind is Evidence:
        return _decode_record(_evidence_class(value), value)
    if dataclasses.is_dataclass(kind):
        return _decode_record(kind, value)
    if isinstance(kind, type) and issubclass(kind, Enum | CheckName | Language):
        return kind(value)
    return float(value) if kind is float else value


def _evidence_class(value: dict[str, Any]) -> type[Evidence]:
    """Return the class of evidence with these keys, as evidence does not name its type.

    A report of an earlier version lacks the keys that were added since; they have defaults.
    """
    # The class without slots that a slotted dataclass is made from may still exist; it comes first.
    by_keys = {
        frozenset(getattr(kind, "__dataclass_fields__", ())): kind
        for kind in Evidence.__subclasses__()
    }
    lacking = {len(keys - value.keys()): keys for keys in by_keys if keys >= value.keys()}
    if not lacking:
        raise UsageError(
            f"no check has evidence with the keys {', '.join(value)}",
            tip="read the report where the check that wrote it is installed",
        )
    return by_keys[lacking[min(lacking)]]
