"""What a student sees: golden text at width 100, and robustness against hostile text.

`UPDATE_GOLDEN=1 pytest tests/formats/test_terminal.py` rewrites the golden files;
review the diff.
"""

from __future__ import annotations

import io
import os
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
import sample_reports
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grader.checks.correctness.check import hidden_elsewhere
from grader.formats.page import PLATFORM_WIDTH, Page
from grader.formats.terminal import print_report
from grader.report.evidence import (
    CaseResult,
    Finding,
    FindingKind,
    MemoryEvidence,
    Mismatch,
    ToolRun,
)
from grader.report.model import CheckResult, Report
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Visibility

GOLDEN = Path(__file__).parent / "golden"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PLAIN = {
    "accepted": sample_reports.accepted,
    "wrong_answer": sample_reports.wrong_answer,
    "compile_error": sample_reports.compile_error,
    "memory_error": sample_reports.memory_error,
    "memory_warning": sample_reports.memory_warning,
    "too_slow": sample_reports.too_slow,
    "too_slow_by_counters": sample_reports.too_slow_by_counters,
    "own_program": sample_reports.own_program,
    "grader_error": sample_reports.grader_error,
    "not_submitted": sample_reports.not_submitted,
    "ladder": sample_reports.ladder,
    "hostile": sample_reports.hostile,
}
EVERY = [*(sample_reports.of(verdict) for verdict in Verdict), *(make() for make in PLAIN.values())]
EVERY_ID = [*(f"of-{verdict}" for verdict in Verdict), *PLAIN]


def shown(report: Report, *, show_hidden: bool = True) -> str:
    """Return the text for a platform's page."""
    file = io.StringIO()
    print_report(report, Console(file=file), show_hidden=show_hidden, width=PLATFORM_WIDTH)
    return file.getvalue()


def piped(report: Report, **paths: str) -> str:
    file = io.StringIO()
    print_report(report, Console(file=file), paths={f"{name}.cu": paths[name] for name in paths})
    return file.getvalue()


def shown_on_terminal(report: Report, width: int) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="truecolor", width=width)
    print_report(report, console)
    return file.getvalue()


