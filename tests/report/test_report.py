"""The report's contract: code, schema and page agree; the file is complete or absent."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import types
import typing
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union

import jsonschema
import pytest
import report_document
import sample_reports

from grader.errors import GraderError
from grader.report import evidence, model
from grader.report.model import Report, to_json, write_report
from grader.report.reader import read_report
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Language

SCHEMA = report_document.schema()
DEFINITIONS: dict[str, Any] = SCHEMA["$defs"]
# The kinds of object in a report; the schema's other definitions are no objects.
OBJECTS = {
    name: definition
    for name, definition in DEFINITIONS.items()
    if definition.get("type") == "object"
}
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
NAMES = {
    model.Report: "report",
    model.KernelResult: "kernel",
    model.CheckResult: "check",
    evidence.BuildEvidence: "build_evidence",
    evidence.Diagnostic: "diagnostic",
    evidence.CorrectnessEvidence: "correctness_evidence",
    evidence.CaseResult: "case",
    evidence.Mismatch: "mismatch",
    evidence.ErrorMap: "error_map",
    evidence.MemoryEvidence: "memory_evidence",
    evidence.ToolRun: "tool_run",
    evidence.Finding: "finding",
    evidence.Writers: "writers",
    evidence.PerformanceEvidence: "performance_evidence",
    evidence.BenchmarkTiming: "benchmark_timing",
    evidence.TierShown: "tier",
    evidence.CountersEvidence: "counters_evidence",
    evidence.CounterFigure: "counter_figure",
    evidence.CounterLine: "counter_line",
    evidence.BoundedCount: "bounded_count",
    evidence.WarpAccess: "warp_access",
    evidence.LaunchResources: "launch_resources",
    evidence.ProgramEvidence: "program_evidence",
    evidence.ProgramRun: "program_run",
    evidence.RulesEvidence: "rules_evidence",
    evidence.BrokenRule: "broken_rule",
}
NOT_ALWAYS_A_NUMBER = {("mismatch", "expected"), ("mismatch", "actual")}
FROM_ONE = {("finding", "count")}  # every finding was found at least once


# --- code, schema and page agree -------------------------------------------------------------


def test_every_record_of_the_code_is_in_the_schema() -> None:
    records = {
        value
        for module in (model, evidence)
        for value in vars(module).values()
        if isinstance(value, type) and is_dataclass(value)
    }
    assert records == set(NAMES)
    assert {record for record in records if issubclass(record, evidence.Evidence)} == {
        record for record, name in NAMES.items() if name.endswith("_evidence")
    }


@pytest.mark.parametrize("record", NAMES, ids=lambda record: record.__name__)
def test_record_and_schema_have_the_same_keys_and_types(record: type) -> None:
    name = NAMES[record]
    types_of = typing.get_type_hints(record)
    hints = {key: types_of[key] for key in model.keys(record)}
    written = {"format": int, **hints} if record is Report else hints
    properties = DEFINITIONS[name]["properties"]
    assert list(properties) == list(written)
    for key, hint in written.items():
        if (name, key) in NOT_ALWAYS_A_NUMBER:
            assert properties[key]["$ref"] == "#/$defs/real"
        elif (name, key) not in {("report", "format"), ("report", "environment")}:
            assert _allowed(properties[key]) == _of_hint(hint), f"{name}.{key}"


def _of_hint(hint: Any) -> set[Any]:
    """Return what a type hint allows: JSON types, words, names of records."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return set().union(*map(_of_hint, typing.get_args(hint)))
    if typing.get_origin(hint) is Literal:
        return set(typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return {("array", frozenset(_of_hint(typing.get_args(hint)[0])))}
    if typing.get_origin(hint) is dict:
        return {"object"}
    if hint in NAMES:
        # Which check has which evidence is a separate rule, tested below.
        return {"object" if NAMES[hint].endswith("_evidence") else NAMES[hint]}
    if hint is evidence.Evidence:
        return {"object"}
    if hint is CheckName:
        return set(CheckName)
    if hint is Language:
        return set(Language)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {member.value for member in hint}
    plain = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): None}
    return {plain[hint]}


