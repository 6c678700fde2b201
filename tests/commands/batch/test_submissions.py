"""The submissions in a class's folder, from each kind of export."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.commands.batch.gradescope_export import METADATA, Student, read_metadata
from grader.commands.batch.store import open_store
from grader.commands.batch.submissions import (
    find_submissions,
    latest_only,
    submitted_assignments,
)
from grader.errors import UsageError

EXPORT = """\
---
submission_11:
  :submitters:
  - :name: O'Hara, Ann
    :sid: '0042'
    :email: ann@example.edu
  - :name: "Zo\\u00eb"
    :sid:
    :email: zoe@example.edu
  :created_at: 2026-02-12 15:04:05.000000000 Z
  :score: 3.0
  :results:
    tests:
    - name: "not a student"
      :email: nobody@example.edu
    output: |
      submitters:
submission_12:
  :submitters:
  - :name: '=HYPERLINK("x")'
    :sid: ~
  :history: []
"""


def test_a_gradescope_export_names_the_students(tmp_path: Path) -> None:
    (tmp_path / METADATA).write_text(EXPORT)
    assert read_metadata(tmp_path / METADATA) == {
        "submission_11": (
            Student(name="O'Hara, Ann", sid="0042", email="ann@example.edu"),
            Student(name="Zoë", sid="", email="zoe@example.edu"),
        ),
        "submission_12": (Student(name='=HYPERLINK("x")'),),
    }
    (tmp_path / "submission_11").mkdir()
    found = find_submissions(tmp_path)
    assert [(s.name, [p.name for p in s.students]) for s in found.submissions] == [
        ("submission_11", ["O'Hara, Ann", "Zoë"])
    ]
    assert found.passed_over == (f"submission_12: {METADATA} names it, but it is not here",)


@pytest.mark.parametrize(
    ("key", "folder"),
    [
        ("submission 3:", "submission 3"),
        ("'submission 3':", "submission 3"),
        (r'"sub\"mission\u00e9":', 'sub"missioné'),
        (":submission_3: &1", "submission_3"),
        ('"it\'s #3":', "it's #3"),
        ("? submission 3\n:", "submission 3"),
    ],
)
def test_students_are_not_mixed_with_those_of_the_next_submission(
    key: str, folder: str, tmp_path: Path
) -> None:
    carol = f"{key}\n  :submitters:\n  - :name: Carol\n"
    (tmp_path / METADATA).write_text(EXPORT + carol)
    people = read_metadata(tmp_path / METADATA)
    assert people["submission_12"] == (Student(name='=HYPERLINK("x")'),)
    assert people[folder] == (Student(name="Carol"),)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (">-\n      Bob the\n      Builder", "Bob the Builder"),
        ("|\n      Bob\n", "Bob"),
        ("Bob the\n      Builder", "Bob the Builder"),
        ("'Bob''s\n      Builder'", "Bob's Builder"),
        ('"Bob\\\n      \\ the Builder"', "Bob the Builder"),
        ("&1 Bob", "Bob"),
        ("*ann", "Ann"),
        ("!binary |-\n      Wm/Dqw==", "Zoë"),
        ("!binary |-\n      Wm/", ""),
        ("!ruby/object:Name\n      first: Bob", ""),
        ("[Bob]", ""),
        ("'~'", "~"),
        ("0042", "0042"),
    ],
)
def test_a_name_of_several_lines_is_read(value: str, name: str, tmp_path: Path) -> None:
    (tmp_path / METADATA).write_text(
        f"submission_1:\n  :title: &ann Ann\n  :submitters:\n"
        f"  - :name: {value}\n    :email: b@example.edu\n"
        "    :more:\n      :name: Mallory\n  - :name: Cyd\n  :created_at: now\n"
    )
    assert read_metadata(tmp_path / METADATA) == {
        "submission_1": (Student(name=name, email="b@example.edu"), Student(name="Cyd"))
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("--- {}\n", "it names no submission"),
        ("", "it names no submission"),
        ("{a: b}: c\n", "it names no submission"),
        ("a: 1\nb: 'two\n", r"submission_metadata.yml:3: found unexpected end of stream"),
        ("submission_1:\n\t:submitters:\n", r"submission_metadata.yml:2: found character"),
        ("a: \x00\n", r"submission_metadata.yml(:1)? is not YAML|control characters"),
        ("[" * 3_000, r"submission_metadata.yml"),
    ],
)
def test_metadata_that_cannot_be_read_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / METADATA).write_text(text)
    with pytest.raises(UsageError, match=words):
        read_metadata(tmp_path / METADATA)


def test_clones_of_a_classroom_are_named_by_their_user(tmp_path: Path) -> None:
    folder = tmp_path / "silu-submissions"
    for user in ("octocat", "silu-fan"):
        (folder / f"silu-{user}" / ".git").mkdir(parents=True)
    assert [place.name for place in find_submissions(folder).submissions] == ["octocat", "silu-fan"]


def test_what_is_no_submission_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "bob.tar.gz").touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".DS_Store").touch()
    (tmp_path / "link").symlink_to("ada")
    (tmp_path / ("x" * 220)).mkdir()
    found = find_submissions(tmp_path)
    assert [place.name for place in found.submissions] == ["ada", "bob"]
    assert len(found.passed_over) == 3


def test_hidden_submissions_are_reported_but_not_system_files(tmp_path: Path) -> None:
    for name in ("ada", "...", ".bob", ".git", "__MACOSX"):
        (tmp_path / name).mkdir()
    for name in (".cyd.zip", "._ada.zip", ".DS_Store"):
        (tmp_path / name).touch()
    found = find_submissions(tmp_path)
    assert [place.name for place in found.submissions] == ["ada"]
    names = [sentence.partition(": hidden, ")[0] for sentence in found.passed_over]
    assert names == ["...", ".bob", ".cyd.zip"]


def test_one_student_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada.zip").touch()
    with pytest.raises(UsageError, match="give the same name, "):
        find_submissions(tmp_path)


def test_reports_are_no_submissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ada", "graded"):
        (tmp_path / name).mkdir()
    found = find_submissions(tmp_path, tmp_path / "graded")
    assert [place.name for place in found.submissions] == ["ada"]
    assert found.passed_over == ("graded: the folder of --out",)
    assert len(find_submissions(tmp_path, tmp_path.parent / "graded").submissions) == 2
    assert len(find_submissions(tmp_path, tmp_path / "not there yet").submissions) == 2
    monkeypatch.chdir(tmp_path)
    for out, words in (
        (Path(), "is the folder of the submissions"),
        (tmp_path / "ada" / "..", "is the folder of the submissions"),
        (Path("ada/graded"), f"is in the submission {tmp_path}/ada"),
    ):
        with pytest.raises(UsageError, match=words):
            find_submissions(tmp_path, out)


def test_reports_of_an_earlier_run_are_no_submissions(tmp_path: Path) -> None:
    (tmp_path / "ada" / "reports").mkdir(parents=True)
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / "batch.json").touch()
    assert len(find_submissions(tmp_path, tmp_path / "graded again").submissions) == 2
    with open_store(tmp_path / "graded") as store:
        store.secret_seed(None)
        store.write(store.report_path("silu", "ada"), "{}\n")
    found = find_submissions(tmp_path, tmp_path / "graded again")
    assert [place.name for place in found.submissions] == ["ada", "bob"]
    assert found.passed_over == ("graded: the reports of an earlier run",)


def test_an_empty_folder_names_the_export_below_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        find_submissions(tmp_path / "absent")
    with pytest.raises(UsageError, match="there are no submissions in"):
        find_submissions(tmp_path)


def test_assignments_are_those_with_folders(tmp_path: Path) -> None:
    known = [read_assignment(REPOSITORY / "assignments" / name) for name in ("silu", "gemm")]
    (tmp_path / "ada" / "silu").mkdir(parents=True)
    assert [a.name for a in submitted_assignments(find_submissions(tmp_path), known)] == ["silu"]
    (tmp_path / "ada" / "silu").rmdir()
    (tmp_path / "ada" / "student_template" / "gemm").mkdir(parents=True)
    assert [a.name for a in submitted_assignments(find_submissions(tmp_path), known)] == ["gemm"]
    (tmp_path / "ada" / "student_template" / "gemm").rmdir()
    with pytest.raises(UsageError, match="has a folder that is named like an assignment"):
        submitted_assignments(find_submissions(tmp_path), known)


def test_only_the_last_submission_of_each_student_is_graded(tmp_path: Path) -> None:
    for name in ("ada-2", "ada-10", "bob", "cyd_1", "cyd_2.zip", "2024"):
        (tmp_path / name).mkdir() if "." not in name else (tmp_path / name).touch()
    found = latest_only(find_submissions(tmp_path))
    assert [one.name for one in found.submissions] == ["2024", "ada-10", "bob", "cyd_2"]
    assert found.passed_over == (
        "cyd_1: a later submission is graded",
        "ada-2: a later submission is graded",
    )


def test_gradescope_says_whose_submissions_are_the_same_students(tmp_path: Path) -> None:
    people = "  :submitters:\n  - :name: Ada\n    :email: ada@example.edu\n"
    pair = people + "  - :name: Bob\n"
    text = f"submission_9:\n{people}submission_70:\n{people}submission_8:\n{pair}"
    (tmp_path / "submission_metadata.yml").write_text(text, encoding="utf-8")
    for number in (9, 70, 8):
        (tmp_path / f"submission_{number}").mkdir()
    found = latest_only(find_submissions(tmp_path))
    assert [one.name for one in found.submissions] == ["submission_70", "submission_8"]
    assert found.passed_over == ("submission_9: a later submission is graded",)
