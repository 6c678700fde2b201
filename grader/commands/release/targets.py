"""The files of each target's archive."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from grader.assignment.generated import TEMPLATES
from grader.assignment.model import Assignment, by_week
from grader.commands.release.contents import (
    below,
    course_file,
    graded_files,
    grader_files,
    handout_file,
    image_files,
    stub_files,
    students_pages,
    visible_files,
    written_files,
)
from grader.commands.release.pack import Entry, tar
from grader.commands.release.readiness import refuse_solutions
from grader.errors import UsageError

STUDENT_FOLDER = "gpu-assignments"
# Seconds for grading, below the platform's limit by the time to start and end: Gradescope ends a
# submission after 600 s with 0 points, Tango and PrairieLearn after the limit that README.md tells
# the course to set.
BUDGETS_S = {"gradescope": 540, "prairielearn": 270, "autolab": 270, "github": 1200}
_UUIDS = uuid.UUID("6f3a4b7e-52c6-4f4f-9a39-0b0d8f9d6f10")

# Students, courses of PrairieLearn and repositories have folders for several; the other platforms
# set up each assignment by itself.
_OF_SEVERAL = ("student", "prairielearn", "github")
# A step of GitHub's workflow, and what the step that reports reads of it.
_STEP = """\
      - name: Grade {name}
        id: {name}
        if: ${{{{ !cancelled() }}}}
        run: |
          python -m grader ci {name} \\
            --from student_template \\
            --format github \\
            --output "$RUNNER_TEMP/{name}.json" \\
            --budget {budget}
"""
_RESULT = """\
          {variable}_RESULTS: "${{{{ steps.{name}.outputs.result }}}}"
"""
# A line of a question of PrairieLearn.
_DOWNLOAD = """\
    <li><pl-file-download file-name="{name}"></pl-file-download></li>
"""
# The assignments, the repository, and the word of `--show` ("" for none).
Target = Callable[[Sequence[Assignment], Path, str], Iterator[Entry]]


def entries_of(
    target: str, assignments: Sequence[Assignment], repository: Path, show: str = ""
) -> list[Entry]:
    """Return the files of an archive; `show` is the word of `--show`, "" for none.

    Raises UsageError if the target takes only one assignment and there are more, or if one is a
    student's copy, GraderError if a file would have a line of a solution.
    """
    if target not in _OF_SEVERAL and len(assignments) != 1:
        names = ", ".join(assignment.name for assignment in assignments)
        raise UsageError(
            f"an archive for {target} is for one assignment, not for {len(assignments)} ({names})",
            tip=f"name one: grade release {target} {assignments[0].name} --output FILE; or make an "
            f"archive of each: grade release {target} --all --output-dir DIR",
        )
    for copy in (one for one in assignments if one.hidden_elsewhere):
        raise UsageError(
            f"{copy.name} is a student's copy: it lacks the hidden cases",
            tip="release it in the course's own repository",
        )
    entries = list(TARGETS[target](assignments, repository, show))
    refuse_solutions(entries, assignments, repository)
    return entries


def student(assignments: Sequence[Assignment], repository: Path, _: str) -> Iterator[Entry]:
    """A folder that a student unpacks: stubs, visible cases, handouts, the grader."""
    yield from below(STUDENT_FOLDER, _for_students("student", assignments, repository))


def github(assignments: Sequence[Assignment], repository: Path, _: str) -> Iterator[Entry]:
    """A template repository for GitHub Classroom: the student's files and a workflow."""
    yield from _for_students("github", assignments, repository)


def gradescope(assignments: Sequence[Assignment], _: Path, show: str) -> Iterator[Entry]:
    """The zip that Gradescope unpacks at /autograder/source."""
    assignment = assignments[0]
    yield from _first_of_each_path(
        written_files("gradescope", _words("gradescope", assignment, show)),
        image_files(),
        grader_files(),
        graded_files(assignment),
    )