def _allowed(value: dict[str, Any]) -> set[Any]:
    if "$ref" in value:
        name = value["$ref"].removeprefix("#/$defs/")
        return {name} if name in NAMES.values() else _allowed(DEFINITIONS[name])
    if "anyOf" in value:
        return set().union(*map(_allowed, value["anyOf"]))
    if "enum" in value:
        return set(value["enum"])
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    items = ("array", frozenset(_allowed(value["items"]))) if "items" in value else None
    return {{"null": None, "array": items}.get(kind, kind) for kind in kinds}


@pytest.mark.parametrize("name", OBJECTS)
def test_schema_is_closed_and_described(name: str) -> None:
    definition = OBJECTS[name]
    assert definition["additionalProperties"] is False
    assert all(value["description"] for value in definition["properties"].values())
    if name != "environment":
        # A report of an earlier version lacks the keys that were added since.
        properties = definition["properties"].items()
        always = [key for key, value in properties if not value.get("x-added")]
        assert definition["required"] == always


def test_schema_itself_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_page_says_what_the_schema_says() -> None:
    assert set(report_document.SECTIONS) == set(OBJECTS)
    page = report_document.PAGE.read_text(encoding="utf-8")
    made = report_document.page(page)
    if os.environ.get("UPDATE_GOLDEN"):
        report_document.PAGE.write_text(made, encoding="utf-8")
    else:
        assert page == made, "run: UPDATE_GOLDEN=1 pytest tests/report/test_report.py"


def test_page_names_every_verdict() -> None:
    page = report_document.PAGE.read_text(encoding="utf-8")
    assert [verdict for verdict in Verdict if f"`{verdict}`" not in page] == []


def test_page_explains_every_kind_of_finding() -> None:
    page = report_document.PAGE.read_text(encoding="utf-8")
    kinds = typing.get_args(evidence.FindingKind)
    assert [kind for kind in kinds if f"`{kind}` (" not in page] == []


def test_example_of_the_page_is_valid() -> None:
    text = report_document.example().removeprefix("```json\n").removesuffix("```\n")
    VALIDATOR.validate(json.loads(text))


# --- valid and invalid reports ---------------------------------------------------------------

ODD = (
    sample_reports.hostile,
    sample_reports.ladder,
    sample_reports.memory_warning,
    sample_reports.own_program,
)
SAMPLES = [*(sample_reports.of(verdict) for verdict in Verdict), *(make() for make in ODD)]
SAMPLE_IDS = [*(verdict.value for verdict in Verdict), *(make.__name__ for make in ODD)]