def shown_in(report: Report, encoding: str) -> str:
    """Return the text for a stream with this encoding."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict", newline="\n")
    print_report(report, Console(file=file), width=PLATFORM_WIDTH)
    file.flush()
    written = file.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode(encoding)


def assert_golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PLAIN)
def test_golden(name: str) -> None:
    assert_golden(name, shown(PLAIN[name]()))


def test_golden_without_hidden_cases() -> None:
    assert_golden("wrong_answer_hidden", shown(sample_reports.wrong_answer(), show_hidden=False))


def test_golden_where_the_encoding_is_ascii() -> None:
    assert_golden("wrong_answer_ascii", shown_in(sample_reports.wrong_answer(), "ascii"))


# --- readable everywhere ---------------------------------------------------------------------


@pytest.mark.parametrize("report", EVERY, ids=EVERY_ID)
def test_verdict_stands_in_words(report: Report) -> None:
    assert shown(report).splitlines().count("") <= 2 + len(report.kernels)
    assert report.verdict.phrase in shown(report).split("\n\n")[-1]


@pytest.mark.parametrize("report", EVERY, ids=EVERY_ID)
def test_colour_adds_nothing_to_the_words(report: Report) -> None:
    assert COLOUR.sub("", shown_on_terminal(report, 100)) == shown(report)


@pytest.mark.parametrize("report", EVERY, ids=EVERY_ID)
@pytest.mark.parametrize("width", [60, 100, 300])
def test_no_line_is_wider_than_the_terminal(report: Report, width: int) -> None:
    lines = COLOUR.sub("", shown_on_terminal(report, width)).splitlines()
    assert max(map(cell_len, lines)) <= min(width, 120)


@pytest.mark.parametrize("report", EVERY, ids=EVERY_ID)
def test_no_line_ends_in_a_blank(report: Report) -> None:
    assert [line for line in shown(report).splitlines() if line != line.rstrip()] == []


def test_a_platforms_page_is_100_wide_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = shown(sample_reports.hostile())
    monkeypatch.setenv("COLUMNS", "31")
    assert shown(sample_reports.hostile()) == expected


# --- in a pipe -------------------------------------------------------------------------------


@pytest.fixture
def _no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.mark.usefixtures("_no_columns")
@pytest.mark.parametrize("name", ["memory_error", "compile_error"])
def test_golden_in_a_pipe(name: str) -> None:
    assert_golden(f"{name}_piped", piped(PLAIN[name](), silu="home work/silu/silu.cu"))


@pytest.mark.usefixtures("_no_columns")
@pytest.mark.parametrize("report", EVERY, ids=EVERY_ID)
def test_a_pipe_has_every_finding_on_a_line_in_the_form_of_a_compiler(report: Report) -> None:
    evidence = [check.evidence for kernel in report.kernels for check in kernel.checks]
    findings = [
        (f.line, f.kind) for e in evidence if isinstance(e, MemoryEvidence) for f in e.findings
    ]
    lines = piped(report, silu="hw/silu.cu").splitlines()
    for line, kind in findings[:10]:
        place = "hw/silu.cu" if line is None else f"hw/silu.cu:{line}"
        form = re.compile(rf"{re.escape(place)}: (error|warning): {kind.replace('_', ' ')}: ")
        assert any(map(form.match, lines)) or report.title.startswith("SiLU \x07"), (place, kind)


def test_a_pipe_respects_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    widths = [cell_len(line) for line in piped(sample_reports.memory_error()).splitlines()]
    assert 50 < max(widths) <= 60


# --- hidden cases that only the course has ---------------------------------------------------


def _hidden_elsewhere() -> Report:
    """The report of a student's copy: 36 points decided, 9 pending."""
    seen = sample_reports.visible(score=36.0, max_score=36.0)
    (outcome,) = hidden_elsewhere(3)
    hidden = replace(
        seen, name=outcome.label, verdict=outcome.verdict, score=0.0, max_score=9.0, pending=9.0,
        visibility=outcome.visibility, message=outcome.diagnosis.message, evidence=None,
    )  # fmt: skip
    return sample_reports.report(sample_reports.kernel(seen, hidden, verdict=Verdict.ACCEPTED))


@pytest.mark.parametrize("show_hidden", [True, False])
def test_points_of_hidden_cases_stand_beside_those_of_the_visible_ones(show_hidden: bool) -> None:
    lines = shown(_hidden_elsewhere(), show_hidden=show_hidden).splitlines()
    place = lines.index("  correctness  accepted  36 / 36")
    assert lines[place + 1] == (
        "    9 of 9 cases are right · 9 more points in hidden cases, graded by the course"
    )
    assert not any(line.startswith("  correctness, hidden") for line in lines)
    if show_hidden:
        assert "9 pending: 3 hidden cases" in " ".join(" ".join(lines).split())


# --- layout ----------------------------------------------------------------------------------


def page_of(width: int) -> Page:
    return Page(Console(file=io.StringIO()), width=width)


def test_a_row_whose_sentence_does_not_fit_beside_its_lead_has_it_below() -> None:
    page = page_of(40)
    page.row(Text("  build        accepted  "), "fits beside it")
    page.row(Text("  correctness  accepted  "), "this one is too long to stand beside it")
    assert [line.plain for line in page.lines] == [
        "  build        accepted  fits beside it",
        "  correctness  accepted",
        "    this one is too long to stand beside",
        "    it",
    ]


def test_only_continuation_lines_are_shortened_by_their_indent() -> None:
    page = page_of(40)
    page.sentence("four five " * 10, hanging=6)
    widths = [cell_len(line.plain) for line in page.lines]
    assert widths[0] == 39
    assert all(line.plain.startswith("      f") for line in page.lines[1:])
    assert max(widths) <= 40


