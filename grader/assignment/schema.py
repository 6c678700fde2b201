"""Checks a spec against its JSON Schema and explains each error in a sentence for staff.

Three rules differ from jsonschema's defaults: 4.0 is no integer, `nan` and `inf` are no
numbers, and `$` in a pattern does not match before a final line break.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

import jsonschema

from grader.assignment.dialects import dialect
from grader.assignment.problem import Problem, choices, named
from grader.assignment.toml_locations import KeyPath
from grader.text.did_you_mean import did_you_mean
from grader.vocabulary import CheckName, Language

# Tables of a spec that `course.toml` may have, too; its own keys are in the schema's `course`.
SHARED_KEYS = ("format", "late", "limits")

# By jsonschema's word for a type.
_TYPE_WORDS = {
    "object": "a table { key = … }",
    "number": "a finite number",
    "integer": "an integer",
    "string": 'text in quotes ("…")',
    "array": "an array [ … ]",
    "boolean": "true or false",
}
# What people write for a word of the schema and is nearer to another one.
_OTHER_WORDS = {"gpu": "cuda"}
# By keyword of the schema; {limit} is the schema's value, {value} the spec's.
_LIMIT_SENTENCES = {
    "minimum": "is {value}, must be {limit} or more",
    "maximum": "is {value}, must be {limit} or less",
    "exclusiveMinimum": "is {value}, must be more than {limit}",
    "exclusiveMaximum": "is {value}, must be less than {limit}",
    "minItems": "must have {limit} or more elements",
    "maxItems": "must have at most {limit} elements",
    "minLength": "must have {limit} or more characters",
    "maxLength": "must have at most {limit} characters",
    "minProperties": "must have {limit} or more keys",
    "uniqueItems": "has an element twice",
}
# By the key of the table in which either form may stand.
_ALTERNATIVES: dict[KeyPath, str] = {
    ("files",): "a file name or a list of file names",
    ("types",): 'a type by language { cuda = "…", triton = "…" } or a list of types',
}


def schema_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems that the JSON Schema finds in a parsed spec."""
    beyond = [Problem(path, "is out of range for 64 bits") for path in _beyond_64_bits(data, ())]
    if beyond:
        # Skip jsonschema: it would print the number, and Python refuses to print huge ones.
        yield from beyond
        return
    for error in _validator(tuple(CheckName), tuple(Language)).iter_errors(data):
        yield from _problems(error)


def course_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of a parsed `course.toml`."""
    beyond = [Problem(path, "is out of range for 64 bits") for path in _beyond_64_bits(data, ())]
    if beyond:
        yield from beyond
        return
    schema = _validator(tuple(CheckName), tuple(Language)).schema
    own = {"type": "object", "additionalProperties": False, "$defs": schema["$defs"]}
    shared = {key: schema["properties"][key] for key in SHARED_KEYS}
    own["properties"] = {**shared, **schema["$defs"]["course"]["properties"]}
    for error in _validator(tuple(CheckName), tuple(Language)).evolve(schema=own).iter_errors(data):
        yield from _problems(error)


def _beyond_64_bits(value: object, path: KeyPath) -> Iterator[KeyPath]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _beyond_64_bits(inner, (*path, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _beyond_64_bits(inner, (*path, position))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield path


@functools.cache
def _validator(checks: tuple[CheckName, ...], languages: tuple[Language, ...]) -> Any:
    schema = json.loads(
        resources.files("grader").joinpath("schemas/assignment.schema.json").read_text("utf-8")
    )
    # Allow registered checks and languages, too.
    kernel = schema["properties"]["kernels"]["items"]["properties"]
    points = kernel["points"]["properties"]
    others = set(checks) - set(CheckName.SHIPPED)
    points |= dict.fromkeys(others, points["memory"])
    for language in languages:
        kernel["files"]["properties"].setdefault(language.value, _file_schema(language))
        _allow(schema, language)
    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine_many({"integer": _is_whole, "number": _is_number})
    strict = jsonschema.validators.extend(base, {"pattern": _pattern}, type_checker=types)
    return strict(schema)


def _allow(schema: Any, language: Language) -> None:
    """Allow a registered language wherever the schema allows Triton and it is not named."""
    for inner in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(inner, (dict, list)):
            _allow(inner, language)
    triton, word = Language.TRITON.value, language.value
    if not isinstance(schema, dict):
        return
    if triton in (words := schema.get("enum", ())) and word not in words:
        words.append(word)
    if triton in (tables := schema.get("properties", {})):
        tables.setdefault(word, tables.get(language.base.value, tables[triton]))


def _file_schema(language: Language) -> dict[str, Any]:
    """Return the schema of a file's path in a language that the schema does not name."""
    ending = language.suffix
    return {
        "type": "string",
        "maxLength": 100,
        "pattern": rf"^([A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\{ending}$",
        "$comment": f"a path of letters, digits and _ . / - that ends in {ending}, "
        "without `..` or `//`",
    }


