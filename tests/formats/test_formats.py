"""Every format for every report: valid, capped, without control characters or hidden cases.

`UPDATE_GOLDEN=1 pytest tests/formats/test_formats.py` rewrites the golden files;
review the diff.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import format_contracts
import html_pages
import pytest
import sample_reports

from grader.errors import UsageError
from grader.formats import github, registry
from grader.formats.output_format import Extras, OutputFormat, terminal_text
from grader.formats.student_view import without_flags
from grader.report.model import Report, to_json
from grader.report.reader import from_json, read_report
from grader.report.verdict import Verdict
from grader.vocabulary import Visibility

GOLDEN = Path(__file__).parent / "golden" / "formats"
NAMED: dict[str, Callable[[], Report]] = {
    name: getattr(sample_reports, name)
    for name in (
        "accepted", "wrong_answer", "compile_error", "memory_error", "memory_warning", "too_slow",
        "too_slow_by_counters", "own_program", "grader_error", "not_submitted", "ladder", "hostile",
    )
}  # fmt: skip
EVERY = [*(make() for make in NAMED.values()), *(sample_reports.of(v) for v in Verdict)]
EVERY_ID = [*NAMED, *(f"of-{verdict}" for verdict in Verdict)]
every_report = pytest.mark.parametrize("report", EVERY, ids=EVERY_ID)
OTHERS = [form for form in registry.formats() if form is not registry.JSON]
# A page is compared with nothing: `test_html` reads it as a browser does.
GOLDEN_FORMS = [form for form in OTHERS if form is not registry.HTML]
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e\u2066-\u2069]")
SECRETS = ("77777", "88888", "99999")  # sizes of wrong_answer's hidden cases


def rendered(form: OutputFormat, report: Report) -> str:
    text = form.file(report)
    assert text is not None
    return text


def published(report: Report) -> bool:
    return report.score is not None


# --- each format against its documentation ---------------------------------------------------


@every_report
def test_gradescope(report: Report) -> None:
    text = registry.GRADESCOPE.file(report)
    if report.score is None:
        assert text is None
        return
    assert text is not None
    results = format_contracts.gradescope(text)
    assert results["score"] == report.score
    # One test that is not visible would hide the total.
    assert {test["visibility"] for test in results["tests"]} <= {"visible"}
    assert results["stdout_visibility"] == "hidden"
    assert ("pending" in results["output"]) == (report.pending > 0)


@every_report
def test_prairielearn(report: Report) -> None:
    results = format_contracts.prairielearn(rendered(registry.PRAIRIELEARN, report))
    spared = report.score is None or report.verdict is Verdict.NOT_SUBMITTED
    assert results["gradable"] is not spared
    if report.score is not None and not spared:
        assert results["score"] == pytest.approx(report.score / report.max_score)


@every_report
def test_autolab(report: Report) -> None:
    text = registry.AUTOLAB.file(report)
    if report.score is None:
        assert text is None
        return
    assert text is not None
    assert text.isascii()
    scores = format_contracts.autolab(text)["scores"]
    assert scores == {entry.name: entry.score for entry in report.kernels if entry.counted}


@every_report
def test_github(report: Report) -> None:
    result = format_contracts.classroom(rendered(registry.GITHUB, report))
    total = sum(test["score"] for test in result["tests"])
    checked = [check for entry in report.kernels if entry.counted for check in entry.checks]
    assert total == pytest.approx(sum(c.score or 0 for c in checked) if published(report) else 0)
    assert result["max_score"] == (report.max_score if published(report) else 0)
    format_contracts.github_commands(github.workflow_commands(report, "hw/silu"))
    assert len(github.summary(report).encode()) <= 1024 << 10


@every_report
def test_sarif(report: Report) -> None:
    [run] = format_contracts.sarif(rendered(registry.SARIF, report))["runs"]
    levels = {result["level"] for result in run["results"]}
    failed = any(check.verdict.judged for entry in report.kernels for check in entry.checks) and (
        report.verdict.judged and not report.verdict.earns_points
    )
    assert ("error" in levels) is failed
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is published(report)
    notes = invocation["toolExecutionNotifications"]
    assert any("pending" in note["message"]["text"] for note in notes) is (report.pending > 0)


def test_sarif_has_the_readers_path_and_both_lines_of_a_race() -> None:
    extras = Extras(paths={"silu.cu": "my  work/ß.cu"})
    text = registry.SARIF.file(sample_reports.memory_error(), extras)
    assert text is not None
    [run] = format_contracts.sarif(text)["runs"]
    race = next(one for one in run["results"] if one["ruleId"] == "memory/race")
    places = [one["physicalLocation"] for one in (*race["locations"], *race["relatedLocations"])]
    assert {place["artifactLocation"]["uri"] for place in places} == {"my%20%20work/%C3%9F.cu"}
    assert [place["region"]["startLine"] for place in places] == [21, 24]


@every_report
def test_junit(report: Report) -> None:
    root = format_contracts.junit(rendered(registry.JUNIT, report))
    names = [case.get("name") for case in root.iter("testcase")]
    assert len(names) == sum(len(entry.checks) for entry in report.kernels)
    kinds = {found.get("type") for found in root.iter("failure")}
    assert kinds <= {verdict.value for verdict in Verdict if verdict.judged}


@every_report
def test_junit_through_a_third_party_parser(report: Report) -> None:
    junitparser = pytest.importorskip("junitparser")
    read = junitparser.JUnitXml.fromstring(rendered(registry.JUNIT, report).encode())
    cases = [case for suite in read for case in suite]
    checks = [check for entry in report.kernels for check in entry.checks]
    assert len(cases) == len(checks) == read.tests
    for case, check in zip(cases, checks, strict=True):
        kinds = {type(result).__name__ for result in case.result}
        if check.verdict.earns_points:
            assert not kinds
        elif check.verdict is Verdict.GRADER_ERROR:
            assert kinds == {"Error"}
        else:
            assert kinds == ({"Failure"} if check.verdict.judged else {"Skipped"})


@every_report
def test_json_is_read_back_as_it_was(report: Report) -> None:
    again = from_json(json.loads(rendered(registry.JSON, report)), "report.json")
    assert to_json(again) == to_json(report)
    kinds = [[type(check.evidence) for check in entry.checks] for entry in report.kernels]
    assert [[type(check.evidence) for check in entry.checks] for entry in again.kernels] == kinds


@pytest.mark.parametrize("form", GOLDEN_FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("name", ["wrong_answer", "memory_error", "hostile", "ladder"])
def test_golden(name: str, form: OutputFormat) -> None:
    suffix = {registry.AUTOLAB: "txt", registry.JUNIT: "xml"}.get(form, "json")
    _assert_golden(f"{name}.{form.name}.{suffix}", rendered(form, NAMED[name]()))


@pytest.mark.parametrize("name", ["compile_error", "memory_error", "hostile"])
def test_golden_of_githubs_log_and_summary(name: str) -> None:
    report = NAMED[name]()
    _assert_golden(f"{name}.commands.txt", "\n".join(github.workflow_commands(report)) + "\n")
    _assert_golden(f"{name}.summary.md", github.summary(report))


@every_report
def test_githubs_summary_takes_no_entity_apart(report: Report) -> None:
    assert not re.search(r"&[a-z]*\\", github.summary(report))


def test_githubs_summary_has_failures_before_what_was_not_graded() -> None:
    summary = github.summary(sample_reports.compile_error())
    assert "### Not graded\n\n* " in summary
    assert "<pre>" not in summary.split("### Not graded")[1]


def test_githubs_summary_has_the_tables_of_the_pages_figures() -> None:
    wrong = github.summary(sample_reports.wrong_answer())
    assert "| n=33 | only the last 8 elements | 8 of 33 |  |" in wrong
    counted = github.summary(sample_reports.too_slow_by_counters())
    assert "| stores to global memory | 81,920 sectors | 10,240 | 8.00 | 1.1 |" in counted
    timed = github.summary(sample_reports.too_slow())
    assert "| n=67108864 | 130.2 us | 251.0 us | 0.519 \\(0.515 to 0.522\\) |" in timed


def test_githubs_summary_keeps_an_apostrophe() -> None:
    assert "Conway's life" in github.summary(
        replace(sample_reports.accepted(), title="Conway's life")
    )


def _assert_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


# --- what students may know ------------------------------------------------------------------


@pytest.mark.parametrize("form", OTHERS, ids=lambda form: form.name)
@pytest.mark.parametrize("visibility", [v for v in Visibility if v is not Visibility.VISIBLE])
def test_hidden_cases_show_only_verdict_and_error(
    form: OutputFormat, visibility: Visibility
) -> None:
    report = _with_visibility(visibility)
    text = _everything_visible(form, report)
    for secret in SECRETS:
        assert secret not in text
    plain = text.replace("\\n", " ").replace("\n", " ")
    assert "wrong answer in 3 (largest error 1.5)" in re.sub(r"\s+|%0A", " ", plain)


def _with_visibility(visibility: Visibility) -> Report:
    report = sample_reports.wrong_answer()
    first = report.kernels[0]
    checks = tuple(
        check if check.visibility is Visibility.VISIBLE else replace(check, visibility=visibility)
        for check in first.checks
    )
    return replace(report, kernels=(replace(first, checks=checks),))


def _everything_visible(form: OutputFormat, report: Report) -> str:
    """Return the file, and the log if students can read it."""
    text = form.file(report) or ""
    if form is registry.GITHUB:
        text += github.summary(report)
    return text if form.log_is_for_staff else text + form.log(report)


def test_staff_see_all_in_gradescopes_log_and_in_json() -> None:
    report = sample_reports.wrong_answer()
    for text in (
        registry.GRADESCOPE.log(report),
        rendered(registry.JSON, report),
    ):
        assert "77777" in text


def test_flags_are_for_staff_in_gradescopes_log_alone() -> None:
    found = sample_reports.flagged()
    results = rendered(registry.GRADESCOPE, found)
    assert "/proc/" not in results and "rules" not in results
    assert "for staff: the source contains `/proc/`" in registry.GRADESCOPE.log(found)


def test_flags_are_no_line_of_what_a_student_prints() -> None:
    found = sample_reports.flagged()
    left = without_flags(found)
    assert "for staff" not in terminal_text(left, staff=True)
    assert "rules" not in terminal_text(left, staff=True)
    assert without_flags(sample_reports.accepted()) == sample_reports.accepted()


def test_a_pending_test_has_no_score() -> None:
    results = json.loads(rendered(registry.GRADESCOPE, sample_reports.wrong_answer()))
    test = next(t for t in results["tests"] if "performance" in t["name"])
    assert test["name"].endswith("(20 points pending)")
    assert not {"score", "max_score", "status"} & set(test)
    assert "grade merge" in results["output"]
    tests = json.loads(rendered(registry.PRAIRIELEARN, sample_reports.wrong_answer()))["tests"]
    pending = next(t for t in tests if "performance" in t["name"])
    assert (pending["points"], pending["max_points"]) == (0, 0)


def test_the_other_language_gives_no_points_twice() -> None:
    results = json.loads(rendered(registry.GRADESCOPE, sample_reports.accepted()))
    assert sum(test.get("score", 0) for test in results["tests"]) == results["score"] == 60


def test_a_kernel_that_is_not_submitted_loses_its_points() -> None:
    absent = replace(
        sample_reports.not_submitted().kernels[0],
        name="main",
        checks=(
            sample_reports.build(
                verdict=Verdict.NOT_SUBMITTED, message="no main.cu", evidence=None
            ),
        ),
    )
    entry = sample_reports.kernel(sample_reports.visible(), verdict=Verdict.ACCEPTED)
    report = sample_reports.report(entry, absent, handed_in=1, kernels_total=2)
    test = json.loads(rendered(registry.GRADESCOPE, report))["tests"][1]
    assert test["name"] == "main · not handed in"
    assert (test["score"], test["max_score"], test["status"]) == (0, 60, "failed")


def test_a_grader_error_publishes_no_score() -> None:
    report = sample_reports.grader_error()
    assert registry.GRADESCOPE.file(report) is None
    assert registry.AUTOLAB.file(report) is None
    assert "score" not in json.loads(rendered(registry.PRAIRIELEARN, report))
    assert json.loads(rendered(registry.GITHUB, report))["max_score"] == 0
    assert json.loads(rendered(registry.JSON, report))["score"] is None
    assert format_contracts.junit(rendered(registry.JUNIT, report)).get("errors") == "1"


def test_leaderboard_has_the_speedup_of_each_timed_kernel() -> None:
    results = json.loads(rendered(registry.GRADESCOPE, sample_reports.too_slow()))
    expected = {"name": "silu: times as fast as torch", "value": 0.52, "order": "desc"}
    assert results["leaderboard"] == [expected]
    assert "leaderboard" not in json.loads(rendered(registry.GRADESCOPE, sample_reports.accepted()))


# --- whatever a submission prints ------------------------------------------------------------


@pytest.mark.parametrize("form", OTHERS, ids=lambda form: form.name)
def test_no_control_character_comes_through(form: OutputFormat) -> None:
    report = sample_reports.hostile()
    assert CONTROL.search(_everything_visible(form, report).replace("\n", "")) is None
    if form not in (registry.JUNIT, registry.AUTOLAB, registry.HTML):
        decoded = "".join(_strings(json.loads(rendered(form, report))))
        assert CONTROL.search(decoded.replace("\n", "")) is None


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.items() for part in item for text in _strings(part)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) else []


HOSTILE_PRINTS = (
    "::error file=x,line=1::forged\n::set-output name=result::forged\n::endgroup::\n"
    '</pre><script>alert(1)</script>```\n]]></system-out>&bogus;\n{"scores": {"silu": 1000}}\n'
)


def _printing(text: str) -> Report:
    cases = (sample_reports.wrong_case(33, message=text),)
    check = sample_reports.visible(
        verdict=Verdict.WRONG_ANSWER,
        score=0.0,
        message=text,
        hint=text,
        evidence=sample_reports.correctness(cases, output=text),
    )
    entry = sample_reports.kernel(check, verdict=Verdict.WRONG_ANSWER, file="a,b:c=d\n::e.cu")
    return sample_reports.report(entry, title=text)


@pytest.mark.parametrize("form", OTHERS, ids=lambda form: form.name)
def test_what_is_printed_stays_text(form: OutputFormat) -> None:
    report = _printing(HOSTILE_PRINTS)
    text = rendered(form, report)
    contract: dict[OutputFormat, Callable[[str], Any]] = {
        registry.GRADESCOPE: format_contracts.gradescope,
        registry.PRAIRIELEARN: format_contracts.prairielearn,
        registry.AUTOLAB: format_contracts.autolab,
        registry.GITHUB: format_contracts.classroom,
        registry.JUNIT: format_contracts.junit,
        registry.HTML: html_pages.inert,
        registry.SARIF: format_contracts.sarif,
    }
    contract[form](text)
    if form is registry.AUTOLAB:
        assert format_contracts.autolab(text)["scores"] == {"silu": 0.0}


def test_githubs_log_obeys_nothing_that_was_printed() -> None:
    log = registry.GITHUB.log(_printing(HOSTILE_PRINTS)).split("\n")
    word = log[0].removeprefix("::stop-commands::")
    assert log[0] != word
    assert len(word) >= 16
    end = log.index(f"::{word}::")
    commands = [line for line in log[end + 1 :] if line]
    found = format_contracts.github_commands(commands)
    assert [one["kind"] for one in found] == ["error"]
    summary = github.summary(_printing(HOSTILE_PRINTS))
    assert "<script" not in summary
    assert summary.count("</pre>") == summary.count("<pre>") == 1


def test_annotations_stand_at_the_students_lines() -> None:
    lines = github.workflow_commands(sample_reports.compile_error(), "hw/silu")
    first = format_contracts.github_commands(lines)[0]
    assert (first["kind"], first["file"], first["line"]) == ("error", "hw/silu/silu.cu", "17")
    assert first["message"] == "expected ';' before '}' token"


def test_more_annotations_than_githubs_limits_are_not_printed() -> None:
    findings = tuple(sample_reports.finding("race", line) for line in range(1, 40))
    warnings = tuple(replace(found, severity="warning") for found in findings)
    check = sample_reports.faulty(*findings, *warnings)
    report = sample_reports.report(sample_reports.kernel(check, verdict=Verdict.MEMORY_ERROR))
    found = format_contracts.github_commands(github.workflow_commands(report))
    assert [one["kind"] for one in found] == ["error"] * 10 + ["warning"] * 10
    assert [one["line"] for one in found[:10]] == [str(line) for line in range(1, 11)]


@pytest.mark.slow
def test_a_huge_report_keeps_the_limits() -> None:
    entry = sample_reports.hostile().kernels[0]
    many = tuple(replace(entry, name=f"v{number}") for number in range(240))
    report = sample_reports.report(*many, title="x" * 100_000)
    format_contracts.prairielearn(rendered(registry.PRAIRIELEARN, report))
    format_contracts.autolab(rendered(registry.AUTOLAB, report))
    assert len(github.summary(report).encode()) <= 1024 << 10
    assert "v239" in github.summary(report)


# --- reading a report ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "report.json:1: not a report"),
        ('{\n"format": 1,\n', "report.json:3: not a report"),
        ("[" * 100_000, "not a report"),
        ('{"format": 1}', "'assignment' is a required property"),
        ("[]", "is not of type 'object'"),
        ('{"format": 2}', "`format`"),
    ],
)
def test_an_invalid_report_is_refused_with_file_and_key(
    text: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="report") as caught:
        read_report(path)
    assert words in caught.value.message or words in str(caught.value)


def test_a_wrong_key_is_named_with_its_place(tmp_path: Path) -> None:
    data = to_json(sample_reports.accepted())
    data["kernels"][1]["checks"][0]["verdict"] = "splendid"
    path = tmp_path / "report.json"
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match=r"`kernels\[1\]\.checks\[0\]\.verdict`"):
        read_report(path)


def test_no_file_and_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_report(tmp_path / "none.json")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not text in UTF-8"):
        read_report(tmp_path / "binary")