def test_short_code_is_not_broken_at_the_end_of_a_line() -> None:
    page = page_of(40)
    page.sentence("look for a missing guard, such as `if (i < n)`")
    assert [line.plain for line in page.lines] == [
        "look for a missing guard, such as",
        "  `if (i < n)`",
    ]


@pytest.mark.parametrize("width", range(40, 60))
def test_what_belongs_together_is_not_broken(width: int) -> None:
    page = page_of(width)
    page.sentence("wrong answer · 12 / 100 points · 1 of 2 handed in · 50 % for n ≤ 7 · 123.4 s")
    lines = [line.plain.strip() for line in page.lines]
    apart = ("·", "/", "s", "%", "≤", "7")
    assert not any(line.startswith(apart) or line.endswith(("/", "≤")) for line in lines)


def test_a_table_names_the_last_columns_that_it_leaves_out_and_cuts_none() -> None:
    header = ("benchmark", "torch", "yours", "of roofline")
    rows = [("n=134217728", "260.3 us", "519.0 us", "54%")]
    shown_at = {}
    for width in (60, 41):
        page = page_of(width)
        page.table(header, rows, indent=0)
        shown_at[width] = [line.plain for line in page.lines]
    assert shown_at[60][0].split() == ["benchmark", "torch", "yours", "of", "roofline"]
    assert shown_at[41] == [
        "benchmark        torch      yours",
        "n=134217728   260.3 us   519.0 us",
        "a wider terminal also shows: of roofline",
    ]


def test_a_table_too_wide_for_two_columns_becomes_a_list() -> None:
    page = page_of(40)
    page.table(("element", "expected"), [("output[" + "1, " * 8 + "1]", "1.0000000")], indent=4)
    assert " ".join(" ".join(line.plain for line in page.lines).split()) == (
        "element output[1, 1, 1, 1, 1, 1, 1, 1, 1], expected 1.0000000"
    )


# --- every encoding --------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "cp437"])
@pytest.mark.parametrize("report", EVERY, ids=EVERY_ID)
def test_no_encoding_is_too_small(report: Report, encoding: str) -> None:
    text = shown_in(report, encoding)
    assert len(text.splitlines()) >= 3


@pytest.mark.parametrize("width", [80, 100])
def test_two_languages_without_a_failure_fit_in_twelve_lines(width: int) -> None:
    assert len(shown_on_terminal(sample_reports.accepted(), width).splitlines()) <= 12


# --- what the reader may know ----------------------------------------------------------------


def test_hidden_cases_show_neither_size_nor_values_nor_output() -> None:
    report = sample_reports.wrong_answer()
    text = shown(report, show_hidden=False)
    for secret in ("77777", "88888", "99999"):
        assert secret in shown(report)
        assert secret not in text
    assert "wrong answer in 3 (largest error 1.5); 6 not run" in " ".join(text.split())


def test_points_pending_name_their_reason() -> None:
    assert "20 pending: needs a GPU" in shown(sample_reports.wrong_answer())


def test_pending_points_are_not_lost_and_timing_needs_a_gpu() -> None:
    text = shown(sample_reports.wrong_answer()).splitlines()[-1]
    assert text.startswith("Pending points are neither won nor lost: a GPU has to time the kernel")
    assert "neither won nor lost" not in shown(sample_reports.accepted())
    # On a GPU, or if points of other checks are pending, no GPU is asked for.
    report = sample_reports.wrong_answer()
    on_a_gpu = replace(report, environment=report.environment | {"device": "cuda"})
    assert shown(on_a_gpu).endswith("\nPending points are neither won nor lost.\n")
    (kernel,) = report.kernels
    untimed = tuple(c for c in kernel.checks if c.check is not CheckName.PERFORMANCE)
    waiting = replace(untimed[0], score=0.0, max_score=20.0, pending=20.0)
    other = replace(report, kernels=(replace(kernel, checks=(waiting, *untimed[1:])),))
    assert shown(other).endswith("\nPending points are neither won nor lost.\n")


