"""Reads assignment.toml into an Assignment, or raises one SpecError with every problem.

    text ─tomllib→ data ─schema→ right form ─validate→ right meaning ─→ Assignment

Stops after the first step with problems, because later steps would only repeat them.
Every problem has file, line and key.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.assignment.cases import DEFAULT_VALUES, CaseTemplate, case_name, case_sizes
from grader.assignment.counter_bounds import (
    COUNTS,
    FIGURES,
    CountBound,
    CounterBounds,
    CountName,
    FigureName,
)
from grader.assignment.entries import EntryView, entry_views
from grader.assignment.expression import Expression
from grader.assignment.late import LateRule
from grader.assignment.launch import Launch
from grader.assignment.model import (
    PROGRAM_FILE,
    PROGRAM_LANGUAGE,
    PROGRAM_NAME,
    PROGRAM_TITLE,
    Assignment,
    Benchmark,
    Course,
    Kernel,
    Limits,
    Rules,
    Tiers,
)
from grader.assignment.problem import spec_error
from grader.assignment.schema import course_problems, schema_problems
from grader.assignment.signature import Signature
from grader.assignment.tolerance import general_tolerance, tolerances
from grader.assignment.validate import file_names, meaning_problems
from grader.errors import SpecError, not_utf8
from grader.timing.decision import Scale, Tier
from grader.vocabulary import CheckName, Device, Language, Visibility

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SPEC_FILE = "assignment.toml"
COURSE_FILE = "course.toml"  # beside the assignments' folders: what they share

_PYTHON_WORD = re.compile(r"[=,[]\s*(True|False|None)\b")
# Word processors write these for straight quotes.
_CURLY_QUOTE = re.compile("[=,[]\\s*[\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb]")
# By a part of the parser's message, which is the same in tomllib and tomli.
_TIPS = {
    "Invalid value": 'text needs quotes: key = "text"',
    "Cannot overwrite": "the key occurs twice; a repeated table needs double "
    "brackets: [[kernels]], [[cases]], [[benchmarks]]",
    "Cannot declare": "the table occurs twice; a repeated table needs double brackets: "
    "[[kernels]], [[cases]], [[benchmarks]]",
    "Illegal character '\\n'": "text must end in its line: is a quote missing?",
    "Unterminated string": "a quote is missing",
    "Unclosed array": "a comma between two elements, or the closing ], is missing",
    "Unclosed inline table": "a comma between two keys, or the closing }, is missing",
    "Invalid initial character for a key part": "write a table in braces { … } on one line, with "
    "commas between its keys and none after the last",
    "Expected '=' after a key": "write key = value",
    "Expected newline or end of document": "write one key = value per line",
    "Unescaped '\\'": "write the backslash twice, or use single quotes",
}


def read_assignment(folder: Path) -> Assignment:
    """Read and validate the assignment in `folder`, with what `course.toml` beside it shares.

    Raises SpecError with all problems found, in the order of their lines.
    """
    file = folder / SPEC_FILE
    text = read_text(file)
    data = _parsed(text, file)
    problems = list(schema_problems(data)) or list(meaning_problems(data, folder))
    if problems:
        raise spec_error(file, text, problems)
    shared = _course_data(folder.parent)
    limits = {**shared.get("limits", {}), **data.get("limits", {})}
    late = {key: shared[key] for key in ("late",) if key in shared}
    views = entry_views({**late, **data, "limits": limits})
    found = [_assignment(view, folder) for view in views]
    if len(found) == 1:
        return found[0]
    signatures = tuple(one.signature for one in found)
    found = [replace(one, signatures=signatures) for one in found]
    names = [kernel["name"] for kernel in data["kernels"]]
    kernels = [kernel for one in found for kernel in one.kernels]
    return replace(
        found[0],
        kernels=tuple(sorted(kernels, key=lambda kernel: names.index(kernel.name))),
        cases=tuple(case for one in found for case in one.cases),
        benchmarks=tuple(benchmark for one in found for benchmark in one.benchmarks),
        hidden_elsewhere=sum(one.hidden_elsewhere for one in found),
        hidden_weight=sum(one.hidden_weight for one in found),
        entries={view.name: one for view, one in zip(views, found, strict=True)},
    )


def read_course(root: Path) -> Course:
    """Return what the course says besides tables of a spec; `root` has the assignments' folders.

    Raises SpecError with all problems of the file.
    """
    data = _course_data(root)
    return Course(
        target=data.get("target", ""),
        languages=tuple(map(Language, data.get("languages", ()))),
        handout=root / data["handout"] if "handout" in data else None,
    )


def _course_data(root: Path) -> Mapping[str, Any]:
    """Return the valid content of the course's file, {} without one."""
    file = root / COURSE_FILE
    if not file.is_file():
        return {}
    text = read_text(file)
    shared = _parsed(text, file)
    problems = list(course_problems(shared))
    if problems:
        raise spec_error(file, text, problems)
    return shared


