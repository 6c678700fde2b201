"""A validator for each platform's result format, written from the platform's documentation.

Each raises AssertionError or jsonschema's ValidationError for a result that the platform
would refuse or misread.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from xml.etree import ElementTree

import jsonschema

_VISIBILITY = {"enum": ["visible", "hidden", "after_due_date", "after_published"]}
_TEXT_FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
_GRADESCOPE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": _TEXT_FORMAT,
        "test_output_format": _TEXT_FORMAT,
        "test_name_format": _TEXT_FORMAT,
        "visibility": _VISIBILITY,
        "stdout_visibility": _VISIBILITY,
        "extra_data": {"type": "object"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "name_format": _TEXT_FORMAT,
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": _TEXT_FORMAT,
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": _VISIBILITY,
                    "extra_data": {"type": "object"},
                },
            },
        },
        "leaderboard": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "value"],
                "properties": {
                    "name": {"type": "string"},
                    "value": {"type": ["number", "string"]},
                    "order": {"enum": ["asc", "desc"]},
                },
            },
        },
    },
    "anyOf": [
        {"required": ["score"]},
        {
            "required": ["tests"],
            "properties": {"tests": {"minItems": 1, "items": {"required": ["score"]}}},
        },
    ],
}
_PRAIRIELEARN = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "gradable": {"type": "boolean"},
        "format_errors": {"type": ["string", "array"], "items": {"type": "string"}},
        "message": {"type": "string"},
        "output": {"type": "string"},
        "images": {"type": "array"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string"},
                    "description": {"type": "string"},
                    "points": {"type": "number"},
                    "max_points": {"type": "number"},
                    "message": {"type": "string"},
                    "output": {"type": "string"},
                    "images": {"type": "array"},
                },
            },
        },
    },
    "if": {"required": ["gradable"], "properties": {"gradable": {"const": False}}},
    "then": {},
    "else": {"required": ["score"], "not": {"required": ["format_errors"]}},
}
_CLASSROOM = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "status", "max_score", "tests"],
    "properties": {
        "version": {"const": 1},
        "status": {"enum": ["pass", "fail", "error"]},
        "max_score": {"type": "integer", "minimum": 0},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "status", "score"],
                "properties": {
                    "name": {"type": "string"},
                    "status": {"enum": ["pass", "fail", "error"]},
                    "score": {"type": "number"},
                    "message": {"type": "string"},
                    "test_code": {"type": "string"},
                    "filename": {"type": "string"},
                    "line_no": {"type": "integer"},
                    "duration": {"type": "number"},
                },
            },
        },
    },
}
_COMMAND = re.compile(r"::(?P<kind>error|warning|notice) (?P<properties>[^:]*)::(?P<data>.*)")
_PROPERTIES = {"title", "file", "line", "endLine", "col", "endColumn"}


def gradescope(text: str) -> dict[str, Any]:
    """Return the results; Gradescope does not treat \r as a line end."""
    results: dict[str, Any] = json.loads(text)
    jsonschema.validate(results, _GRADESCOPE)
    assert "\\r" not in text
    return results


def prairielearn(text: str) -> dict[str, Any]:
    """Return the results; they are below 1 MB, and all tests or none have points."""
    assert len(text.encode()) <= 1_000_000
    results: dict[str, Any] = json.loads(text)
    jsonschema.validate(results, _PRAIRIELEARN)
    assert len({frozenset(t) & {"points", "max_points"} for t in results.get("tests", [])}) <= 1
    return results


def autolab(text: str) -> dict[str, Any]:
    """Return the scores as Autolab's parser gets them from the last line."""
    *before, last = text.removesuffix("\n").split("\n")
    assert len(text.encode()) < 1000 << 10
    for line in before:
        feedback = _as_autolab_reads(line)
        assert feedback["_presentation"] == "semantic"
        assert set(feedback) == {"_presentation", "stages", *feedback["stages"]}
        for stage in feedback["stages"]:
            for cell in feedback[stage].values():
                assert set(cell) <= {"passed", "hint"}
    result = _as_autolab_reads(last)
    assert result["scores"]
    assert all(isinstance(score, (int, float)) for score in result["scores"].values())
    assert isinstance(result.get("scoreboard", []), list)
    return result