def test_part_of_a_run_does_not_pass_for_the_whole() -> None:
    assert "not the whole score" in shown(sample_reports.ladder())
    assert "not the whole score" not in shown(sample_reports.accepted())


def test_a_bonus_that_is_graded_alone_is_no_part_of_nothing() -> None:
    report = sample_reports.accepted()
    kernels = tuple(replace(kernel, bonus=True) for kernel in report.kernels)
    alone = shown(replace(report, kernels=kernels, score=16.0, max_score=0.0))
    assert "accepted · 16 bonus points" in alone
    assert "/ 0 points" not in alone


def test_how_many_were_handed_in() -> None:
    assert "1 of 2 handed in" in shown(sample_reports.ladder())


def test_grader_error_is_no_zero() -> None:
    text = shown(sample_reports.grader_error())
    assert "no score" in text
    assert " 0 /" not in text


def _with_mismatch(expected: float, actual: float) -> Report:
    mismatch = Mismatch(output="c", index=(3, 4), expected=expected, actual=actual, allowed=0.0)
    case = sample_reports.wrong_case(33, mismatches=(mismatch,))
    evidence = sample_reports.correctness((case,))
    check = sample_reports.visible(verdict=Verdict.WRONG_ANSWER, score=0.0, evidence=evidence)
    return sample_reports.report(sample_reports.kernel(check, verdict=Verdict.WRONG_ANSWER))


def test_numbers_that_differ_look_different() -> None:
    text = shown(_with_mismatch(16777216.0, 16777217.0))
    assert re.search(r"c\[3, 4\] +16777216\.0 +16777217\.0 +0\n", text)


def test_only_a_few_of_many_failing_cases_get_a_line() -> None:
    cases = tuple(sample_reports.wrong_case(n) for n in range(100, 140))
    check = sample_reports.visible(
        verdict=Verdict.WRONG_ANSWER, score=0.0, evidence=sample_reports.correctness(cases)
    )
    text = shown(sample_reports.report(sample_reports.kernel(check, verdict=Verdict.WRONG_ANSWER)))
    assert "; likewise n=101, n=102, n=103" in " ".join(text.split())
    assert "and 33 more" in " ".join(text.split())
    assert len(text.splitlines()) < 25


def _failing(*cases: CaseResult, **changes: object) -> Report:
    evidence = replace(sample_reports.correctness(cases), cases_total=len(cases))
    first = next(case for case in cases if case.verdict is Verdict.RUNTIME_ERROR)
    check = sample_reports.visible(
        verdict=Verdict.RUNTIME_ERROR,
        score=0.0,
        message=f"{first.message} ({first.name})",
        evidence=replace(evidence, **changes),  # type: ignore[arg-type]
    )
    silent = sample_reports.memory_evidence(output=evidence.output)
    memory = sample_reports.memory(
        verdict=Verdict.RUNTIME_ERROR,
        score=0.0,
        hint=check.hint,
        evidence=replace(silent, output=str(changes.get("output", ""))),
    )
    return sample_reports.report(sample_reports.kernel(check, memory, verdict=check.verdict))


def _raised(n: int, message: str = "it raised ValueError") -> CaseResult:
    return sample_reports.case(n, verdict=Verdict.RUNTIME_ERROR, message=message)


def test_the_same_failure_of_several_cases_is_one_line() -> None:
    text = shown(_failing(sample_reports.case(9), _raised(1), _raised(2), _raised(3, "it hung")))
    assert "1 of 4 cases right" in text
    assert "  it raised ValueError (n=1)\n" in text
    assert "    n=1, n=2: runtime error\n" in text
    assert "    n=3: runtime error, it hung\n" in text
    assert text.count("ValueError") == 1


def test_cases_that_were_not_run_are_counted_not_listed() -> None:
    skipped = [
        sample_reports.case(n, verdict=Verdict.SKIPPED, message="not run: it had failed before")
        for n in (31, 32)
    ]
    text = shown(_failing(_raised(1), *skipped))
    assert "    2 other cases not run: it had failed before\n" in text
    assert "n=31" not in text