@pytest.mark.parametrize("sample", SAMPLES, ids=SAMPLE_IDS)
def test_sample_is_valid(sample: Report, tmp_path: Path) -> None:
    write_report(sample, tmp_path / "report.json")
    VALIDATOR.validate(json.loads((tmp_path / "report.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("verdict", Verdict)
def test_sample_has_the_verdict_it_is_named_by(verdict: Verdict) -> None:
    assert sample_reports.of(verdict).verdict is verdict


def _change(name: str, value: object, *path: str | int) -> dict[str, Any]:
    return _changed(sample_reports.wrong_answer(), name, value, *path)


def _change_finding(name: str, value: object) -> dict[str, Any]:
    return _changed(sample_reports.memory_error(), name, value, *MEMORY, "findings", 0)


def _changed(sample: Report, name: str, value: object, *path: str | int) -> dict[str, Any]:
    changed = to_json(sample)
    place: Any = changed
    for step in path:
        place = place[step]
    place[name] = value
    return changed


CHECK = ("kernels", 0, "checks", 1)
MEMORY = ("kernels", 0, "checks", 2, "evidence")
FIGURE = (*MEMORY, "figures", 1)
RUN = ("kernels", 1, "checks", 1, "evidence", "runs", 0)


@pytest.mark.parametrize(
    "changed",
    [
        _change("surprise", 1),
        _change("surprise", 1, "kernels", 0),
        _change("surprise", 1, *CHECK, "evidence", "cases", 3, "mismatches", 0),
        _change("surprise", "1", "environment"),
        _change("format", 2),
        _change("verdict", "failed"),
        _change("verdict", "grader_error"),
        _change("score", None),
        _change("score", -1.0),
        _change("score", None, "kernels", 0),
        _change("score", None, *CHECK),
        _change("score", "nan"),
        _change("evidence", to_json(sample_reports.of(Verdict.ACCEPTED)), *CHECK),
        _change("check", "build", *CHECK),
        _change("check", "performance", *CHECK),
        _change("actual", "NaN", *CHECK, "evidence", "cases", 3, "mismatches", 0),
        _change("max_error", "inf", *CHECK, "evidence", "cases", 3),
        _change("check", "memory", *CHECK),
        _changed(sample_reports.memory_error(), "check", "counters", *MEMORY[:-1]),
        _changed(sample_reports.memory_error(), "surprise", 1, *MEMORY),
        _changed(sample_reports.memory_error(), "surprise", 1, *MEMORY, "tools", 0),
        _changed(sample_reports.memory_error(), "problem", False, *MEMORY, "tools", 0),
        _changed(sample_reports.own_program(), "check", "rules", *RUN[:-3]),
        _changed(sample_reports.own_program(), "surprise", 1, *RUN),
        _changed(sample_reports.own_program(), "calls", -1, *RUN),
        _changed(sample_reports.own_program(), "exit_code", "0", *RUN),
        _change_finding("surprise", 1),
        _change_finding("kind", "segfault"),
        _change_finding("severity", "info"),
        _change_finding("line", 0),
        _change_finding("block", [1, 2]),
        _change_finding("thread", [1, 2, 3, 4]),
        _change_finding("thread", [0, 0, -1]),
        _change_finding("access", "free"),
        _change_finding("count", 0),
        _changed(sample_reports.too_slow_by_counters(), "surprise", 1, *MEMORY),
        _changed(sample_reports.too_slow_by_counters(), "name", "loads", *FIGURE),
        _changed(sample_reports.too_slow_by_counters(), "allowed", 0.5, *FIGURE),
        _changed(sample_reports.too_slow_by_counters(), "requests", 0, *MEMORY, "lines", 0),
        _changed(sample_reports.too_slow_by_counters(), "space", "local", *MEMORY, "lines", 0),
        _changed(sample_reports.too_slow_by_counters(), "check", "memory", *MEMORY[:-1]),
    ],
)
def test_schema_refuses(changed: dict[str, Any]) -> None:
    for sample in (
        sample_reports.wrong_answer(),
        sample_reports.memory_error(),
        sample_reports.too_slow(),
        sample_reports.too_slow_by_counters(),
        sample_reports.own_program(),
    ):
        VALIDATOR.validate(to_json(sample))
    assert not VALIDATOR.is_valid(changed)


def test_score_is_unknown_if_the_grader_failed() -> None:
    written = to_json(sample_reports.grader_error())
    kernel = written["kernels"][0]
    assert (written["score"], kernel["score"], kernel["checks"][1]["score"]) == (None, None, None)
    written["score"] = 0.0
    assert not VALIDATOR.is_valid(written)


def test_finding_may_be_known_by_its_file_alone() -> None:
    bare = evidence.Finding(
        kind="leak", severity="error", message="", file="silu.cu", line=None, tool="memcheck"
    )
    check = sample_reports.memory(evidence=sample_reports.memory_evidence(bare))
    written = to_json(sample_reports.report(sample_reports.kernel(check, verdict=check.verdict)))
    VALIDATOR.validate(written)
    found = written["kernels"][0]["checks"][0]["evidence"]["findings"][0]
    assert (found["line"], found["block"], found["element"]) == (None, None, None)
    before = replace(bare, element=-1, block=(0, 0, 0))
    check = replace(check, evidence=sample_reports.memory_evidence(before))
    VALIDATOR.validate(
        to_json(sample_reports.report(sample_reports.kernel(check, verdict=check.verdict)))
    )


def test_floats_that_json_lacks_are_words() -> None:
    cases = to_json(sample_reports.wrong_answer())["kernels"][0]["checks"][1]["evidence"]["cases"]
    actual = [mismatch["actual"] for mismatch in cases[3]["mismatches"]]
    assert actual == ["nan", "inf", 0.0, -0.0, 1.76159]


def test_minus_infinity_is_a_word() -> None:
    wrong = sample_reports.wrong_case(33)
    mismatch = replace(wrong.mismatches[0], expected=float("-inf"))
    seen = sample_reports.visible(
        evidence=sample_reports.correctness((replace(wrong, mismatches=(mismatch,)),))
    )
    written = to_json(sample_reports.report(sample_reports.kernel(seen, verdict=Verdict.ACCEPTED)))
    VALIDATOR.validate(written)
    case = written["kernels"][0]["checks"][0]["evidence"]["cases"][0]
    assert case["mismatches"][0]["expected"] == "-inf"


@pytest.mark.parametrize("record", NAMES, ids=lambda record: record.__name__)
def test_unknown_is_none_and_never_a_sentinel(record: type) -> None:
    """A record with default values has null for unknown values, and counts from 0."""
    hints = typing.get_type_hints(record)
    for item in fields(record):
        if item.default is MISSING:
            continue
        if type(None) in typing.get_args(hints[item.name]):
            assert item.default is None, item.name
        elif hints[item.name] in (int, float):
            least = int((NAMES[record], item.name) in FROM_ONE)
            assert item.default == least, item.name


# --- the file --------------------------------------------------------------------------------

OLD = "the report of the run before"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(OLD)
    return path


def _assert_untouched(path: Path) -> None:
    assert path.read_text() == OLD
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_replaces_the_report_before(old: Path) -> None:
    write_report(sample_reports.accepted(), old)
    assert json.loads(old.read_text(encoding="utf-8"))["verdict"] == "accepted"
    assert [entry.name for entry in old.parent.iterdir()] == [old.name]


def test_full_disk_when_flushed_leaves_the_old_report(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GraderError, match=r"cannot write the report .*report\.json: No space left"):
        write_report(sample_reports.accepted(), old)
    _assert_untouched(old)


def test_full_disk_for_real_leaves_the_old_report(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = os.geteuid() == 0 and (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], capture_output=True
        ).returncode
        == 0
    )
    if not mounted:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        path = disk / "report.json"
        path.write_text(OLD)
        with pytest.raises(GraderError, match="No space left on device") as caught:
            write_report(sample_reports.hostile(), path)
        assert caught.value.tip is not None
        _assert_untouched(path)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_interrupt_leaves_the_old_report(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(sample_reports.accepted(), old)
    _assert_untouched(old)


def test_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match="No such file or directory"):
        write_report(sample_reports.accepted(), tmp_path / "absent" / "report.json")


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_only_a_file_is_replaced(kind: str, tmp_path: Path) -> None:
    """Otherwise `--json /dev/stdout`, run by root, would replace that link."""
    path = tmp_path / "report.json"
    target = tmp_path / "target"
    target.write_text(OLD)
    if kind == "link":
        path.symlink_to(target)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    before = path.lstat().st_mode
    with pytest.raises(GraderError, match="not a regular file"):
        write_report(sample_reports.accepted(), path)
    assert path.lstat().st_mode == before
    assert target.read_text() == OLD


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_permissions_follow_the_umask(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        write_report(sample_reports.accepted(), tmp_path / "report.json")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == 0o666 & ~mask


def test_text_that_is_no_unicode_is_written_all_the_same(tmp_path: Path) -> None:
    sample = replace(sample_reports.accepted(), title="half \udc80 pair")
    write_report(sample, tmp_path / "report.json")
    text = (tmp_path / "report.json").read_bytes().decode("utf-8")
    assert json.loads(text)["title"] == "half \N{REPLACEMENT CHARACTER} pair"


# --- reports of earlier versions -------------------------------------------------------------

# As the commit b783c2e writes them, before shares of the roofline and evidence for figures.
EARLIER = sorted((Path(__file__).parent / "earlier").glob("*.json"))


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: path.stem)
def test_a_report_of_an_earlier_version_is_read(path: Path) -> None:
    report = read_report(path)
    assert report.verdict.value == json.loads(path.read_text(encoding="utf-8"))["verdict"]
    VALIDATOR.validate(to_json(report))  # written again, it has the keys that were added since


def test_an_earlier_timed_report_has_no_roofline() -> None:
    checks = read_report(EARLIER[0].with_name("too_slow.json")).kernels[0].checks
    [timed] = [one.evidence for one in checks if one.check == "performance"]
    assert isinstance(timed, evidence.PerformanceEvidence)
    assert timed.speedup is not None
    assert (timed.roof, timed.share, timed.scale, timed.reached_by) == (None, None, "steps", None)
    assert all(tier.roof is None for tier in timed.tiers)