def _as_autolab_reads(line: str) -> dict[str, Any]:
    quoted = re.sub(r"([a-zA-Z0-9]+):", r'"\1":', line)
    read: dict[str, Any] = json.loads(quoted)
    assert read == json.loads(line)
    return read


def classroom(text: str) -> dict[str, Any]:
    """Return Classroom's result."""
    result: dict[str, Any] = json.loads(text)
    jsonschema.validate(result, _CLASSROOM)
    return result


def classroom_output(encoded: str) -> dict[str, Any]:
    """Return the result that a step's output encodes."""
    return classroom(base64.b64decode(encoded, validate=True).decode())


def github_commands(lines: list[str]) -> list[dict[str, str]]:
    """Return the annotations, unescaped; GitHub drops all but ten of each kind."""
    found = []
    for line in lines:
        assert "\n" not in line
        assert "\r" not in line
        command = _COMMAND.fullmatch(line)
        assert command, line
        properties = dict(part.split("=", 1) for part in command["properties"].split(","))
        assert set(properties) <= _PROPERTIES
        assert not {"line", "col"} & set(properties) or "file" in properties
        found.append(
            {name: _unescaped(value) for name, value in properties.items()}
            | {"kind": command["kind"], "message": _unescaped(command["data"])}
        )
    for kind in ("error", "warning", "notice"):
        assert sum(one["kind"] == kind for one in found) <= 10
    return found


def _unescaped(text: str) -> str:
    for escaped, char in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(escaped, char)
    return text


def junit(text: str) -> ElementTree.Element:
    """Return the root; its counts are right and each case has at most one outcome."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases)
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(count, "")) == sum(case.find(tag) is not None for case in cases)
        for case in cases:
            assert {"name", "classname"} <= set(case.attrib)
            assert float(case.get("time", "")) >= 0
            outcomes = [child for child in case if child.tag in ("failure", "error", "skipped")]
            assert len(outcomes) <= 1
    for count in ("tests", "failures", "errors", "skipped"):
        assert int(root.get(count, "")) == sum(int(suite.get(count, "")) for suite in root)
    return root


_MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_ONE_OR_MORE = {"type": "integer", "minimum": 1}
_LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["physicalLocation"],
    "properties": {
        "message": _MESSAGE,
        "physicalLocation": {
            "type": "object",
            "additionalProperties": False,
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["uri"],
                    # Of RFC 3986's characters only, so no space and nothing beyond ASCII.
                    "properties": {
                        "uri": {"type": "string", "pattern": r"^[\w.~:/%!$&'()*+,;=@-]+$"}
                    },
                },
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["startLine"],
                    "properties": {"startLine": _ONE_OR_MORE, "startColumn": _ONE_OR_MORE},
                },
            },
        },
    },
}
_SARIF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["tool", "results"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string", "minLength": 1},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {"type": "object", "required": ["id"]},
                                    },
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "additionalProperties": False,
                                        "required": ["message"],
                                        "properties": {"message": _MESSAGE, "level": _LEVEL},
                                    },
                                },
                            },
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["message", "ruleId", "level", "locations"],
                            "properties": {
                                "message": _MESSAGE,
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": _LEVEL,
                                "locations": {"type": "array", "items": _LOCATION, "maxItems": 1},
                                "relatedLocations": {"type": "array", "items": _LOCATION},
                            },
                        },
                    },
                },
            },
        },
    },
}


def sarif(text: str) -> dict[str, Any]:
    """Return a SARIF log with the required parts of version 2.1.0, and nothing unknown.

    Beyond the schema, each result has the line that GitHub's code scanning requires.
    """
    log: dict[str, Any] = json.loads(text)
    jsonschema.validate(log, _SARIF)
    for run in log["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        for result in run["results"]:
            assert rules[result["ruleIndex"]] == result["ruleId"]
    return log
