"""The HTML page: complete in itself, escaped, small, and a figure for each kind of evidence."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import html_pages
import pytest
import recorded_pages
import report_document
import sample_reports
from click.testing import CliRunner

from grader.cli.main import cli
from grader.formats.html import (
    error_map,
    occupancy,
    panel,
    roofline,
    traffic,
    warp_access,
    writers,
)
from grader.formats.html.document import document
from grader.formats.html.embedded import MOST_BYTES as MOST_EMBEDDED
from grader.formats.html.embedded import embedded
from grader.formats.html.environment import environment, prose
from grader.formats.html.findings import card
from grader.formats.html.ladder import evidence_of
from grader.formats.leading_diagnosis import leading_diagnosis
from grader.report.evidence import (
    CaseResult,
    CorrectnessEvidence,
    CountersEvidence,
    ErrorMap,
    Finding,
    LaunchResources,
    MemoryEvidence,
    PerformanceEvidence,
    WarpAccess,
    Writers,
)
from grader.report.model import Report, json_text, to_json
from grader.report.reader import from_json
from grader.report.verdict import Verdict
from grader.vocabulary import Visibility

MADE = (
    "accepted", "wrong_answer", "compile_error", "memory_error", "memory_warning", "too_slow",
    "too_slow_by_counters", "own_program", "grader_error", "not_submitted", "ladder", "hostile",
)  # fmt: skip
MOST_BYTES = 400_000
# The titles of the figures that a recorded report must have.
FIGURES = {
    "ladder": ("Bytes moved, kernel by kernel", "What is moved", "One warp's load", "Which thread"),
    "race": ("Where it is wrong", "Race in shared memory"),
    "race_between_warps": ("Race in shared memory",),
    "race_between_blocks": ("Race in global memory",),
    "race_between_programs": ("Race in global memory",),
    "out_of_bounds": ("Access outside its array",),
    "before_the_start": ("Access outside its array",),
    "misaligned": ("Misaligned access",),
    "uninitialized": ("Read before the first write",),
    "barrier": ("Threads wait at different barriers",),
    "leak": ("Memory that is never freed",),
    "invalid_copy": ("Invalid copy",),
    "wrong_tile": ("Where it is wrong", "Which thread wrote what"),
    "gaps": ("Where it is wrong", "Which thread wrote what"),
    "uncoalesced": ("What is moved", "32 sectors"),
    "bank_conflicts": ("32-way bank conflict", "Occupancy of a multiprocessor"),
    "roofline": ("Roofline of A100", "Occupancy of a multiprocessor"),
    "doubles": ("Which thread wrote what", "several threads"),
}


def page(report: Report) -> html_pages.Page:
    return html_pages.read_page(document(report))


@pytest.mark.parametrize("name", MADE)
def test_a_made_report_is_a_page_that_runs_and_fetches_nothing(name: str) -> None:
    report = getattr(sample_reports, name)()
    made = page(report)
    assert made.problems == []
    assert report.verdict.phrase in made.text
    assert len(document(report).encode()) <= MOST_BYTES


@pytest.mark.parametrize("name", recorded_pages.RECORDED)
def test_a_recorded_report_is_a_page_with_its_figures(name: str) -> None:
    report = recorded_pages.recorded(name)
    text = document(report)
    made = html_pages.read_page(text)
    assert made.problems == []
    assert len(text.encode()) <= MOST_BYTES
    assert [title for title in FIGURES.get(name, ()) if title not in made.text] == []
    drawn = [one for one in made.all("svg") if "defs" not in one.get("class", "")]
    assert all(one["role"] == "img" and one["aria-label"] for one in drawn)
    assert len(made.all("figcaption")) == len(made.all("figure")) >= len(drawn)


def test_every_check_has_a_row_with_verdict_points_and_message() -> None:
    made = page(sample_reports.wrong_answer())
    for check in sample_reports.wrong_answer().kernels[0].checks:
        assert check.name in made.text
        assert check.verdict.phrase in made.text


def test_a_kernel_begins_with_the_likeliest_cause_and_its_hint() -> None:
    report = recorded_pages.recorded("out_of_bounds")
    [kernel] = [one for one in report.kernels if one.language]
    lead = leading_diagnosis(kernel)
    assert lead is not None and lead.shown is not None
    words = lead.message.split("`")[0]
    for text in (document(report), embedded(report)):
        begins = text.index(f"{lead.shown.file}:{lead.shown.line}: {words}")
        assert begins < text.index("Access outside its array")


def test_what_is_in_backquotes_is_code() -> None:
    text = document(recorded_pages.recorded("race"))
    assert re.search(r"<p[^>]*>[^<]*<code>\w+</code>", text)
    assert "`" not in re.sub(
        r"<pre.*?</pre>|<ol.*?</ol>|aria-label=\"[^\"]*\"", "", text, flags=re.DOTALL
    )
    assert prose("a `<b>` and ` alone") == "a <code>&lt;b&gt;</code> and ` alone"


def test_a_case_says_its_sizes_once() -> None:
    report = sample_reports.wrong_answer()
    [kernel] = report.kernels
    checks = []
    for check in kernel.checks:
        if isinstance(check.evidence, CorrectnessEvidence) and check.evidence.cases:
            case = replace(check.evidence.cases[0], name="n=4099, edges", sizes={"n": 4099})
            case = replace(case, verdict=Verdict.WRONG_ANSWER)
            check = replace(check, evidence=replace(check.evidence, cases=(case,)))
        checks.append(check)
    text = document(replace(report, kernels=(replace(kernel, checks=tuple(checks)),)))
    assert "n=4099, edges</strong>" in text


def test_a_race_that_an_atomic_repairs_is_not_drawn_with_a_missing_barrier() -> None:
    [kernel] = [one for one in recorded_pages.recorded("race").kernels if one.language]
    [check] = [one for one in kernel.checks if isinstance(one.evidence, MemoryEvidence)]
    assert isinstance(check.evidence, MemoryEvidence)
    found = replace(check.evidence.findings[0], hint="use atomicAdd")
    drawn = card(found, kernel.source_lines).timelines
    assert drawn is not None and drawn.missing == "missing: an atomic"
    either = replace(found, hint="put `__syncthreads()` into the loop; or use atomicAdd")
    drawn = card(either, kernel.source_lines).timelines
    assert drawn is not None and drawn.missing != "missing: an atomic"


def test_a_figure_of_writers_names_gaps_beside_elements_that_are_written_twice() -> None:
    found = Writers(
        kernel="k", array="count", case="n=8", grid=(4, 1, 1), block_size=(2, 1, 1), elements=8,
        columns=8, cells=("0.0 - 1.0 - 2.0 3.0 - -",), doubles=("x.......",),
    )  # fmt: skip
    drawn = writers.panel(found)
    assert drawn is not None
    assert len(drawn.legend) == 3, "a fourth block has no room"
    text = environment().get_template("writers.html").render(panel=drawn)
    assert ">nobody<" in text and ">twice<" in text


def test_kernels_that_move_the_same_are_not_ranked() -> None:
    report = recorded_pages.recorded("ladder")
    first = next(one for one in report.kernels if next(evidence_of(one, CountersEvidence), None))
    text = document(replace(report, kernels=(first, first)))
    assert "All move the same" in text and "moves the least" not in text


# --- what students may know ------------------------------------------------------------------


@pytest.mark.parametrize("visibility", [v for v in Visibility if v is not Visibility.VISIBLE])
def test_hidden_cases_show_number_and_verdicts_only(visibility: Visibility) -> None:
    report = recorded_pages.recorded("hidden_failures")
    [kernel] = [one for one in report.kernels if one.language]
    hidden = [check for check in kernel.checks if check.visibility is not Visibility.VISIBLE]
    assert hidden and hidden[0].verdict is Verdict.WRONG_ANSWER
    evidence = hidden[0].evidence
    assert isinstance(evidence, CorrectnessEvidence)
    assert any(case.error_map for case in evidence.cases)
    checks = tuple(
        check if check.visibility is Visibility.VISIBLE else replace(check, visibility=visibility)
        for check in kernel.checks
    )
    text = document(replace(report, kernels=(replace(kernel, checks=checks),)))
    wrong = sum(case.verdict is Verdict.WRONG_ANSWER for case in evidence.cases)
    assert f"wrong answer in {wrong}" in text
    assert "Where it is wrong" not in text
    for case in evidence.cases:
        assert not re.search(rf"\b{case.sizes['n']}\b", text)
        assert case.message not in text


def test_seeds_and_hashes_are_not_on_the_page() -> None:
    secret: dict[str, str | int | float | None]
    secret = {"secret_seed": 424242424, "spec_hash": "0123456789abcdef"}
    text = document(replace(sample_reports.accepted(), environment=secret))
    assert "424242424" not in text
    assert "0123456789abcdef" not in text


# --- whatever a submission prints ------------------------------------------------------------


def test_what_a_submission_prints_and_contains_stays_text() -> None:
    report = recorded_pages.recorded("hostile")
    text = document(report)
    assert "&lt;script&gt;" in text  # from the source line
    assert "<script" not in text
    assert "{{ 7*7 }}" in text
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text) is None


def _everywhere(value: Any, text: str) -> Any:
    """Put the text in front of each string that is no word of the schema."""
    if isinstance(value, dict):
        kept = ("verdict", "visibility", "check", "origin", "kind", "severity", "language", "space",
                "access", "other_access", "transport", "format", "cells", "unit", "name", "rule",
                "file", "device", "expected", "actual")  # fmt: skip
        return {
            key: item if key in kept and not isinstance(item, dict) else _everywhere(item, text)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_everywhere(item, text) for item in value]
    return text + value if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["race", "out_of_bounds", "gaps", "bank_conflicts", "ladder"])
def test_markup_in_any_string_of_a_report_stays_text(name: str) -> None:
    mark = "</style></title><script>x</script>\"'><img src=x onerror=y>{{ 7*7 }}\x1b[2J"
    values = to_json(recorded_pages.recorded(name))
    for kernel in values["kernels"]:
        kernel["file"] = mark
        kernel["name"] = mark
        for check in kernel["checks"]:
            check["name"] = mark
            for found in (check["evidence"] or {}).get("findings", []):
                found["file"] = mark
    made = html_pages.read_page(document(from_json(_everywhere(values, mark), "report.json")))
    assert made.problems == []
    assert "\x1b" not in made.text


# --- old, broken and huge reports ------------------------------------------------------------


def test_a_report_of_an_earlier_version_is_read_and_shown() -> None:
    values = to_json(recorded_pages.recorded("race"))
    schema = report_document.schema()["$defs"]
    added: dict[str, set[str]] = {}  # by the keys that an earlier report has
    for definition in schema.values():
        keys = definition.get("properties", {})
        new = {key for key, value in keys.items() if value.get("x-added")}
        if new:
            added[" ".join(definition["required"])] = new

    def earlier(value: Any) -> Any:
        if isinstance(value, dict):
            for required, new in added.items():
                if value.keys() - new == set(required.split()):
                    return {key: earlier(item) for key, item in value.items() if key not in new}
            return {key: earlier(item) for key, item in value.items()}
        return [earlier(item) for item in value] if isinstance(value, list) else value

    assert earlier(values) != values
    report = from_json(earlier(values), "report.json")
    made = page(report)
    assert made.problems == []
    assert "Race" in made.text
    assert report.verdict is Verdict.MEMORY_ERROR


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"format": 1, "assignment": "si', "report.json:1: not a report"),
        ('{"format": 9}', "reads format 1"),
        ("", "not a report"),
    ],
)
def test_a_truncated_or_foreign_report_is_refused_by_name(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("report.json").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(cli, ["report", "report.json", "--format", "html"])
    assert result.exit_code != 0
    assert words in str(getattr(result.exception, "message", result.exception))


def test_a_folder_is_no_report(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["report", str(tmp_path), "--format", "html"])
    assert result.exit_code != 0
    assert "cannot read the report" in str(getattr(result.exception, "message", ""))


def test_a_hundred_thousand_mismatches_make_a_small_page() -> None:
    case = sample_reports.wrong_case(33)
    many = tuple(replace(case.mismatches[0], index=(number,)) for number in range(100_000))
    seen = sample_reports.visible(
        verdict=Verdict.WRONG_ANSWER,
        score=0.0,
        evidence=sample_reports.correctness((replace(case, mismatches=many),) * 50),
    )
    report = sample_reports.report(sample_reports.kernel(seen, verdict=Verdict.WRONG_ANSWER))
    text = document(report)
    assert len(text.encode()) < 50_000
    assert html_pages.read_page(text).problems == []


def test_output_without_end_is_cut() -> None:
    seen = sample_reports.visible(evidence=sample_reports.correctness((), output="<b>" * 1_000_000))
    report = sample_reports.report(sample_reports.kernel(seen, verdict=Verdict.ACCEPTED))
    assert len(document(report)) < 50_000


# --- figures ---------------------------------------------------------------------------------


def _finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "kind": "race", "severity": "error", "message": "", "file": "silu.cu", "line": 20,
        "other_line": 17, "kernel": "k", "block": (1, 0, 0), "thread": (40, 0, 0),
        "buffer": "tile", "element": 8, "elements": 64, "access": "write", "tool": "host device",
        "other_access": "read", "other_thread": (3, 0, 0), "block_size": (64, 1, 1),
    }  # fmt: skip
    return Finding(**{**values, **changes})


def test_a_race_names_both_threads_by_warp_and_lane() -> None:
    lines = card(_finding(), {}).timelines
    assert lines is not None
    assert (lines.first.lane, lines.second.lane) == ("warp 0, lane 3", "warp 1, lane 8")
    assert (lines.first.action, lines.first.line) == ("reads", "line 17")
    assert (lines.second.action, lines.second.line) == ("writes", "line 20")
    assert lines.missing == "missing: __syncthreads()"


def test_threads_of_two_dimensions_are_numbered_x_first() -> None:
    two = card(_finding(thread=(1, 5, 0), other_thread=(2, 0, 0), block_size=(8, 8, 1)), {})
    assert two.timelines is not None
    assert two.timelines.second.lane == "warp 1, lane 9"


def test_blocks_have_no_barrier() -> None:
    found = _finding(other_thread=None, message="different blocks access one location")
    lines = card(found, {}).timelines
    assert lines is not None
    assert lines.missing == "nothing orders blocks"


@pytest.mark.parametrize(
    ("element", "kinds"),
    [
        (64, ["inside"] * 5 + ["hit"]),
        (66, ["inside"] * 5 + ["outside", "outside", "hit"]),
        (900, ["inside"] * 5 + ["outside", "gap", "hit"]),
        (-1, ["hit"] + ["inside"] * 5),
        (-40, ["hit", "gap", "outside"] + ["inside"] * 5),
    ],
)
def test_the_strip_shows_the_access_beyond_the_end(element: int, kinds: list[str]) -> None:
    strip = card(_finding(kind="out_of_bounds", element=element), {}).strip
    assert strip is not None
    assert [cell.kind for cell in strip.cells] == kinds
    assert next(cell.label for cell in strip.cells if cell.kind == "hit") == str(element)
    assert "64 elements, 0 to 63" in strip.text


@pytest.mark.parametrize("changes", [{"element": 5}, {"element": None}, {"elements": None}])
def test_no_strip_without_a_place_outside(changes: dict[str, Any]) -> None:
    assert card(_finding(kind="out_of_bounds", **changes), {}).strip is None


def test_an_excerpt_has_marked_lines_in_their_surroundings() -> None:
    shown = card(_finding(), {str(n): f"line {n}" for n in range(1, 60)}).excerpts
    assert [[line.number for line in part.lines] for part in shown] == [list(range(14, 24))]
    marks = {line.number: line.mark for part in shown for line in part.lines if line.mark}
    assert marks == {17: "other access", 20: "here"}


def _warp(**changes: Any) -> WarpAccess:
    values: dict[str, Any] = {
        "file": "a.cu", "line": 3, "kernel": "k", "space": "global", "access": "load",
        "access_bytes": 4, "lanes": tuple(range(0, 128, 4)), "transactions": 4, "least": 4,
    }  # fmt: skip
    return WarpAccess(**{**values, **changes})


def test_a_coalesced_request_fills_its_sectors() -> None:
    made = warp_access.panel(_warp())
    assert isinstance(made, warp_access.Sectors)
    assert len(made.sectors) == 4
    assert "100% of that is used" in made.caption


def test_a_strided_request_uses_an_eighth() -> None:
    strided = _warp(lanes=tuple(range(0, 32 * 288, 288)), transactions=32)
    made = warp_access.panel(strided)
    assert isinstance(made, warp_access.Sectors)
    assert len(made.sectors) == 32
    assert "12% of that is used" in made.caption
    assert "4 sectors would do" in made.caption
    assert all(lane.to_x is not None and 0 <= lane.to_x <= panel.WIDTH for lane in made.lanes)


def test_lanes_of_one_bank_take_turns() -> None:
    column = _warp(space="shared", lanes=tuple(range(0, 32 * 128, 128)), transactions=32, least=1)
    made = warp_access.panel(column)
    assert isinstance(made, warp_access.Banks)
    assert (made.turns, len({word.x for word in made.words})) == (32, 1)
    assert "32-way bank conflict" in made.title


def test_lanes_that_read_one_word_share_it() -> None:
    made = warp_access.panel(_warp(space="shared", lanes=(64,) * 32, transactions=1, least=1))
    assert isinstance(made, warp_access.Banks)
    assert (made.turns, len(made.words)) == (1, 1)


def test_wide_accesses_are_served_by_quarters_of_a_warp() -> None:
    wide = _warp(space="shared", access_bytes=16, lanes=tuple(range(0, 512, 16)), transactions=4)
    made = warp_access.panel(wide)
    assert isinstance(made, warp_access.Banks)
    assert (made.turns, len(made.words)) == (1, 32)


def test_no_lane_no_figure() -> None:
    assert warp_access.panel(_warp(lanes=(None,) * 32)) is None


def _map(cells: tuple[str, ...], shape: tuple[int, ...] = (2, 4)) -> CaseResult:
    found = ErrorMap(
        output="output", shape=shape, rows=2, columns=4, cell_rows=1, cell_columns=1, cells=cells
    )
    return sample_reports.wrong_case(8, error_map=found, mismatches=())


def test_the_error_map_has_a_stroke_for_each_run_of_cells() -> None:
    made = error_map.panel(_map(("..xx", "x--.")))
    assert made is not None
    assert (made.right.count("M"), made.wrong.count("M"), made.unwritten.count("M")) == (2, 2, 1)
    assert made.has_unwritten


def test_cells_that_are_none_make_no_figure() -> None:
    assert error_map.panel(_map(("", ""))) is None


def _writers(cells: tuple[str, ...], **changes: Any) -> Writers:
    values: dict[str, Any] = {
        "kernel": "k", "array": "output", "case": "n=8", "grid": (2, 1, 1),
        "block_size": (4, 1, 1), "elements": 8, "columns": 4, "cells": cells,
    }  # fmt: skip
    return Writers(**{**values, **changes})


def test_writers_are_counted_in_words() -> None:
    made = writers.panel(_writers(("0.0 0.1 0.2 0.3", "1.0 1.1 - -")))
    assert made is not None
    assert "6 threads of 2 blocks wrote 6 elements, one each" in made.caption
    assert "2 elements were never written" in made.caption
    assert "2 threads wrote nothing" in made.caption
    assert [label.text for label in made.labels] == ["0", "1", "2", "3", "0", "1"]


def test_a_loop_is_seen_as_several_elements_of_a_thread() -> None:
    made = writers.panel(_writers(("0.0 0.1 0.0 0.1", "0.0 0.1 0.0 0.1")))
    assert made is not None
    assert "up to 4 each" in made.caption


@pytest.mark.parametrize("cells", [("",), ("0.0 x",), ("<b>",), ()])
def test_writers_that_are_none_make_no_figure(cells: tuple[str, ...]) -> None:
    assert writers.panel(_writers(cells)) is None


def test_elements_that_several_threads_write_are_dotted() -> None:
    made = writers.panel(_writers(("0.0 0.1 1.0 1.1", "1.2 1.3 - -"), doubles=("..xx", "....")))
    assert made is not None
    assert made.doubles.count("M") == 1
    assert "2 elements (dotted) were written by several threads" in made.caption
    once = writers.panel(_writers(("0.0 0.1 1.0 1.1",)))
    assert once is not None
    assert (once.doubles, "several" in once.caption) == ("", False)


def test_numbers_of_narrow_blocks_leave_each_other_room() -> None:
    made = writers.panel(_writers((" ".join(f"{n + 100}.0" for n in range(32)),), columns=32))
    assert made is not None
    assert 8 < len(made.labels) < 20


def _resources(**changes: Any) -> LaunchResources:
    values: dict[str, Any] = {
        "kernel": "k", "target": "sm_80", "gpu": "A100", "threads": 256, "registers": 64,
        "spill_bytes": 0, "shared_bytes": 0, "blocks_by_threads": 8, "blocks_by_limit": 32,
        "blocks_by_registers": 4, "blocks_by_shared_memory": None, "occupancy": 0.5,
    }  # fmt: skip
    return LaunchResources(**{**values, **changes})


def test_occupancy_is_drawn_as_the_warps_of_a_multiprocessor() -> None:
    made = occupancy.panel(_resources())
    assert made is not None
    assert len(made.slots) == 64
    assert sum(slot.name == "free" for slot in made.slots) == 32
    assert [limit.name for limit in made.limits if limit.limits] == ["64 registers a thread"]
    assert "The limit is the shortest bar: registers" in made.caption


def test_a_full_multiprocessor_has_no_limit() -> None:
    made = occupancy.panel(_resources(registers=32, blocks_by_registers=8, occupancy=1.0))
    assert made is not None
    assert not any(limit.limits for limit in made.limits)
    assert "It is full" in made.caption


@pytest.mark.parametrize(
    "changes",
    [
        {"blocks_by_threads": 0},
        {"blocks_by_limit": 10**9},
        {"occupancy": 0.0},
        {"occupancy": 0.001},
    ],
)
def test_numbers_that_are_no_occupancy_make_no_figure(changes: dict[str, Any]) -> None:
    assert occupancy.panel(_resources(**changes)) is None


def test_bytes_asked_for_stand_beside_the_bytes_moved() -> None:
    evidence = _counters_of(sample_reports.too_slow_by_counters())
    moved = next(one for one in evidence.figures if one.name == "traffic").measured
    for asked, words in (
        (moved // 4, "25% of the bytes moved"),
        (moved, "no sector is fetched in vain"),
        (3 * moved, "3.0 times the bytes moved"),
    ):
        made = traffic.panel(replace(evidence, asked_bytes=asked))
        assert made is not None
        assert words in made.caption
        assert f"{asked:,} bytes" in made.bars[-1].asked_text


def _counters_of(report: Report) -> CountersEvidence:
    found = (check.evidence for check in report.kernels[0].checks)
    return next(one for one in found if isinstance(one, CountersEvidence))


def test_the_roofline_has_a_ring_for_each_kernel_that_was_counted() -> None:
    report = recorded_pages.recorded("roofline")
    made = roofline.panel(report)
    assert made is not None
    assert made.title == "Roofline of A100"
    by_name = {dot.name: dot for dot in made.dots}
    simple, tiled = by_name["v1_simple · CUDA C++"], by_name["v2_tiled · CUDA C++"]
    assert simple.x < tiled.x and simple.y > tiled.y  # more operations for each byte, and faster
    assert not any(dot.timed for dot in made.dots)
    assert len({(dot.x, dot.label_y) for dot in made.dots}) == len(made.dots)
    assert "Nothing was timed" in made.caption


def test_a_timed_kernel_is_below_the_roofline_that_was_measured() -> None:
    report = recorded_pages.recorded("roofline")
    kernel = next(one for one in report.kernels if one.name == "v2_tiled")
    [timed] = [
        check
        for check in sample_reports.too_slow().kernels[0].checks
        if isinstance(check.evidence, PerformanceEvidence)
    ]
    assert isinstance(timed.evidence, PerformanceEvidence)
    benchmark = replace(timed.evidence.benchmarks[0], tflop_s=4.0)
    evidence = replace(timed.evidence, benchmarks=(benchmark,), roof_gb_s=2000.0, peak_tflop_s=60.0)
    checks = (*kernel.checks, replace(timed, evidence=evidence))
    made = roofline.panel(replace(report, kernels=(replace(kernel, checks=checks),)))
    assert made is not None
    [dot] = made.dots
    assert dot.timed
    assert "4.00 TFLOP/s" in dot.text
    assert made.memory_text == "memory: 2,000 GB/s"


def test_without_operations_there_is_no_roofline() -> None:
    assert roofline.panel(recorded_pages.recorded("ladder")) is None


def test_the_kernel_before_in_the_ladder_is_the_contrast() -> None:
    bad = _warp(lanes=tuple(range(0, 1024, 32)), transactions=32)
    titles = [one.title for one in warp_access.panels((_warp(),), (bad,), "v1_naive")]
    assert titles == [
        "One warp's load, line 3: 4 sectors",
        "Before, in v1_naive: One warp's load, line 3: 32 sectors",
    ]
    assert len(warp_access.panels((_warp(),), (_warp(line=9),), "v1_naive")) == 1
    assert len(warp_access.panels((_warp(),), (replace(bad, access="store"),), "v1_naive")) == 1


def test_a_bound_that_is_broken_is_said() -> None:
    [check] = [
        check
        for check in sample_reports.too_slow_by_counters().kernels[0].checks
        if isinstance(check.evidence, CountersEvidence)
    ]
    assert isinstance(check.evidence, CountersEvidence)
    made = traffic.panel(check.evidence)
    assert made is not None
    assert "Over the assignment's bound" in made.caption
    assert any(bar.broken for bar in made.bars)


def test_rounds_are_drawn_in_turns() -> None:
    report = sample_reports.too_slow()
    kernel = report.kernels[0]
    [index] = [
        number
        for number, check in enumerate(kernel.checks)
        if isinstance(check.evidence, PerformanceEvidence)
    ]
    evidence = kernel.checks[index].evidence
    assert isinstance(evidence, PerformanceEvidence)
    timed = replace(
        evidence.benchmarks[0],
        baseline_rounds_us=(10.0, 11.0, 10.0),
        submission_rounds_us=(20.0, 22.0, 19.0),
    )
    check = replace(kernel.checks[index], evidence=replace(evidence, benchmarks=(timed,)))
    checks = (*kernel.checks[:index], check, *kernel.checks[index + 1 :])
    made = page(replace(report, kernels=(replace(kernel, checks=checks),)))
    assert "Time of one call" in made.text
    assert "How fast, round by round" in made.text


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (0, 37, [0, 10, 20, 30]), (5, 5, [5])],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert panel.ticks(low, high) == pytest.approx(expected)


# --- commands --------------------------------------------------------------------------------


def test_grade_report_writes_the_page(tmp_path: Path) -> None:
    file, output = tmp_path / "report.json", tmp_path / "report.html"
    file.write_text(json_text(to_json(recorded_pages.recorded("race"))), encoding="utf-8")
    command = ["report", str(file), "--format", "html", "--output", str(output)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    text = output.read_text(encoding="utf-8")
    assert text == document(recorded_pages.recorded("race")) and text.startswith("<!DOCTYPE html>")


def test_a_grader_error_has_a_page_without_a_score() -> None:
    made = page(sample_reports.grader_error())
    assert "no score" in made.text
    assert "not your fault" in made.text


# --- inside Gradescope's page ----------------------------------------------------------------


def _problems(page: html_pages.Page) -> list[str]:
    """Return what is wrong with the page, apart from its images, whose data is in it."""
    images = ("has <img>", "src='data:image/svg+xml,", "fetches data:image/svg+xml,")
    return [one for one in page.problems if not one.startswith(images)]


def test_gradescope_gets_figures_as_images_and_their_sentences_as_text() -> None:
    for name in recorded_pages.RECORDED:
        made = html_pages.read_page(embedded(recorded_pages.recorded(name)))
        images = made.all("img")
        assert all(one["src"].startswith("data:image/svg+xml,") for one in images)
        assert _problems(made) == []
        assert not made.all("style") and not made.all("svg")
        for source in (unquote(one["src"].partition(",")[2]) for one in images):
            drawn = ElementTree.fromstring(source)
            assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
            assert "var(" not in source
            assert source.count("url(") == source.count("url(#")
            used = set(re.findall(r"url\(#([a-z]+)\)", source))
            assert used <= set(re.findall(r' id="([a-z]+)"', source))
    race = html_pages.read_page(embedded(recorded_pages.recorded("race")))
    assert len(race.all("img")) >= 2
    assert "Nothing decides who comes first" in race.text


def test_a_figure_has_the_rules_of_all_its_classes() -> None:
    race = embedded(recorded_pages.recorded("race"))
    sources = [unquote(one["src"]) for one in html_pages.read_page(race).all("img")]
    assert any(".event.yours{fill: #0072b2;}" in one for one in sources)
    assert any(".hover{fill: transparent;}" in one for one in sources)
    assert not any(".histogram" in one or ".wrong-line" in one for one in sources)


def test_gradescopes_figures_are_left_out_when_they_are_too_large() -> None:
    report = recorded_pages.recorded("ladder")
    assert len(embedded(report).encode()) <= MOST_EMBEDDED + 200
    cut = embedded(report, most=60_000)
    assert len(cut.encode()) <= 60_200
    assert "more are left out" in cut
    none = html_pages.read_page(embedded(report, most=10))
    assert none.all("img") == []
    assert report.verdict.phrase in none.text


def test_hidden_cases_have_no_figure_in_gradescope() -> None:
    report = recorded_pages.recorded("hidden_failures")
    text = embedded(report)
    assert "Where it is wrong" not in text
    for kernel in report.kernels:
        for check in kernel.checks:
            if check.visibility is not Visibility.VISIBLE:
                assert isinstance(check.evidence, CorrectnessEvidence)
                sizes = {str(case.sizes["n"]) for case in check.evidence.cases}
                assert not any(re.search(rf"\b{size}\b", text) for size in sizes)


@pytest.mark.parametrize("name", ["race", "out_of_bounds", "bank_conflicts", "ladder"])
def test_markup_in_a_report_stays_text_in_gradescope(name: str) -> None:
    mark = "</style></svg><script>x</script>\"'><img src=x onerror=y>{{ 7*7 }}\x1b[2J"
    values = _everywhere(to_json(recorded_pages.recorded(name)), mark)
    for kernel in values["kernels"]:
        kernel["name"] = mark
    text = embedded(from_json(values, "report.json"), notes=(mark,))
    made = html_pages.read_page(text)
    assert not made.all("script")
    assert all(one["src"].startswith("data:image/svg+xml,") for one in made.all("img"))
    assert _problems(made) == []
    for one in made.all("img"):
        drawn = ElementTree.fromstring(unquote(one["src"].partition(",")[2]))
        tags = {element.tag.rpartition("}")[2] for element in drawn.iter()}
        assert not tags & {"script", "img", "image", "foreignObject"}
