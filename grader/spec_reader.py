"""assignment.toml → Assignment, or one SpecError that names every problem.

Two passes: the JSON Schema of the package says what a key may hold; then the
checks that a schema cannot express (names that must exist elsewhere, sizes
that must be complete). Every problem is told with file, key and line.
"""

from __future__ import annotations

import ast
import functools
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema

from grader import toml_source
from grader.errors import SpecError
from grader.expression import Expression
from grader.signature import Argument, ElementType, Signature
from grader.spec import (
    DEFAULT_VALUES,
    Assignment,
    CaseTemplate,
    Kernel,
    Limits,
    Range,
    Tolerance,
)
from grader.words import CheckName, Device, Language, Memory, Role, Visibility

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SPEC_FILE = "assignment.toml"
ORACLE_FUNCTIONS = ("inputs", "expected", "baseline")

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a spec, at a key."""

    path: KeyPath
    message: str


def read_assignment(folder: Path) -> Assignment:
    """Read and validate the assignment in `folder`.

    Raises SpecError with all problems found, in the order of their lines.
    """
    file = folder / SPEC_FILE
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpecError(
            "is not there", file=file, tip="every assignment folder holds one"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot be read: {error}", file=file) from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"is not TOML: {error}", file=file) from error

    problems = list(_schema_problems(data))
    if not problems:
        problems = list(_meaning_problems(data, folder))
    if problems:
        raise _spec_error(file, text, problems)
    return _assignment(data, folder)


def _spec_error(file: Path, text: str, problems: Iterable[Problem]) -> SpecError:
    lines = toml_source.key_lines(text)
    placed = sorted(
        ((toml_source.line_of(lines, problem.path), problem) for problem in problems),
        key=lambda pair: pair[0] or 0,
    )
    errors = [
        SpecError(problem.message, file=file, key=_dotted(problem.path) or None, line=line)
        for line, problem in placed
    ]
    first = errors[0]
    first.message = "\n".join(error.message for error in errors)
    first.args = (first.message,)
    return first


def _dotted(path: KeyPath) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@functools.cache
def _validator() -> Any:
    schema = json.loads(
        resources.files("grader").joinpath("schemas/assignment.schema.json").read_text("utf-8")
    )
    return jsonschema.Draft202012Validator(schema)


def _schema_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    for error in _validator().iter_errors(data):
        yield from _schema_problem(error)


def _schema_problem(error: Any) -> Iterator[Problem]:
    path: KeyPath = tuple(error.absolute_path)
    match error.validator:
        case "additionalProperties" if isinstance(error.validator_value, bool):
            known = error.schema.get("properties", {})
            for key in error.instance:
                if key not in known:
                    meant = toml_source.did_you_mean(key, known) or f"; known: {_names(known)}"
                    yield Problem((*path, key), f"is not a key of this table{meant}")
        case "required":
            missing = [key for key in error.validator_value if key not in error.instance]
            # jsonschema reports each missing key by itself; its message names it.
            for key in missing:
                if error.message.startswith(repr(key)):
                    yield Problem(path, f"lacks the key `{key}`")
        case "enum":
            allowed = [str(word) for word in error.validator_value]
            meant = toml_source.did_you_mean(str(error.instance), allowed)
            yield Problem(path, f"is {error.instance!r}, must be one of {_names(allowed)}{meant}")
        case "const":
            yield Problem(path, f"is {error.instance!r}, must be {error.validator_value!r}")
        case "type":
            wanted = error.validator_value
            wanted = wanted if isinstance(wanted, str) else " or ".join(wanted)
            yield Problem(path, f"must be a TOML {_TOML_WORDS.get(wanted, wanted)}")
        case "pattern":
            yield Problem(
                path, f"is {error.instance!r}, which does not match {error.validator_value}"
            )
        case "anyOf":
            yield Problem(path, "must be a number, a list of numbers, or { min = …, max = … }")
        case _:
            yield Problem(path, error.message)


_TOML_WORDS = {
    "object": "table",
    "number": "number",
    "integer": "whole number",
    "string": "string in quotes",
    "array": "array [ … ]",
}


def _names(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _meaning_problems(data: Mapping[str, Any], folder: Path) -> Iterator[Problem]:
    if data["name"] != folder.resolve().name:
        yield Problem(("name",), f"is {data['name']!r} but the folder is {folder.resolve().name!r}")
    yield from _signature_problems(data)
    yield from _kernel_problems(data)
    yield from _tolerance_problems(data)
    yield from _case_problems(data)
    yield from _oracle_problems(folder / "oracle.py")


def _signature_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    signature = data["signature"]
    types = signature.get("types", {})
    elements = [kind.word for kind in ElementType]
    languages = {language for kernel in data["kernels"] for language in kernel["files"]}
    for name, bound in types.items():
        for language in sorted(languages - set(bound)):
            yield Problem(("signature", "types", name), f"has no type for {language}")
    seen: set[str] = set()
    for index, argument in enumerate(signature["arguments"]):
        at: KeyPath = ("signature", "arguments", index)
        if argument["name"] in seen:
            yield Problem((*at, "name"), f"`{argument['name']}` is there twice")
        seen.add(argument["name"])
        if argument["type"] not in types and argument["type"] not in elements:
            known = [*types, *elements]
            meant = toml_source.did_you_mean(argument["type"], known) or f"; known: {_names(known)}"
            yield Problem((*at, "type"), f"is {argument['type']!r}, which is no type{meant}")
        for key in ("role", "memory"):
            if key in argument and "shape" not in argument:
                yield Problem((*at, key), "is for arrays: give a `shape`, or take it away")
        if "default" in argument and "shape" in argument:
            yield Problem((*at, "default"), "is for scalars")
        for extent in argument.get("shape", ()):
            try:
                Expression.parse(extent)
            except ValueError as error:
                yield Problem((*at, "shape"), str(error))
    if not any(a.get("role", "in") != "in" for a in signature["arguments"]):
        yield Problem(("signature", "arguments"), 'has no output: one needs role = "out"')


def _kernel_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    names: set[str] = set()
    files: dict[str, str] = {}
    for index, kernel in enumerate(data["kernels"]):
        at: KeyPath = ("kernels", index)
        if kernel["name"] in names:
            yield Problem((*at, "name"), f"`{kernel['name']}` is there twice")
        names.add(kernel["name"])
        for language, file in kernel["files"].items():
            if ".." in Path(file).parts:
                yield Problem((*at, "files", language), "must not contain `..`")
            if file in files:
                yield Problem((*at, "files", language), f"is also the file of {files[file]}")
            files[file] = kernel["name"]


def _tolerance_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    tolerance = data["tolerance"]
    for at, table in (
        (("tolerance",), tolerance),
        *((("tolerance", word), tolerance[word]) for word in Language if word in tolerance),
    ):
        if "exact" in table and ("atol" in table or "rtol" in table):
            yield Problem((*at, "exact"), "excludes atol and rtol")


def _case_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    needed, allowed = _size_names(data)
    for index, case in enumerate(data["cases"]):
        at: KeyPath = ("cases", index, "sizes")
        sizes = case["sizes"]
        for name in sizes:
            if name not in allowed:
                meant = toml_source.did_you_mean(name, allowed)
                yield Problem((*at, name), f"is no size of this signature{meant}")
        for name in sorted(needed - set(sizes)):
            yield Problem(at, f"lacks `{name}`")
        lengths = {len(value) for value in sizes.values() if isinstance(value, list)}
        if len(lengths) > 1:
            yield Problem(at, "has lists of different lengths: they are taken side by side")
        for name, value in sizes.items():
            if isinstance(value, dict) and value["min"] > value["max"]:
                yield Problem((*at, name), "has min above max")
        if "count" in case and lengths:
            yield Problem(("cases", index, "count"), "goes with single values or ranges, not lists")
        for name, lowest in ((n, _lowest(v)) for n, v in sizes.items()):
            if name in _extent_names(data) and lowest < 1:
                yield Problem((*at, name), "is an array's extent and must be at least 1")


def _lowest(value: Any) -> float:
    if isinstance(value, dict):
        return float(value["min"])
    return float(min(value)) if isinstance(value, list) else float(value)


def _extent_names(data: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    for argument in data["signature"]["arguments"]:
        for extent in argument.get("shape", ()):
            try:
                names |= Expression.parse(extent).names
            except ValueError:
                continue  # told by _signature_problems
    return names


def _size_names(data: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Return the names a case must give, and those it may."""
    scalars = [a for a in data["signature"]["arguments"] if "shape" not in a]
    extents = _extent_names(data)
    return (
        extents | {a["name"] for a in scalars if "default" not in a},
        extents | {a["name"] for a in scalars},
    )


