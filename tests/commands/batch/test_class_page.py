"""The class as a page: every hand-in, those for a human first, and a page for each student."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import browser
import html_pages
import pytest
import sample_reports
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.commands.batch.class_page import write_pages
from grader.commands.batch.failures import commonest, failures
from grader.commands.batch.job import Answer, Outcome
from grader.commands.batch.store import Store, open_store
from grader.commands.batch.submissions import ClassFolder, find_submissions
from grader.commands.batch.summary import Summary, summarise
from grader.formats.html.environment import line
from grader.report.model import Report, json_text, to_json
from grader.report.verdict import Verdict

SILU = read_assignment(REPOSITORY / "assignments" / "silu")
HOSTILE = "<script>document.title='owned'<"
CLASS = {
    "ada": sample_reports.accepted,
    "bob": sample_reports.wrong_answer,
    "cyd": sample_reports.memory_error,
    "dee": sample_reports.not_submitted,
    "eve": sample_reports.wrong_answer,
    "a b#c%": sample_reports.too_slow,
    HOSTILE: sample_reports.hostile,
}


def graded(report: Report) -> Answer:
    return Answer(outcome=Outcome.GRADED, text=json_text(to_json(report)))


@pytest.fixture
def classroom(tmp_path: Path) -> ClassFolder:
    for name in (*CLASS, "broken"):
        (tmp_path / "class" / name).mkdir(parents=True)
    return find_submissions(tmp_path / "class")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "out") as opened:
        for name, make in CLASS.items():
            opened.keep("silu", name, graded(make()))
        problem = "no zip or tar archive & <b>"
        opened.keep("silu", "broken", Answer(outcome=Outcome.UNREADABLE, problem=problem))
        yield opened


def written(store: Store, classroom: ClassFolder) -> tuple[Summary, str]:
    summary = summarise(store, classroom, [SILU], graded_now=len(CLASS))
    write_pages(store, classroom, [SILU], summary)
    return summary, (store.folder / "index.html").read_text(encoding="utf-8")


def links(page: html_pages.Page) -> list[str]:
    return [one["href"] for one in page.all("a") if not one["href"].startswith("#")]


def test_the_page_is_inert_and_links_to_the_page_of_every_report(
    store: Store, classroom: ClassFolder
) -> None:
    _, text = written(store, classroom)
    page = html_pages.read_page(text)
    to_pages = ("links to pages/silu/", "pages/silu/")
    assert [one for one in page.problems if not one.startswith(to_pages)] == []
    assert "<script" not in text
    assert "no zip or tar archive & <b>" in page.text
    for link in links(page):
        # As a browser resolves it.
        path, _, anchor = link.partition("#")
        assert "<" not in link and " " not in link
        target = store.folder / unquote(path)
        student = html_pages.inert(target.read_text(encoding="utf-8"))
        assert not anchor or anchor in {a["id"] for _, a in student.tags if "id" in a}
    assert {path.stem for path in (store.folder / "pages" / "silu").iterdir()} == set(CLASS)


def test_names_in_sentences_are_code(store: Store, classroom: ClassFolder) -> None:
    problem = "is `Silu.cu` meant?"
    store.keep("silu", "broken", Answer(outcome=Outcome.UNREADABLE, problem=problem))
    _, text = written(store, classroom)
    assert "is <code>Silu.cu</code> meant?" in text


def test_hand_ins_for_a_human_come_first(store: Store, classroom: ClassFolder) -> None:
    summary, text = written(store, classroom)
    for_a_human = {item.name for item in summary.attention}
    assert "broken" in for_a_human
    rows = text[text.index("All hand-ins") :].split("<tr class=")[1:]
    marked = ["human" in row.partition(">")[0] for row in rows]
    assert len(rows) == len(CLASS) + 1
    assert marked == sorted(marked, reverse=True)
    assert sum(marked) == len(for_a_human)


def test_every_verdict_that_occurs_has_a_filter(store: Store, classroom: ClassFolder) -> None:
    _, text = written(store, classroom)
    for make in CLASS.values():
        assert f'id="f1-{make().verdict.value}"' in text
    assert 'id="f1-ungraded"' in text
    assert 'id="f1-tampered"' not in text


def test_failures_that_differ_in_numbers_and_names_are_one() -> None:
    def failed(name: str, message: str) -> Report:
        check = sample_reports.visible(verdict=Verdict.WRONG_ANSWER, score=0.0, message=message)
        kernel = sample_reports.kernel(check, verdict=Verdict.WRONG_ANSWER)
        return replace(sample_reports.report(kernel), title=name)

    messages = {
        "ada": "3 of 33 elements of `output` are wrong (n=33)",
        "bob": "every element is 0",
        "cyd": "1,024 of 4,099 elements of `out` are wrong (n=4099)",
    }
    found = [one for name, text in messages.items() for one in failures(name, failed(name, text))]
    first, second = commonest(found)
    assert (first.count, first.example, first.message) == (2, "ada", messages["ada"])
    assert (second.count, second.message) == (1, messages["bob"])


def test_the_summary_has_the_failures(store: Store, classroom: ClassFolder) -> None:
    summary, text = written(store, classroom)
    [points] = json.loads(summary.text())["assignments"]
    assert sum(one["count"] for one in points["failures"]) >= 4
    page = html_pages.read_page(text)
    assert [one for one in points["failures"] if line(one["message"]) not in page.text] == []


def test_a_page_is_written_again_only_for_a_newer_report(
    store: Store, classroom: ClassFolder
) -> None:
    written(store, classroom)
    pages = store.folder / "pages" / "silu"
    kept, renewed = pages / "ada.html", pages / "bob.html"
    kept.write_text("kept")
    renewed.write_text("old")
    report = store.report_path("silu", "bob")
    later = renewed.stat().st_mtime_ns + 1
    os.utime(report, ns=(later, later))
    written(store, classroom)
    assert kept.read_text() == "kept"
    assert renewed.read_text().startswith("<!DOCTYPE html>")


def test_the_page_of_a_submission_that_can_no_longer_be_graded_goes(
    store: Store, classroom: ClassFolder
) -> None:
    written(store, classroom)
    store.keep("silu", "ada", Answer(outcome=Outcome.UNREADABLE, problem="gone"))
    written(store, classroom)
    assert not (store.folder / "pages" / "silu" / "ada.html").exists()


def test_a_class_without_a_report_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "class" / "ada").mkdir(parents=True)
    folder = find_submissions(tmp_path / "class")
    with open_store(tmp_path / "out") as store:
        _, text = written(store, folder)
    assert html_pages.inert(text).text.count("there is no report") == 2


@pytest.mark.slow
@pytest.mark.skipif(browser.chromium() is None, reason="there is no Chromium here")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_in_a_browser(
    store: Store, classroom: ClassFolder, tmp_path: Path, dark: bool
) -> None:
    _, text = written(store, classroom)
    chosen = text.replace(" checked>", ">").replace('id="f1-human">', 'id="f1-human" checked>')
    opened = browser.open_pages({"all": text, "human": chosen}, tmp_path, dark=dark)
    assert opened.console == []
    for name, frame in opened.frames.items():
        assert (frame["overflow"] <= 0, frame["faint"], frame["cut"]) == (True, [], []), name
        assert "owned" not in frame["title"]
    for width in browser.WIDTHS:
        assert opened.frames[f"human {width}"]["shown"] < opened.frames[f"all {width}"]["shown"]