def _is_whole(_: Any, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(checker: Any, value: object) -> bool:
    return _is_whole(checker, value) or (isinstance(value, float) and math.isfinite(value))


def _pattern(validator: Any, pattern: str, instance: object, _: Any) -> Iterator[Any]:
    if validator.is_type(instance, "string") and not re.fullmatch(pattern, str(instance)):
        yield jsonschema.ValidationError(f"does not match {pattern}")


# Keys of a spec that are no tables.
_ABOVE_TABLES = ("format", "name", "title", "week", "given")


def _problems(error: Any) -> Iterator[Problem]:
    path: KeyPath = tuple(error.absolute_path)
    value = error.instance
    if "propertyNames" in error.absolute_schema_path:
        path += (str(value),)
    match error.validator:
        case "additionalProperties" if error.validator_value is False:
            known = error.schema["properties"]
            for key in value:
                if language := _without_counter(path, key):
                    message = f"is not counted in {language.phrase}: remove it"
                    yield Problem((*path, key), message)
                elif path and key in _ABOVE_TABLES and key not in known:
                    # In TOML a key below the head of a table is one of the table.
                    yield Problem(
                        (*path, key), "is a key of the whole spec: move it above [signature]"
                    )
                elif key not in known:
                    yield Problem(
                        (*path, key), f"is no known key of this table{choices(key, known)}"
                    )
        case "required":
            known = error.schema["properties"]
            misspelt = {did_you_mean(key, known) for key in value if key not in known}
            for key in error.validator_value:
                # A misspelt key is told of as one.
                if key not in value and f"; did you mean `{key}`?" not in misspelt:
                    yield Problem((*path, key), f"is missing{_purpose(error.schema, key)}")
        case "enum":
            allowed = [str(word) for word in error.validator_value]
            # "input" is meant to be "in".
            begun = [word for word in allowed if str(value).startswith(word)]
            word = _OTHER_WORDS.get(str(value), max(begun, key=len, default=str(value)))
            meant = did_you_mean(word, allowed)
            yield Problem(path, f"is {_shown(value)}, must be one of {named(allowed)}{meant}")
        case "const":
            yield Problem(path, f"is {_shown(value)}, must be {_shown(error.validator_value)}")
        case "type" if isinstance(value, dict) and len(path) == 1:
            # A single table instead of an array of tables.
            yield Problem(path, f"is one table but needs double brackets: [[{path[0]}]]")
        case "type":
            wanted = error.validator_value
            words = [wanted] if isinstance(wanted, str) else wanted
            text = " or ".join(_TYPE_WORDS[word] for word in words)
            yield Problem(path, f"is {_shown(value)}, must be {text}")
        case "pattern":
            yield Problem(path, f"is {_shown(value)}, must be {error.schema['$comment']}")
        case "anyOf":
            yield from _nearest_branch(error)
        case keyword if keyword in _LIMIT_SENTENCES:
            sentence = _LIMIT_SENTENCES[keyword]
            yield Problem(path, sentence.format(value=_shown(value), limit=error.validator_value))
        case _:
            yield Problem(path, error.message)


def _without_counter(path: KeyPath, key: str) -> Language | None:
    """Return the language of a table in `counters`, if the key is a counter that it lacks."""
    languages = list(Language) if path[-2:-1] == ("counters",) else []
    return next((x for x in languages if x == path[-1] and key in dialect(x).uncounted), None)


def _purpose(schema: Mapping[str, Any], key: str) -> str:
    """Return ": " and the schema's description of a key; "" if it has none."""
    text = str(schema["properties"][key].get("description", "")).rstrip(".")
    # "The name" becomes "the name"; "CUDA" is kept.
    begin = text[:1].lower() if text[1:2].islower() or text[1:2] == " " else text[:1]
    return f": {begin}{text[1:]}" if text else ""


def _nearest_branch(error: Any) -> Iterator[Problem]:
    """Yield the problems of the alternative with the right type; if none has, list all."""
    branches: dict[int, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    for inners in branches.values():
        if not any(inner.validator == "type" and not inner.path for inner in inners):
            for inner in inners:
                yield from _problems(inner)
            return
    path = tuple(error.absolute_path)
    if path[-2:-1] in _ALTERNATIVES:
        message = f"is {_shown(error.instance)}, must be {_ALTERNATIVES[path[-2:-1]]}"
        yield Problem(path, message)
        return
    lists = any(branch.get("type") == "array" for branch in error.validator_value)
    yield Problem(
        path,
        f"is {_shown(error.instance)}, must be a number, {'a list of numbers, ' * lists}"
        "or { min = …, max = … }",
    )


def _shown(value: object) -> str:
    """Return a value similar to TOML, cut to a length that fits into a line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
