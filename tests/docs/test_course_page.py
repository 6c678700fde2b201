"""docs/course.md: the plan has every assignment in its week, in the order of `grade list`."""

from __future__ import annotations

import re

from paths import REPOSITORY

from grader.assignment.catalogue import ASSIGNMENTS, find_assignments
from grader.assignment.reader import read_assignment
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName

_ROW = re.compile(r"^\| (\d+) \| \[(\w+)\]\(\.\./assignments/(\w+)/README\.md\) \|", re.MULTILINE)


def test_the_plan_has_every_assignment_in_its_week() -> None:
    page = (REPOSITORY / "docs" / "course.md").read_text(encoding="utf-8")
    planned = [(int(week), name) for week, name, _ in _ROW.findall(page)]
    specs = map(read_assignment, find_assignments(REPOSITORY / ASSIGNMENTS))
    assert planned == sorted((spec.week or 0, spec.name) for spec in specs)
    assert all(name == folder for _, name, folder in _ROW.findall(page))


def test_students_read_what_to_do_after_each_verdict() -> None:
    page = (REPOSITORY / "docs" / "students.md").read_text(encoding="utf-8")
    assert [one.phrase for one in Verdict if one.phrase not in page] == []


def test_instructors_read_how_many_points_for_speed_the_assignments_here_give() -> None:
    page = (REPOSITORY / "docs" / "instructors.md").read_text(encoding="utf-8")
    specs = map(read_assignment, find_assignments(REPOSITORY / ASSIGNMENTS))
    given = [sum(k.points.get(CheckName.PERFORMANCE, 0) for k in spec.kernels) for spec in specs]
    timed = [points for points in given if points]
    assert f"Give them {min(timed):g} to {max(timed):g} of 100 points" in page


def test_a_handout_says_how_to_run_ones_own_program_without_a_gpu() -> None:
    specs = map(read_assignment, find_assignments(REPOSITORY / ASSIGNMENTS))
    for spec in (one for one in specs if one.program is not None):
        handout = (spec.folder / "README.md").read_text(encoding="utf-8")
        [kernel] = re.findall(r"`grade run main\.cu (\w+\.cu)`", handout)
        assert kernel in spec.paths, spec.name


def test_the_first_handout_says_what_the_report_says_of_a_known_mistake() -> None:
    folder = REPOSITORY / ASSIGNMENTS / "vector_add"
    said = re.search(r"known mistake: (.+?) \|", (folder / "README.md").read_text(encoding="utf-8"))
    assert said is not None
    assert f'"{said[1]}"' in (folder / "oracle.py").read_text(encoding="utf-8")


def test_the_page_says_which_assignments_lack_points_for_speed_and_for_counters() -> None:
    page = (REPOSITORY / "docs" / "course.md").read_text(encoding="utf-8")
    said = re.findall(r"All have points for\s(.+?)\sbut ([\w,\s]+?)\.\s", page, re.DOTALL)
    specs = [*map(read_assignment, find_assignments(REPOSITORY / ASSIGNMENTS))]
    for check, (subject, names) in zip(
        (CheckName.PERFORMANCE, CheckName.COUNTERS), said, strict=True
    ):
        lack = {one.name for one in specs if not any(check in part.points for part in one.parts)}
        assert set(re.split(r",\s+|\s+and\s+", names)) == lack, subject
