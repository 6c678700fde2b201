"""The generated parts of docs/report.md: the tables and the example.

`UPDATE_GOLDEN=1 pytest tests/report/test_report.py` writes them into the page.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import resources
from typing import Any

import sample_reports
from paths import REPOSITORY

from grader.report.model import Report, to_json
from grader.report.verdict import Verdict

PAGE = REPOSITORY / "docs" / "report.md"
SECTIONS = {
    "report": "The report",
    "environment": "`environment`",
    "kernel": "An entry of `kernels`",
    "check": "An entry of `checks`",
    "build_evidence": "`evidence` of `build`",
    "diagnostic": "An entry of `diagnostics`",
    "correctness_evidence": "`evidence` of `correctness`",
    "case": "An entry of `cases`",
    "mismatch": "An entry of `mismatches`",
    "error_map": "`error_map`",
    "memory_evidence": "`evidence` of `memory`",
    "tool_run": "An entry of `tools`",
    "finding": "An entry of `findings`",
    "writers": "An entry of `writers`",
    "performance_evidence": "`evidence` of `performance`",
    "benchmark_timing": "An entry of `benchmarks`",
    "tier": "An entry of `tiers`",
    "counters_evidence": "`evidence` of `counters`",
    "counter_figure": "An entry of `figures`",
    "counter_line": "An entry of `lines`",
    "bounded_count": "An entry of `counts`",
    "warp_access": "An entry of `warps`",
    "launch_resources": "An entry of `resources`",
    "program_evidence": "`evidence` of `program`",
    "program_run": "An entry of `runs`",
    "rules_evidence": "`evidence` of `rules`",
    "broken_rule": "An entry of `broken`",
}
WORDS = ("verdict", "visibility", "origin")  # The page lists their values once.
PLURALS = {
    "mismatch": "mismatches",
    "tool_run": "tool runs",
    "benchmark_timing": "benchmark timings",
    "counter_figure": "figures",
    "counter_line": "lines",
    "bounded_count": "counts",
    "warp_access": "requests",
    "writers": "writers",
    "program_run": "program runs",
    "broken_rule": "broken rules",
}


def schema() -> dict[str, Any]:
    path = resources.files("grader") / "schemas" / "report.schema.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def tables() -> str:
    """Return a section with a table for each kind of object in the schema."""
    definitions = schema()["$defs"]
    parts = []
    for name, heading in SECTIONS.items():
        definition = definitions[name]
        parts += [
            f"### {heading}",
            "",
            definition["description"],
            "",
            "| key | type | meaning |",
            "|---|---|---|",
            *(_row(key, value, definitions) for key, value in definition["properties"].items()),
            "",
        ]
    return "\n".join(parts)


def _row(key: str, value: dict[str, Any], definitions: dict[str, Any]) -> str:
    described, nullable = _type(value, definitions)
    described += " or null" * nullable
    if "x-unit" in value:
        described += f" ({value['x-unit']})"
    meaning = value["description"].replace("|", "\\|")
    meaning += " Absent from older reports." * value.get("x-added", False)
    return f"| `{key}` | {described} | {meaning} |"


def _type(value: dict[str, Any], definitions: dict[str, Any]) -> tuple[str, bool]:
    """Return the type in words, and whether the value may be null."""
    if "anyOf" in value:  # an object or null
        return _type(value["anyOf"][1], definitions)[0], True
    if "const" in value:
        return f"`{json.dumps(value['const'])}`", False
    if "enum" in value:
        words = [f"`{word}`" for word in value["enum"] if word is not None]
        return ", ".join(words), None in value["enum"]
    if "$ref" in value:
        name = value["$ref"].removeprefix("#/$defs/")
        if name in WORDS:
            return name, False
        if name == "real":
            return "number, or `nan`, `inf`, `-inf`", False
        if name in SECTIONS:
            return "object", False
        return _type(definitions[name], definitions)
    types = value["type"] if isinstance(value["type"], list) else [value["type"]]
    kinds = [kind for kind in types if kind != "null"]
    if kinds == ["array"]:
        item = value["items"].get("$ref", "").removeprefix("#/$defs/") or value["items"]["type"]
        item = item if isinstance(item, str) else item[0]  # integers or nulls
        kinds = [f"array of {PLURALS.get(item, f'{item}s')}"]
    return ", ".join(kinds), "null" in types


def example() -> str:
    """Return one report as JSON, in a code block."""
    return f"```json\n{json.dumps(to_json(_example()), indent=2, ensure_ascii=False)}\n```\n"


def _example() -> Report:
    seen = sample_reports.correctness(
        (sample_reports.case(32), sample_reports.wrong_case(33)), output="block 0\n"
    )
    seen = replace(seen, cases_total=2)
    case = replace(seen.cases[1], mismatches=seen.cases[1].mismatches[:1])
    checks = (
        sample_reports.build(),
        sample_reports.visible(
            verdict=Verdict.WRONG_ANSWER,
            score=0.0,
            message="1 of 2 cases is right",
            hint=case.hint,
            evidence=replace(seen, cases=(seen.cases[0], case)),
        ),
        sample_reports.faulty(
            sample_reports.finding(
                "leak",
                21,
                message="device memory is never freed: `scratch` (132 bytes)",
                kernel=None,
                block=None,
                thread=None,
                buffer="scratch",
                count=3,
                tool="host device",
            )
        ),
        sample_reports.unmeasured(),
    )
    return sample_reports.report(
        sample_reports.kernel(*checks, verdict=Verdict.MEMORY_ERROR), wall_s=2.4
    )


def page(text: str) -> str:
    """Return the page's text with its generated parts updated."""
    for name, made in (("tables", tables()), ("example", example())):
        begin, end = rf"<!-- begin: {name}\b[^\n]*-->\n", rf"<!-- end: {name} -->"
        assert re.search(f"{begin}.*{end}", text, re.DOTALL), f"{PAGE} lacks markers for {name}"
        head, mark, rest = re.split(f"({begin})", text)
        text = head + mark + made + rest[rest.index(end) :]
    return text