def test_what_code_prints_at_each_call_is_shown_once() -> None:
    text = shown(_failing(_raised(1), _raised(2), output="one\ntwo\n" * 3))
    assert "what your code printed (repeated 3 times):\n    | one\n    | two\n" in text
    assert text.count("| one") == 1, "once by correctness, and not again by memory"
    text = shown(_failing(_raised(1), output="one\ntwo\none\n"))
    assert "what your code printed:\n    | one\n    | two\n    | one\n" in text


def test_build_log_is_shown_if_the_compiler_named_no_line() -> None:
    report = sample_reports.compile_error()
    evidence = report.kernels[0].checks[0].evidence
    bare = replace(evidence, diagnostics=(), diagnostics_total=0)  # type: ignore[type-var]
    check = replace(report.kernels[0].checks[0], evidence=bare)
    text = shown(replace(report, kernels=(replace(report.kernels[0], checks=(check,)),)))
    assert "| silu.cu: line 0 of the log\n" in text
    assert "| ... 37 more lines ...\n" in text
    assert "| silu.cu: line 51 of the log\n" in text


# --- memory findings -------------------------------------------------------------------------


def _with_memory(check: CheckResult) -> Report:
    return sample_reports.report(sample_reports.kernel(check, verdict=check.verdict))


def _findings_text(*findings: Finding) -> str:
    """Return the report with these findings, without line breaks."""
    return " ".join(shown(_with_memory(sample_reports.faulty(*findings))).split())


def test_finding_shows_place_severity_kind_and_what_its_message_omits() -> None:
    found = sample_reports.finding(
        "race",
        21,
        message="two threads meet",
        other_line=24,
        block=(1, 2, 0),
        buffer="tile",
        element=-3,
        access="write",
        access_bytes=4,
        count=7,
    )
    assert (
        "silu.cu:21: error: race: two threads meet; a write of 4 bytes; `tile`[-3]; kernel "
        "silu_kernel, block (1,2,0), thread (232,0,0); the other access is in line 24; 7 times"
    ) in _findings_text(found)


def test_finding_repeats_nothing() -> None:
    message = (
        "threads meet (a write here, a read in line 24): `tile`[3] of 64 elements, "
        "kernel silu_kernel, block (3,0,0), thread (232,0,0)"
    )
    found = sample_reports.finding(
        "race", 21, message=message, other_line=24, buffer="tile", element=3, access="write"
    )
    assert f"silu.cu:21: error: race: {message} hint" in _findings_text(found)


def test_access_is_not_repeated_in_another_form_of_the_word() -> None:
    message = "reads 4 bytes of global memory outside any array"
    found = sample_reports.finding(
        "out_of_bounds", 9, message=message, access="read", access_bytes=4
    )
    assert "a read of" not in _findings_text(found)


def test_a_triton_block_is_called_a_program() -> None:
    found = sample_reports.finding("race", 9, file="silu.py", block=(1, 2, 0), thread=None)
    assert "kernel silu_kernel, program (1,2,0)" in _findings_text(found)
    message = "program 3 reads element 255 of `output`, which program 0 writes"
    found = sample_reports.finding(
        "race", 9, message=message, file="silu.py", thread=None, element=255, access="read"
    )
    assert f"silu.py:9: error: race: {message}; kernel silu_kernel" in _findings_text(found)


@pytest.mark.parametrize(
    ("message", "missing"),
    [
        ("thread (23,0,0) reads", "thread (232,0,0)"),
        ("line 241 is odd", "the other access is in line 24"),
        ("`tile`[31] is wrong", "`tile`[3]"),
        ("a rewrite", "a write"),
    ],
)
def test_a_number_inside_another_number_is_no_repetition(message: str, missing: str) -> None:
    found = sample_reports.finding(
        "race", 21, message=message, other_line=24, buffer="tile", element=3, access="write"
    )
    assert f" {missing}" in _findings_text(found).split("error: race: ")[1].removeprefix(message)


