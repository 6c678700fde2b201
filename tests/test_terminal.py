"""What a student sees: golden text at width 100, and what no text can do to it.

`UPDATE_GOLDEN=1 pytest tests/test_terminal.py` writes the golden files anew; read the difference.
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

from grader.evidence import Mismatch
from grader.formats.terminal import print_report
from grader.report import Report
from grader.verdict import Verdict

GOLDEN = Path(__file__).parent / "golden"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PLAIN = {
    "accepted": sample_reports.accepted,
    "wrong_answer": sample_reports.wrong_answer,
    "compile_error": sample_reports.compile_error,
    "grader_error": sample_reports.grader_error,
    "not_submitted": sample_reports.not_submitted,
    "ladder": sample_reports.ladder,
    "hostile": sample_reports.hostile,
}
EVERY = [*(sample_reports.of(verdict) for verdict in Verdict), *(make() for make in PLAIN.values())]
EVERY_ID = [*(f"of-{verdict}" for verdict in Verdict), *PLAIN]


def shown(report: Report, *, show_hidden: bool = True) -> str:
    """Return what goes into a file or a log."""
    file = io.StringIO()
    print_report(report, Console(file=file), show_hidden=show_hidden)
    return file.getvalue()


def shown_on_terminal(report: Report, width: int) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="truecolor", width=width)
    print_report(report, console)
    return file.getvalue()


def shown_in(report: Report, encoding: str) -> str:
    """Return what goes to a stream that takes this encoding and nothing else."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict", newline="\n")
    print_report(report, Console(file=file))
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


def test_golden_for_a_student_who_may_not_know_the_hidden_cases() -> None:
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


def test_a_log_is_100_wide_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = shown(sample_reports.hostile())
    monkeypatch.setenv("COLUMNS", "31")
    assert shown(sample_reports.hostile()) == expected


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
    told = shown(report, show_hidden=False)
    for secret in ("77777", "88888", "99999"):
        assert secret in shown(report)
        assert secret not in told
    assert "wrong answer in 3 (largest error 1.5); 6 not run" in " ".join(told.split())


def test_points_pending_name_their_reason() -> None:
    assert "20 pending: needs a GPU" in shown(sample_reports.wrong_answer())


def test_part_of_a_run_does_not_pass_for_the_whole() -> None:
    assert "not the whole score" in shown(sample_reports.ladder())
    assert "not the whole score" not in shown(sample_reports.accepted())


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
    assert "and 34 more: n=106, n=107" in text
    assert len(text.splitlines()) < 25


def test_build_log_is_shown_if_the_compiler_named_no_line() -> None:
    report = sample_reports.compile_error()
    evidence = report.kernels[0].checks[0].evidence
    bare = replace(evidence, diagnostics=(), diagnostics_total=0)  # type: ignore[type-var]
    check = replace(report.kernels[0].checks[0], evidence=bare)
    text = shown(replace(report, kernels=(replace(report.kernels[0], checks=(check,)),)))
    assert "| silu.cu: line 0 of the log\n" in text
    assert "| ... 37 more lines ...\n" in text
    assert "| silu.cu: line 51 of the log\n" in text


# --- hostile text ----------------------------------------------------------------------------


def _obeyed(text: str) -> set[str]:
    """Return the characters that a terminal would obey."""
    return {
        char for char in text if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Cs"}
    }


@pytest.mark.parametrize("width", [60, 100])
def test_hostile_text_is_spelt_out(width: int) -> None:
    text = COLOUR.sub("", shown_on_terminal(sample_reports.hostile(), width))
    assert _obeyed(text) == set()
    for spelt in (r"\x1b]0;owned\x07", r"\x1b[2J", r"\x00NUL", r"\u202e", "[blink]line 0[/blink]"):
        assert spelt in text


def test_hostile_text_sends_no_colour_of_its_own() -> None:
    sent = set(COLOUR.findall(shown_on_terminal(sample_reports.hostile(), 100)))
    assert sent == set(COLOUR.findall(shown_on_terminal(sample_reports.wrong_answer(), 100))) | {
        "\x1b[1;33m"  # our own: a warning
    }


def test_output_cannot_pass_for_a_line_of_ours() -> None:
    claim = "accepted · 100 / 100 points · 1 of 1 handed in"
    evidence = sample_reports.correctness((sample_reports.case(1),), output=f"\n\r\n{claim}\r\n")
    check = sample_reports.visible(evidence=evidence)
    text = shown(sample_reports.report(sample_reports.kernel(check, verdict=Verdict.ACCEPTED)))
    assert [line for line in text.splitlines() if claim in line] == [f"    | {claim}"]


def test_hostile_text_is_cut() -> None:
    assert len(shown(sample_reports.hostile()).splitlines()) < 60


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
    kernel = sample_reports.kernel(seen, verdict=Verdict.WRONG_ANSWER, name=text, file=text)
    told = shown(sample_reports.report(kernel, title=text))
    assert _obeyed(told) == set()
    assert max(map(cell_len, told.splitlines())) <= 100