def read_text(file: Path) -> str:
    """Return the text of a course's file. Raises SpecError, which names it."""
    try:
        # Windows editors write a byte-order mark, which TOML does not allow.
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SpecError("does not exist", file=file, tip="every assignment needs one") from None
    except UnicodeDecodeError as error:
        raise not_utf8(error, file) from None
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", file=file) from error


def _parsed(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SpecError("is nested too deeply", file=file) from None
    # Not only TOMLDecodeError: int() refuses numbers of thousands of digits.
    except ValueError as error:
        message = str(error)
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
        if place is None:
            raise SpecError(f"is not TOML: {message}", file=file) from None
        line = int(place[1]) if place[1] else text.rstrip().count("\n") + 1
        what = message[: place.start()]
        tip = _toml_tip(what, [*text.splitlines(), ""][line - 1])
        raise SpecError(f"is not TOML: {what}", file=file, line=line, tip=tip) from None


def _toml_tip(message: str, line: str) -> str | None:
    """Return how to fix a line that the parser refused with `message`; None if unknown."""
    word = _PYTHON_WORD.search(line)
    if message == "Invalid value" and word:
        known = word[1] != "None"
        return f"TOML writes {word[1].lower()}" if known else "leave the key out: TOML has no None"
    if _CURLY_QUOTE.search(line):
        return 'the quotes are curly: write straight ones, key = "text"'
    return next((tip for part, tip in _TIPS.items() if part in message), None)


def _assignment(view: EntryView, folder: Path) -> Assignment:
    data = view.data
    signature, tolerance = Signature.of(data["signature"]), data["tolerance"]
    outputs = [output.name for output in signature.outputs]
    first = signature.dtypes[0].word if signature.dtypes else ""
    return Assignment(
        name=data["name"],
        title=data["title"],
        week=data.get("week"),
        folder=folder.resolve(),
        signature=signature,
        kernels=tuple(_kernel(kernel) for kernel in data["kernels"]),
        tolerances={language: general_tolerance(tolerance, language) for language in Language},
        output_tolerances=tolerances([tolerance], outputs, first),
        limits=Limits(**data.get("limits", {})),
        cases=tuple(
            template
            for case in data["cases"]
            for template in _templates(case, tolerance, signature)
        ),
        benchmarks=tuple(
            benchmark
            for table in data.get("benchmarks", ())
            for benchmark in _benchmarks(table, tolerance, outputs, first)
        ),
        program=_program(data["program"]) if "program" in data else None,
        hidden_elsewhere=data.get("hidden_cases", 0),
        hidden_weight=data.get("hidden_weight", data.get("hidden_cases", 0)),
        late=LateRule.of(data["late"]) if "late" in data else None,
        given=tuple(data.get("given", ())),
        oracle_suffix=view.suffix,
    )


def _kernel(data: Mapping[str, Any]) -> Kernel:
    files = {Language(word): file_names(named) for word, named in data["files"].items()}
    return Kernel(
        name=data["name"],
        title=data["title"],
        entry=data["entry"],
        files={language: names[0] for language, names in files.items()},
        headers={language: names[1:] for language, names in files.items() if names[1:]},
        points={CheckName(check): float(points) for check, points in data["points"].items()},
        bonus=data.get("bonus", False),
        tiers=_tiers(data.get("tiers", {})),
        counters=_counters(data["counters"]) if "counters" in data else None,
        rules=Rules(
            torch_allowed=data.get("rules", {}).get("torch") == "allowed",
            host_allowed=data.get("rules", {}).get("host") == "allowed",
            libraries=_libraries(data.get("rules", {})),
        ),
    )


def _libraries(rules: Mapping[str, Any]) -> frozenset[str] | None:
    return frozenset(rules["libraries"]) if "libraries" in rules else None


def _tiers(data: Mapping[str, Any]) -> Tiers:
    return Tiers(
        default=_by_language(data),
        on={name: _by_language(tiers) for name, tiers in data.get("on", {}).items()},
        scale=Scale(data.get("scale", Scale.STEPS)),
    )


def _by_language(data: Mapping[str, Any]) -> dict[Language, tuple[Tier, ...]]:
    """Return the tiers by language, slowest first; the marked tier and faster ones are accepted."""
    by_language = {}
    for language in Language:
        if language in data:
            tiers = data[language]
            marked = [place for place, tier in enumerate(tiers) if tier.get("accepted")]
            by_language[language] = tuple(
                Tier(
                    speedup=float(tier["speedup"]),
                    roof=float(tier["roof"]) if "roof" in tier else None,
                    share=float(tier["share"]),
                    accepted=place >= (marked[0] if marked else 0),
                )
                for place, tier in enumerate(tiers)
            )
    return by_language


def _benchmarks(
    data: Mapping[str, Any], tolerance: Mapping[str, Any], outputs: Sequence[str], first: str
) -> Iterator[Benchmark]:
    """Yield a benchmark in each of the table's types, or one in the first type of the list."""
    values = data.get("values", DEFAULT_VALUES)
    for dtype in data.get("dtypes", [""]):
        yield Benchmark(
            name=case_name(data["sizes"], values, dtype),
            sizes=dict(data["sizes"]),
            values=values,
            dtype=dtype or first,
            tolerances=tolerances([tolerance], outputs, dtype) if dtype else {},
            bytes=Expression.parse(data["bytes"]),
            flops=Expression.parse(data["flops"]) if "flops" in data else None,
            languages=frozenset(map(Language, data.get("languages", Language))),
        )


def _counters(data: Mapping[str, Any]) -> CounterBounds:
    def bounds(table: Mapping[str, Any]) -> dict[FigureName, float]:
        return {name: float(table[name]) for name in FIGURES if name in table}

    def counts(table: Mapping[str, Any]) -> dict[CountName, CountBound]:
        return {name: CountBound.of(table[name]) for name in COUNTS if name in table}

    own = {one: data[one.value] for one in Language if one.value in data}
    (sizes,) = case_sizes(data["sizes"])
    return CounterBounds(
        sizes=sizes,
        dtype=data.get("dtype", ""),
        most=bounds(data),
        special={language: bounds(table) for language, table in own.items()},
        counts=counts(data),
        special_counts={language: counts(table) for language, table in own.items()},
    )


def _program(data: Mapping[str, Any]) -> Kernel:
    return Kernel(
        name=PROGRAM_NAME,
        title=PROGRAM_TITLE,
        files={PROGRAM_LANGUAGE: PROGRAM_FILE},
        points={CheckName.PROGRAM: float(data["points"])},
    )


def _templates(
    data: Mapping[str, Any], general: Mapping[str, Any], signature: Signature
) -> Iterator[CaseTemplate]:
    """Yield a template per position of the case's lists, else `count` equal ones; in each type."""
    visibility = Visibility(data.get("visibility", "visible"))
    hides_name = "name" in data and "show_name" not in data
    outputs = [output.name for output in signature.outputs]
    tables = [general, *([data["tolerance"]] if "tolerance" in data else [])]
    dtypes = data.get("dtypes", [kind.word for kind in signature.dtypes]) or [""]
    every = list(case_sizes(data["sizes"])) * data.get("count", 1)
    for sizes, dtype in itertools.product(every, dtypes):
        own = tolerances(tables, outputs, dtype) if dtype or "tolerance" in data else {}
        yield CaseTemplate(
            sizes=sizes,
            values=data.get("values", DEFAULT_VALUES),
            memory=data.get("memory", False),
            exact=data.get("exact", False),
            tolerances=own,
            title=data.get("name", ""),
            weight=data.get("weight"),
            launch=Launch.of(data["launch"]) if "launch" in data else None,
            dtype=dtype,
            title_shown=visibility is Visibility.VISIBLE or not hides_name,
            visibility=visibility,
            devices=frozenset(map(Device, data.get("devices", Device))),
            languages=frozenset(map(Language, data.get("languages", Language))),
        )