def test_finding_with_a_file_only() -> None:
    bare = Finding(
        kind="leak", severity="error", message="lost", file="silu.cu", line=None, tool="memcheck"
    )
    assert "silu.cu: error: leak: lost memory" in _findings_text(bare)


def test_hint_of_a_kind_is_shown_once() -> None:
    kinds: list[FindingKind] = ["leak", "race", "leak", "race", "barrier"]
    findings = [sample_reports.finding(kind, line) for line, kind in enumerate(kinds, 1)]
    text = _findings_text(*findings)
    for found in findings:
        assert text.count(f"hint: {' '.join(found.hint.split())}") == 1


def test_line_of_the_check_counts_the_findings_below() -> None:
    findings = [sample_reports.finding("race", line, count=3) for line in (1, 2)]
    assert "0 / 25 2 findings: race silu.cu:2:" in _findings_text(*findings)
    assert "0 / 25 1 finding: race memory error" in _findings_text(findings[0])


def test_line_of_the_check_is_its_message_if_no_finding_repeats_it() -> None:
    crashed = sample_reports.memory(
        verdict=Verdict.MEMORY_ERROR, score=0.0, message="calling silu gave CUDA error 700"
    )
    assert "\n  calling silu gave CUDA error 700\n  memory  memory error  0 / 25\n" in shown(
        _with_memory(crashed)
    )
    other = sample_reports.faulty(
        sample_reports.finding("race", 3, severity="warning"), message="CUDA error 700"
    )
    assert "\n  CUDA error 700\n" in shown(_with_memory(other))


def test_ten_findings_are_shown_and_the_others_counted() -> None:
    findings = tuple(sample_reports.finding("leak", line) for line in range(1, 13))
    text = shown(_with_memory(sample_reports.faulty(*findings)))
    assert text.count("error: leak") == 10
    assert "    and 2 more\n" in text
    cut = sample_reports.memory_evidence(*findings[:10], findings_total=10_000)
    text = shown(_with_memory(sample_reports.faulty(*findings[:10], evidence=cut)))
    assert "10000 findings: leak" in text
    assert "    and 9990 more\n" in text


def test_a_few_warnings_of_an_accepted_kernel_are_shown() -> None:
    warnings = [sample_reports.finding("race", n, severity="warning") for n in range(1, 6)]
    evidence = sample_reports.memory_evidence(*warnings, output="printed\n")
    text = shown(_with_memory(sample_reports.memory(evidence=evidence)))
    assert text.count("warning: race") == 3
    assert "    and 2 more\n" in text
    assert "printed" not in text


def test_clean_memory_check_is_one_line() -> None:
    text = shown(_with_memory(sample_reports.memory()))
    assert text.splitlines()[2:3] == ["  memory  accepted  25 / 25  no memory errors"]
    assert len(text.splitlines()) == 5


def test_tool_that_could_not_run_says_why() -> None:
    broken = ToolRun(tool="racecheck", findings=0, wall_s=0.1, problem="no driver")
    tools = (broken, replace(broken, tool="initcheck"))
    evidence = sample_reports.memory_evidence(tools=tools)
    check = sample_reports.memory(evidence=evidence)
    assert "    not run: racecheck, initcheck: no driver\n" in shown(_with_memory(check))
    unmeasured = replace(
        check, verdict=Verdict.NOT_MEASURED, score=0.0, pending=25.0, message="no driver"
    )
    assert shown(_with_memory(unmeasured)).count("no driver") == 2  # its own line and the result


