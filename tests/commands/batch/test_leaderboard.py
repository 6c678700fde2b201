"""`grade leaderboard`: one page, pseudonyms only, and a browser shows it."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import sample_reports as samples
from classrooms import grade

from grader.commands.batch.leaderboard import read_boards, read_names, write_leaderboard
from grader.errors import UsageError
from grader.report.model import to_json
from grader.report.verdict import Verdict

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"


@functools.cache
def browser() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)


def timed(speedup: float, score: float) -> dict[str, Any]:
    report = to_json(
        samples.report(samples.kernel(samples.build(), samples.visible(), verdict=Verdict.ACCEPTED))
    )
    check = to_json(samples.too_slow())["kernels"][0]["checks"][-1]
    check["evidence"]["speedup"] = speedup
    report["kernels"][0]["checks"].append(check)
    report["score"] = score
    report["environment"]["gpu"] = "NVIDIA H200"
    return report


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """An output folder of `grade batch`; one of the names is markup."""
    folder = tmp_path / "graded"
    (folder / "reports" / "silu").mkdir(parents=True)
    for name, report in {
        "ada": timed(1.5, 60.0),
        "bob": timed(2.25, 60.0),
        "cyd": to_json(samples.report(samples.kernel(samples.build(), verdict=Verdict.ACCEPTED))),
    }.items():
        (folder / "reports" / "silu" / f"{name}.json").write_text(json.dumps(report))
    (folder / "reports" / "silu" / "broken.json").write_text("{")
    return folder


def test_the_best_come_first_under_stable_names(graded: Path) -> None:
    [board] = read_boards(graded, {"ada": "Countess"}, print)
    assert [entry.speedups for entry in board.entries] == [(2.25,), (1.5,), (None,)]
    assert [entry.rank for entry in board.entries] == [1, 2, 3]
    assert board.entries[1].name == "Countess"
    assert not {"ada", "bob", "cyd"} & {entry.name for entry in board.entries}
    assert [board] == read_boards(graded, {"ada": "Countess"}, print)


def test_another_secret_draws_other_names(graded: Path) -> None:
    [board] = read_boards(graded, {}, print)
    (graded / "pseudonyms.key").unlink()
    [other] = read_boards(graded, {}, print)
    assert {e.name for e in board.entries} != {e.name for e in other.entries}


def test_chosen_names_are_text_not_markup(graded: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.csv"
    names.write_text(f'ada,"{HOSTILE}"\n')
    page = tmp_path / "page.html"
    problems: list[str] = []
    assert write_leaderboard(graded, page, "Course & class", names, problems.append) == 3
    [broken] = problems
    assert broken.startswith(f"{graded}/reports/silu/broken.json:1: not a report")
    text = page.read_text()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "Course &amp; class" in text
    assert "http" not in text.replace("http-equiv", ""), "it must load nothing"


def test_speedup_is_explained_only_where_something_was_timed(graded: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_leaderboard(graded, page, "Class", None, print)
    assert "Speedup:" in page.read_text()
    for name in ("ada", "bob"):
        (graded / "reports" / "silu" / f"{name}.json").unlink()
    write_leaderboard(graded, page, "Class", None, print)
    assert "Speedup:" not in page.read_text()


def test_a_bad_line_of_names_is_reported(tmp_path: Path) -> None:
    names = tmp_path / "names.csv"
    names.write_text("ada,Countess\nbob\n")
    with pytest.raises(UsageError, match=r"names\.csv:2: expected a submission and a pseudonym"):
        read_names(names)


def test_a_damaged_report_is_reported_by_name(graded: Path, tmp_path: Path) -> None:
    done = grade("leaderboard", graded, "--output", tmp_path / "page.html")
    assert (done.returncode, done.stdout[:11]) == (1, "3 submissio")
    assert "reports/silu/broken.json:1: not a report" in done.stderr


def test_an_empty_folder_is_reported(tmp_path: Path) -> None:
    done = grade("leaderboard", tmp_path, "--output", tmp_path / "page.html")
    assert done.returncode == 2
    assert "there are no reports of submissions in" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(browser() is None, reason="no chromium here")
def test_a_browser_shows_it(graded: Path, tmp_path: Path) -> None:
    names, page, picture = tmp_path / "names.csv", tmp_path / "page.html", tmp_path / "page.png"
    names.write_text(f'ada,"{HOSTILE}"\n')
    write_leaderboard(graded, page, "SiLU", names, print)
    chromium = [
        str(browser()), "--headless", "--no-sandbox", "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]  # fmt: skip
    dom = subprocess.run(
        [*chromium, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=100
    )
    assert dom.returncode == 0, dom.stderr
    assert "<title>SiLU</title>" in dom.stdout, "a name became a program"
    assert dom.stdout.count("<tr>") == 4
    assert "2.25×" in dom.stdout
    assert "<img" not in dom.stdout
    shot = subprocess.run(
        [*chromium, "--window-size=900,600", f"--screenshot={picture}", page.as_uri()],
        capture_output=True,
        timeout=100,
    )
    assert shot.returncode == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