def _oracle_problems(oracle: Path) -> Iterator[Problem]:
    """Look at the oracle without running it: listing must not import torch."""
    try:
        tree = ast.parse(oracle.read_text(encoding="utf-8"))
    except FileNotFoundError:
        yield Problem((), f"has no {oracle.name} beside it: the oracle gives inputs and results")
        return
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        yield Problem((), f"has an unusable {oracle.name}: {error}")
        return
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in ORACLE_FUNCTIONS:
        if name not in defined:
            meant = toml_source.did_you_mean(name, defined)
            yield Problem((), f"has an {oracle.name} without `def {name}(…)`{meant}")


def _assignment(data: Mapping[str, Any], folder: Path) -> Assignment:
    return Assignment(
        name=data["name"],
        title=data["title"],
        folder=folder.resolve(),
        signature=_signature(data["signature"]),
        kernels=tuple(_kernel(kernel) for kernel in data["kernels"]),
        tolerances={language: _tolerance(data["tolerance"], language) for language in Language},
        limits=Limits(**data.get("limits", {})),
        cases=tuple(template for case in data["cases"] for template in _templates(case)),
    )


def _signature(data: Mapping[str, Any]) -> Signature:
    return Signature(
        entry=data["entry"],
        arguments=tuple(_argument(argument) for argument in data["arguments"]),
        types={
            name: {Language(word): ElementType.named(kind) for word, kind in bound.items()}
            for name, bound in data.get("types", {}).items()
        },
    )