@pytest.mark.parametrize("visibility", [v for v in Visibility if v is not Visibility.VISIBLE])
def test_hidden_memory_check_shows_nothing(visibility: Visibility) -> None:
    whole = sample_reports.memory_error()
    check = replace(whole.kernels[0].checks[-1], visibility=visibility)
    text = shown(_with_memory(check), show_hidden=False)
    label = f"memory ({visibility.value.replace('_', ' ')})"
    assert text.splitlines()[1:] == [
        "silu · CUDA C++ · silu.cu: memory error, 0 / 25 points",
        f"  {label}  memory error  0 / 25",
        "",
        "memory error · 0 / 25 points · 1 of 1 handed in · 3.2 s",
    ]
    assert "silu.cu:14" in shown(_with_memory(check))


def test_hidden_memory_check_that_is_pending_keeps_its_reason() -> None:
    check = sample_reports.memory(
        verdict=Verdict.NOT_MEASURED,
        score=0.0,
        pending=25.0,
        message="n=77777 is too large",
        visibility=Visibility.HIDDEN,
    )
    assert "77777" not in shown(_with_memory(check), show_hidden=False)


# --- hostile text ----------------------------------------------------------------------------


def _control_characters(text: str) -> set[str]:
    """Return the control characters that a terminal would interpret."""
    return {
        char for char in text if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Cs"}
    }


@pytest.mark.parametrize("width", [60, 100])
def test_hostile_text_is_escaped(width: int) -> None:
    text = COLOUR.sub("", shown_on_terminal(sample_reports.hostile(), width))
    assert _control_characters(text) == set()
    for spelt in (r"\x1b]0;owned\x07", r"\x1b[2J", r"\x00NUL", r"\u202e", "[blink]line 0[/blink]"):
        assert spelt in text


def test_hostile_text_sends_no_colour() -> None:
    sent = set(COLOUR.findall(shown_on_terminal(sample_reports.hostile(), 100)))
    assert sent == set(COLOUR.findall(shown_on_terminal(sample_reports.wrong_answer(), 100))) | {
        "\x1b[1;33m"  # our own: a warning
    }


def test_output_cannot_look_like_a_line_of_the_grader() -> None:
    claim = "accepted · 100 / 100 points · 1 of 1 handed in"
    evidence = sample_reports.correctness((sample_reports.case(1),), output=f"\n\r\n{claim}\r\n")
    check = sample_reports.visible(evidence=evidence)
    text = shown(sample_reports.report(sample_reports.kernel(check, verdict=Verdict.ACCEPTED)))
    assert [line for line in text.splitlines() if claim in line] == [f"    | {claim}"]


def test_hostile_text_is_cut() -> None:
    assert len(shown(sample_reports.hostile()).splitlines()) < 95


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(), max_size=300))
def test_any_text_anywhere_is_safe(text: str) -> None:
    case = sample_reports.wrong_case(33, message=text, hint=text, pattern=text, name=text)
    seen = sample_reports.visible(
        verdict=Verdict.WRONG_ANSWER,
        name=text,
        message=text,
        hint=text,
        evidence=sample_reports.correctness((case,), output=text),
    )
    fault = sample_reports.finding(
        "race", 3, message=text, hint=text, file=text, kernel=text, buffer=text, tool=text
    )
    tool = ToolRun(tool=text, findings=1, wall_s=0.1, problem=text)
    unsafe = sample_reports.faulty(
        fault, evidence=sample_reports.memory_evidence(fault, tools=(tool,), output=text)
    )
    kernel = sample_reports.kernel(seen, unsafe, verdict=Verdict.MEMORY_ERROR, name=text, file=text)
    text = shown(sample_reports.report(kernel, title=text))
    assert _control_characters(text) == set()
    assert max(map(cell_len, text.splitlines())) <= 100


def test_counts_outside_their_bounds_stand_in_the_place_of_the_costliest_lines() -> None:
    check = sample_reports.counters(evidence=sample_reports.LAUNCHED)
    whole = sample_reports.too_slow_by_counters()
    kernel = replace(whole.kernels[0], checks=(*whole.kernels[0].checks[:-1], check))
    text = shown(replace(whole, kernels=(kernel,)))
    assert re.search(r"launches +26797 +4\n", text)
    assert re.search(r"registers +1 +64\n", text)
    assert "the costliest lines first" not in text