def prairielearn(assignments: Sequence[Assignment], repository: Path, show: str) -> Iterator[Entry]:
    """Folders of a course: questions, and the grader in serverFilesCourse; and the image.

    A question has the handout and the stubs, for students to download.

    Archives of several assignments share files only where these are equal.
    """
    server = "serverFilesCourse/gpu-grade"
    own: list[Entry] = []
    for assignment in assignments:
        question = f"questions/{assignment.name}"
        paths = {
            "run.sh": f"{server}/{assignment.name}.sh",
            **{name: f"{question}/{name}" for name in ("question.html", "info.json")},
        }
        stubs = f"{TEMPLATES}/{assignment.name}/"
        downloads = [
            replace(entry, path=entry.path.removeprefix(stubs))
            for entry in (*handout_file(assignment), *stub_files(assignment, repository))
        ]
        own += below(f"{question}/clientFilesQuestion", downloads)
        words = _words("prairielearn", assignment, show) | {
            "DOWNLOADS": "".join(_DOWNLOAD.format(name=entry.path) for entry in downloads)
        }
        for entry in written_files("prairielearn", words):
            own.append(replace(entry, path=paths.get(entry.path, entry.path)))
        own += below(server, graded_files(assignment))
    yield from _first_of_each_path(own, below(server, grader_files()), image_files())


def autolab(assignments: Sequence[Assignment], _: Path, show: str) -> Iterator[Entry]:
    """The lab's autograde-Makefile and autograde.tar, and the image."""
    assignment = assignments[0]
    inner = [*grader_files(), *graded_files(assignment)]
    for entry in written_files("autolab", _words("autolab", assignment, show)):
        if entry.path == "run.sh":
            inner.append(entry)
        else:
            yield entry
    yield Entry("autograde.tar", tar(sorted(below("autograde", inner))))
    yield from image_files()


TARGETS: Mapping[str, Target] = {
    "student": student,
    "gradescope": gradescope,
    "prairielearn": prairielearn,
    "autolab": autolab,
    "github": github,
}


def _for_students(
    target: str, assignments: Sequence[Assignment], repository: Path
) -> Iterator[Entry]:
    ordered = by_week(assignments)  # the example of a page is the first that students meet
    yield from _first_of_each_path(
        written_files(target, _words(target, ordered[0], every=ordered)),
        written_files("editor", {}),
        grader_files(),
        students_pages(),
    )
    yield from course_file(assignments[0])
    for assignment in assignments:
        # GitHub Classroom's points are those of this archive's own cases.
        yield from visible_files(assignment, graded_again=target == "student")
        yield from stub_files(assignment, repository)


def _first_of_each_path(*sources: Iterable[Entry]) -> Iterable[Entry]:
    """Return the entries; a target's own README.md comes before the grader's."""
    entries: dict[str, Entry] = {}
    for entry in chain(*sources):
        entries.setdefault(entry.path, entry)
    return entries.values()


def _words(
    target: str, first: Assignment, show: str = "", every: Sequence[Assignment] = ()
) -> dict[str, str]:
    assignments = every or (first,)
    files = [path for a in assignments for path in a.paths]
    listed = "\n".join(
        f"* `{a.name}`: {a.title}{f', week {a.week}' if a.week else ''}" for a in assignments
    )
    budget = BUDGETS_S.get(target, 0)
    steps = (_STEP.format(name=a.name, budget=budget) for a in assignments)
    results = (_RESULT.format(name=a.name, variable=a.name.upper()) for a in assignments)
    return {
        "STEPS": "".join(steps),
        "RESULTS": "".join(results),
        "RUNNERS": ",".join(a.name for a in assignments),
        "MINUTES": str(10 + len(assignments) * budget // 60),  # the first ten to install
        "NAME": first.name,
        "TITLE": first.title,
        "TITLE_IN_JSON": json.dumps(first.title, ensure_ascii=False),
        "UUID": str(uuid.uuid5(_UUIDS, first.name)),  # the same in every release
        "POINTS": f"{sum(a.max_score for a in assignments):g}",
        "BUDGET": str(budget),
        "SHOW": f" \\\n    --show {show}" if show else "",
        "FILES": ", ".join(files),
        "ASSIGNMENTS": listed,
    }