def _argument(data: Mapping[str, Any]) -> Argument:
    return Argument(
        name=data["name"],
        type=data["type"],
        shape=tuple(Expression.parse(e) for e in data["shape"]) if "shape" in data else None,
        role=Role(data.get("role", "in")),
        memory=Memory(data.get("memory", "device")),
        default=data.get("default"),
    )


def _kernel(data: Mapping[str, Any]) -> Kernel:
    return Kernel(
        name=data["name"],
        title=data["title"],
        files={Language(word): file for word, file in data["files"].items()},
        points={CheckName(check): float(points) for check, points in data["points"].items()},
    )


def _tolerance(data: Mapping[str, Any], language: Language) -> Tolerance:
    table = data.get(language.value, data)
    return Tolerance(
        atol=table.get("atol", 0.0), rtol=table.get("rtol", 0.0), exact=table.get("exact", False)
    )


def _templates(data: Mapping[str, Any]) -> Iterator[CaseTemplate]:
    """Yield the case, or one for each position of its lists, or `count` of it."""
    lists = {name: value for name, value in data["sizes"].items() if isinstance(value, list)}
    repeat = len(next(iter(lists.values()))) if lists else data.get("count", 1)
    for position in range(repeat):
        yield CaseTemplate(
            sizes={
                name: value[position]
                if isinstance(value, list)
                else Range(value["min"], value["max"])
                if isinstance(value, dict)
                else value
                for name, value in data["sizes"].items()
            },
            values=data.get("values", DEFAULT_VALUES),
            visibility=Visibility(data.get("visibility", "visible")),
            devices=frozenset(map(Device, data.get("devices", Device))),
            languages=frozenset(map(Language, data.get("languages", Language))),
        )
