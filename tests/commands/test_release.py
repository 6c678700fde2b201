"""`grade release`: each archive is unpacked and used in its platform's folders.

The programs run with this interpreter instead of the image's, and below a temporary
folder instead of /. If the tests are root, the programs run as root, and once as
another user.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from paths import REPOSITORY as ROOT
from silu_points import KERNEL
from slow import slow_unless

from grader.assignment import generated
from grader.assignment.reader import read_assignment
from grader.cli.main import cli
from grader.cli.release import TARGETS
from grader.commands.release.targets import TARGETS as MADE
from grader.commands.release.targets import entries_of
from grader.commands.release.visible import visible_spec
from grader.errors import GraderError, SpecError, UsageError
from grader.grading.selection import chosen_assignments
from grader.vocabulary import Visibility

NAME = "silu"
NOBODY = 65534
FOR_STUDENTS = ("student", "github")
ENDINGS = {"autolab": ".tar"}
needs_ci = pytest.mark.skipif("ci" not in cli.commands, reason="there is no `grade ci` yet")


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Every target's archive of one assignment."""
    folder = tmp_path_factory.mktemp("archives")
    made = {}
    for target in TARGETS:
        made[target] = folder / (target + ENDINGS.get(target, ".zip"))
        assert released(target, NAME, made[target]).exit_code == 0
    return made


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that any user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="release-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def released(target: str, name: str, output: Path) -> Result:
    return CliRunner().invoke(cli, ["release", target, name, "--output", str(output)])


def course(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the folder a course of one assignment, and the current one."""
    for tree in ("assignments", "reference", "student_template"):
        shutil.copytree(ROOT / tree / NAME, folder / tree / NAME)
    monkeypatch.chdir(folder)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack an archive with its modes, and the archives in it too."""
    folder.mkdir(parents=True, exist_ok=True)
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as file:
            for info in file.infolist():
                path = Path(file.extract(info, folder))
                path.chmod(info.external_attr >> 16)
    else:
        untar(archive, folder)
    for inner in folder.glob("*.tar"):
        untar(inner, folder)
    return folder


def untar(archive: Path, folder: Path) -> None:
    """Unpack an archive of ours. Python 3.12 warns without a filter; 3.10 may know none."""
    with tarfile.open(archive) as tar:
        tar.extraction_filter = lambda member, _: member
        tar.extractall(folder)


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def solved_text(path: Path) -> set[str]:
    """Return the lines of code between TODO and end of a solved file."""
    found, inside = set(), False
    for line in path.read_text().splitlines():
        word = line.strip().lstrip("/# ")
        if word.startswith("TODO(student)"):
            inside = True
        elif word == "end":
            inside = False
        elif inside and len(line.strip()) > 15 and not line.strip().startswith(("//", "#")):
            found.add(line.strip())
    return found


# Forbidden contents.


@pytest.mark.parametrize("target", TARGETS)
def test_no_archive_has_a_solution(
    archives: Mapping[str, Path], tmp_path: Path, target: str
) -> None:
    files = contents(unpack(archives[target], tmp_path))
    solved = {
        line
        for name in ("silu.cu", "silu.py", "main.cu")
        for line in solved_text(ROOT / "reference" / NAME / name)
    }
    assert len(solved) > 20
    files.pop("autograde.tar", None)  # its contents are checked, too
    for path, text in files.items():
        assert "reference" not in Path(path).parts, path
        assert "samples" not in Path(path).parts, path
        own = ROOT / path[path.find("grader/") :]
        if not (own.is_file() and own.read_text() == text):  # the package is no secret
            assert not solved & {line.strip() for line in text.splitlines()}, path


@pytest.mark.parametrize("target", TARGETS)
def test_the_next_step_is_printed_and_in_the_archive(
    archives: Mapping[str, Path], tmp_path: Path, target: str
) -> None:
    said = released(target, NAME, tmp_path / "again.zip").output
    (step,) = [line for line in said.splitlines() if line.startswith("next: ")]
    if target == "gradescope":
        assert "Configure Autograder" in step
        return
    assert "README.md" in step
    unpacked = unpack(archives[target], tmp_path / "unpacked")
    folder = unpacked / "gpu-assignments" if target == "student" else unpacked
    assert (folder / "README.md").is_file()


@pytest.mark.parametrize("target", FOR_STUDENTS)
def test_what_a_students_pages_name_is_in_the_archive(
    archives: Mapping[str, Path], tmp_path: Path, target: str
) -> None:
    unpacked = unpack(archives[target], tmp_path)
    folder = unpacked / "gpu-assignments" if target == "student" else unpacked
    pages = [page for page in folder.rglob("*.md") if "grader" not in page.parts]
    assert {page.name for page in pages} == {"README.md", "students.md", "languages.md"}
    assert (folder / ".vscode" / "tasks.json").is_file()
    assert "(docs/students.md)" in (folder / "README.md").read_text(encoding="utf-8")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        prose = re.sub(
            r"^```.*?^```", "", text, flags=re.S | re.M
        )  # kernel[grid, block](x) is no link
        links = re.findall(r"\]\(([^):#]+)[^):]*\)", prose)
        assert [link for link in links if not (page.parent / link).is_file()] == [], page
        assert re.findall(r"`(docs/[^`]+)`", text) == [], page
        assert "python -m grader" not in text, page


@pytest.mark.parametrize("target", FOR_STUDENTS)
@pytest.mark.parametrize(
    "name",
    slow_unless(
        {"silu", "gemm"}.__contains__, sorted(p.name for p in (ROOT / "assignments").iterdir())
    ),
)
def test_no_hidden_case_reaches_a_student(tmp_path: Path, target: str, name: str) -> None:
    archive = tmp_path / "made.zip"
    assert released(target, name, archive).exit_code == 0
    folder = unpack(archive, tmp_path / "unpacked")
    (spec,) = folder.rglob("assignment.toml")
    shown, whole = read_assignment(spec.parent), read_assignment(ROOT / "assignments" / name)
    visible = [case for case in whole.cases if case.visibility is Visibility.VISIBLE]
    assert list(shown.cases) == visible
    assert len(visible) < len(whole.cases)
    assert shown.kernels == whole.kernels
    cases = "".join(re.findall(r"^\[\[cases\]\]$.*?(?=^\[|\Z)", spec.read_text(), re.M | re.S))
    assert "sizes = " in cases
    assert not re.search(r"visibility|\bmin = |count = ", cases)
    assert "visibility" not in spec.read_text()
    # GitHub Classroom grades with this archive; a student's archive knows that more cases follow.
    hidden = len(whole.cases) - len(visible)
    assert shown.hidden_elsewhere == (hidden if target == "student" else 0)


@pytest.mark.parametrize("target", sorted(set(TARGETS) - set(FOR_STUDENTS)))
def test_staff_archives_grade_all_cases(
    archives: Mapping[str, Path], tmp_path: Path, target: str
) -> None:
    (spec,) = unpack(archives[target], tmp_path).rglob("assignment.toml")
    assert read_assignment(spec.parent).cases == read_assignment(ROOT / "assignments/silu").cases


def test_a_solved_file_among_the_stubs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course(tmp_path, monkeypatch)
    shutil.copy(tmp_path / "reference/silu/silu.py", tmp_path / "student_template/silu/silu.py")
    result = released("student", NAME, tmp_path / "course.zip")
    assert isinstance(result.exception, GraderError)
    assert "has a line of the solution" in result.exception.message
    assert not (tmp_path / "course.zip").exists()


# Checks before a release.


@pytest.mark.parametrize(
    ("target", "edit", "sentence"),
    [
        ("student", "student_template/silu/silu.cu", "silu.cu is out of date"),
        ("student", "student_template/silu/silu.h", "silu.h is out of date"),
        ("github", "assignments/silu/stubs.json", "stubs.json is out of date"),
        ("gradescope", "assignments/silu/stubs.json", "stubs.json is out of date"),
        ("autolab", "assignments/silu/stubs.json", "there is no"),
    ],
)
def test_outdated_generated_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, edit: str, sentence: str
) -> None:
    course(tmp_path, monkeypatch)
    if sentence == "there is no":
        (tmp_path / edit).unlink()
    else:
        (tmp_path / edit).write_text((tmp_path / edit).read_text().replace("silu", "silo"))
    result = released(target, NAME, tmp_path / "course.tar")
    if target == "gradescope":
        result = released(target, NAME, tmp_path / "course.zip")
    assert isinstance(result.exception, UsageError)
    assert sentence in result.exception.message
    assert f"{tmp_path}" in (result.exception.tip or "")
    assert not list(tmp_path.glob("course.*"))


def test_a_stub_of_a_missing_solved_file_cannot_be_generated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course(tmp_path, monkeypatch)
    solved = tmp_path / "reference" / "silu" / "main.cu"
    solved.unlink()
    (tmp_path / "student_template" / "silu" / "main.cu").unlink()
    assert generated.main([str(tmp_path)]) == 0
    error = released("student", NAME, tmp_path / "out.zip").exception
    assert isinstance(error, UsageError)
    assert error.message == f"there is no stub {tmp_path}/student_template/silu/main.cu"
    assert str(error.tip).startswith(f"write the solved file {solved}, then make it: python -m")


def test_archives_for_staff_need_no_stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course(tmp_path, monkeypatch)
    shutil.rmtree(tmp_path / "student_template")
    assert released("gradescope", NAME, tmp_path / "a.zip").exit_code == 0
    shutil.rmtree(tmp_path / "reference")
    assert released("gradescope", NAME, tmp_path / "b.zip").exit_code == 0


def test_problems_in_a_handout_are_warnings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course(tmp_path, monkeypatch)
    result = released("student", NAME, tmp_path / "course.zip")
    assert "warning" not in result.output
    handout = tmp_path / "assignments/silu/README.md"
    handout.write_text(handout.read_text() + "FILL IN: the rest\n")
    result = released("student", NAME, tmp_path / "course.zip")
    assert result.exit_code == 0
    assert f"warning: {handout} still has FILL IN marks" in result.stderr
    oracle = tmp_path / "assignments/silu/oracle.py"
    oracle.write_text(oracle.read_text() + "# FILL IN\n")
    assert f"warning: {oracle} still" in released("student", NAME, tmp_path / "a.zip").stderr
    result = released("prairielearn", NAME, tmp_path / "course.zip")
    assert f"warning: {handout} still has" in result.stderr
    assert str(oracle) not in result.stderr, "its students do not get it"
    handout.unlink()
    result = released("github", NAME, tmp_path / "course.zip")
    assert f"warning: there is no {handout}" in result.stderr
    assert "warning" not in released("gradescope", NAME, tmp_path / "grader.zip").output


# The making of archives.


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_course_gives_the_same_bytes(
    archives: Mapping[str, Path], tmp_path: Path, target: str
) -> None:
    again = tmp_path / archives[target].name
    released(target, NAME, again)
    assert again.read_bytes() == archives[target].read_bytes()


@pytest.mark.slow
def test_compressed_tars_are_the_same_too(tmp_path: Path) -> None:
    made = [tmp_path / "one.tar.gz", tmp_path / "two.tgz"]
    for path in made:
        assert released("student", NAME, path).exit_code == 0
    assert made[0].read_bytes() == made[1].read_bytes()


def test_the_targets_are_those_of_the_command_line() -> None:
    assert tuple(MADE) == TARGETS


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gradescope", "silu", "gemm", "--output", "x.zip"], "is for one assignment, not for 2"),
        (["gradescope", "--output", "x.zip"], "is for one assignment"),
        (["gradescope", "silu", "--output", "x.tar"], "Gradescope takes a zip"),
        (["student", "--output", "x.rar"], "must end in .zip"),
        (["student", "--output", "nowhere/x.zip"], "there is no folder nowhere"),
        (["student", "silo", "--output", "x.zip"], "did you mean `silu`?"),
    ],
)
def test_a_wrong_command_line_is_a_sentence(words: list[str], sentence: str) -> None:
    result = CliRunner().invoke(cli, ["release", *words])
    assert isinstance(result.exception, UsageError)
    assert sentence in result.exception.message


SPEC = """\
#:schema file:///home/staff/assignment.schema.json
title = "x"

# seen
[[cases]]
sizes = { n = 1 }

# secret: the reason
# of two lines
[[cases]]
visibility = "hidden"
[cases.sizes]
n = { min = 2, max = 9 }

# about limits
[limits]
call_s = 3

[[cases]]
sizes = { n = [
  2,
] }
[[cases]]
sizes = { n = 77 }
visibility = "after_due_date"
"""


def test_only_hidden_tables_and_their_comments_are_removed() -> None:
    assert (
        visible_spec(SPEC, Path("x.toml"))
        == """\
title = "x"

# seen
[[cases]]
sizes = { n = 1 }

# about limits
[limits]
call_s = 3

[[cases]]
sizes = { n = [
  2,
] }
"""
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[cases]]\nsizes = { n = 1 }\nvisibility = "hidden"\n', "no visible case"),
        ("cases = [{ sizes = { n = 1 } }]\n", "cannot be divided"),
    ],
)
def test_a_spec_that_cannot_be_shown(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        visible_spec(text, Path("x.toml"))


# Use of the unpacked archives.


def run(
    command: list[str], folder: Path, *, user: int | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run without this repository on the path: the archive must be enough."""
    kept = ("PATH", "GRADE_CACHE_DIR")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= {"HOME": str(folder), "GRADE_PYTHON": sys.executable, "CUDACXX": "", **variables}
    return subprocess.run(
        command, cwd=folder, env=environment, user=user, group=user,
        extra_groups=[] if user is not None else None,
        capture_output=True, text=True, timeout=110,
    )  # fmt: skip


def submission(name: str, folder: Path) -> Path:
    """Copy one of the submissions to a folder: good, wrong, hostile."""
    source = {
        "good": ROOT / "reference/silu/silu.cu",
        "wrong": ROOT / "reference/silu/samples/wrong_answer/swapped-sign/silu.cu",
        "hostile": ROOT / "tests/grading/hand_ins/forges_a_report.cu",
    }[name]
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, folder / "silu.cu")
    return folder


@pytest.mark.slow
def test_a_student_grades_the_stubs_and_a_solution(
    archives: Mapping[str, Path], place: Path
) -> None:
    course = unpack(archives["student"], place) / "gpu-assignments"
    grade = [sys.executable, "-m", "grader", "local", NAME, "--device", "cpu"]
    untouched = run(grade, course)
    assert "not submitted" in untouched.stdout, untouched
    solved = submission("good", place / "homework")
    report = place / "report.json"
    words = ["--from", str(solved), "--language", "cuda", "--json", str(report)]
    done = run([*grade, *words], course)
    kernel = json.loads(report.read_text())["kernels"][0]
    assert kernel["verdict"] == "accepted", done.stdout
    assert str(ROOT) not in done.stdout


METADATA = {
    "id": 7,
    "created_at": "2026-02-10T14:22:33.000000-08:00",
    "assignment": {
        "due_date": "2026-02-11T23:59:00.000000-08:00",
        "late_due_date": None,
        "release_date": "2026-02-01T00:00:00.000000-08:00",
        "group_size": None,
        "group_submission": False,
        "id": 25828,
        "course_id": 1234,
        "title": "SiLU",
        "total_points": "100.0",
    },
    "submission_method": "upload",
    "users": [{"email": "student@example.com", "id": 1, "name": "A Student"}],
    "previous_submissions": [],
}


def gradescope_at(archives: Mapping[str, Path], place: Path, kind: str) -> Path:
    """Lay out /autograder as Gradescope does; return it."""
    autograder = place / "autograder"
    source = unpack(archives["gradescope"], autograder / "source")
    shutil.copy(source / "run_autograder", autograder / "run_autograder")
    submission(kind, autograder / "submission")
    (autograder / "submission_metadata.json").write_text(json.dumps(METADATA))
    return autograder


# No submission has a main.cu; "good" lacks only points that need a GPU.
SCORES = {"good": (KERNEL, KERNEL), "wrong": (0, 0), "hostile": (0, 40)}


def gradescope_points(result: Mapping[str, Any]) -> float:
    if result.get("score") is not None:
        return float(result["score"])
    return sum(float(test.get("score", 0)) for test in result["tests"])


@needs_ci
@pytest.mark.slow
@pytest.mark.parametrize("kind", SCORES)
def test_gradescope(archives: Mapping[str, Path], place: Path, kind: str) -> None:
    autograder = gradescope_at(archives, place, kind)
    done = run([str(autograder / "run_autograder")], autograder, GRADE_ROOT=str(place))
    assert done.returncode == 0, done
    result = json.loads((autograder / "results/results.json").read_text())
    least, most = SCORES[kind]
    assert least <= gradescope_points(result) <= most, result


@pytest.mark.slow
@needs_ci
@pytest.mark.parametrize("kind", SCORES)
def test_prairielearn(archives: Mapping[str, Path], place: Path, kind: str) -> None:
    course = unpack(archives["prairielearn"], place / "course")
    info = json.loads((course / "questions/silu/info.json").read_text())
    shutil.copytree(course / "serverFilesCourse", place / "grade/serverFilesCourse")
    submission(kind, place / "grade/student")
    entry = info["externalGradingOptions"]["entrypoint"]
    done = run([f"{place}{entry}"], place, GRADE_ROOT=str(place))
    assert done.returncode == 0, done
    result = json.loads((place / "grade/results/results.json").read_text())
    least, most = SCORES[kind]
    assert least / 100 <= result["score"] <= most / 100, result


@pytest.mark.slow
@needs_ci
@pytest.mark.parametrize("kind", SCORES)
def test_autolab(archives: Mapping[str, Path], place: Path, kind: str) -> None:
    made = unpack(archives["autolab"], place / "made")
    job = place / "job"
    job.mkdir()
    shutil.copy(made / "autograde.tar", job)
    shutil.copy(made / "autograde-Makefile", job / "Makefile")
    with tarfile.open(job / "handin.tar", "w") as tar:
        tar.add(submission(kind, place / "work") / "silu.cu", "silu.cu")
    done = run(["make", "--silent"], job)
    assert done.returncode == 0, done
    scores = json.loads(done.stdout.rstrip().splitlines()[-1])["scores"]
    least, most = SCORES[kind]
    assert least <= sum(scores.values()) <= most, scores


@pytest.mark.slow
@needs_ci
def test_autolab_where_home_belongs_to_another_user(
    archives: Mapping[str, Path], place: Path
) -> None:
    job = unpack(archives["autolab"], place)
    shutil.copy(job / "autograde-Makefile", job / "Makefile")
    with tarfile.open(job / "handin.tar", "w") as tar:
        tar.add(ROOT / "reference/silu/silu.py", "silu.py")
    done = run(["make", "--silent"], job, HOME="/dev/null", GRADE_CACHE_DIR="")
    assert done.returncode == 0, done
    assert json.loads(done.stdout.rstrip().splitlines()[-1])["scores"]["silu"] == 65


def test_autolab_without_a_submission_grades_nothing(
    archives: Mapping[str, Path], place: Path
) -> None:
    job = unpack(archives["autolab"], place)
    shutil.copy(job / "autograde-Makefile", job / "Makefile")
    done = run(["make", "--silent"], job)
    assert done.returncode != 0
    assert "there is no submission" in done.stderr
    assert "scores" not in done.stdout


@pytest.mark.slow
@needs_ci
@pytest.mark.parametrize("kind", SCORES)
def test_github(archives: Mapping[str, Path], place: Path, kind: str) -> None:
    repository = unpack(archives["github"], place / "repository")
    submission(kind, repository / "student_template/silu")
    workflow = (repository / ".github/workflows/classroom.yml").read_text()
    step = re.search(r"run: \|\n((?: +python -m grader ci [^\n]*\n)(?: {12}[^\n]*\n)+)", workflow)
    assert step
    command = step[1].replace("python -m", "$GRADE_PYTHON -m")
    output = place / "output"
    done = run(
        ["bash", "-euo", "pipefail", "-c", command], repository,
        RUNNER_TEMP=str(place), GITHUB_OUTPUT=str(output),
        GITHUB_STEP_SUMMARY=str(place / "summary.md"),
    )  # fmt: skip
    assert done.returncode == 0, done
    assert output.read_text().startswith("result=")
    result = json.loads((place / "silu.json").read_text())
    least, most = SCORES[kind]
    assert least <= sum(test["score"] for test in result["tests"]) <= most


def reaches(user: int, path: str) -> bool:
    try:
        command = [path, "-c", "import torch"]
        return subprocess.run(command, user=user, capture_output=True).returncode == 0
    except PermissionError:
        return False


@needs_ci
@pytest.mark.skipif(os.geteuid() != 0, reason="the tests above ran as an ordinary user")
def test_gradescope_as_an_ordinary_user(archives: Mapping[str, Path], place: Path) -> None:
    if not reaches(NOBODY, sys.executable):
        pytest.skip("no other user may run this interpreter")
    autograder = gradescope_at(archives, place, "good")
    for path in (place, *place.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    done = run(
        [str(autograder / "run_autograder")], autograder, user=NOBODY,
        GRADE_ROOT=str(place), GRADE_CACHE_DIR=str(place / "cache"),
        CUDA_VISIBLE_DEVICES="",  # that user may have no nvcc
    )  # fmt: skip
    assert done.returncode == 0, done
    result = json.loads((autograder / "results/results.json").read_text())
    assert gradescope_points(result) >= SCORES["good"][0]


# Stand-ins for programs that need a network: they log their arguments, and make a `venv` with the
# Python of these tests.
FAKES = {
    "apt-get": 'echo "apt-get $*" >>"$LOG"',
    "python3": """
[ "$1 $2" = "-m venv" ] || exit 9
mkdir -p "$3/bin"
printf '#!/bin/sh\\nexec "%s" "$@"\\n' "$PYTHON" >"$3/bin/python"
printf '#!/bin/sh\\necho "pip $*" >>"$LOG"\\n' >"$3/bin/pip"
chmod 755 "$3/bin/python" "$3/bin/pip"
""",
}
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
IMAGES = {
    "gradescope": "setup.sh",
    "prairielearn": "Dockerfile",
    "autolab": "Dockerfile",
    "github": ".github/workflows/classroom.yml",
}


@pytest.mark.slow
def test_gradescopes_image_is_made_and_made_again(
    archives: Mapping[str, Path], place: Path
) -> None:
    autograder = gradescope_at(archives, place, "good")
    programs, log = place / "bin", place / "log"
    programs.mkdir()
    for name, text in FAKES.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    asked = []
    for _ in range(2):
        log.write_text("")
        done = run(
            [str(autograder / "source/setup.sh")], place, GRADE_ROOT=str(place), LOG=str(log),
            PYTHON=sys.executable, PATH=f"{programs}:{os.environ['PATH']}",
        )  # fmt: skip
        assert done.returncode == 0, done
        assert "the host runtime is ready" in done.stdout
        assert "CUDA C++  is graded on the CPU" in done.stdout
        asked.append(log.read_text().splitlines())
    assert asked[0] == asked[1]
    update, install, torch, others = asked[0]
    assert update == "apt-get update"
    assert {"python3", "python3-venv", "g++"} <= set(install.split())
    assert TORCH_INDEX in torch
    assert TORCH_INDEX not in others
    for words in (torch.split(), others.split()):
        for option in ("--constraint", "--requirement"):
            if option in words:
                assert Path(words[words.index(option) + 1]).is_file()


@pytest.mark.parametrize("target", IMAGES)
def test_an_image_has_the_tested_versions(
    archives: Mapping[str, Path], tmp_path: Path, target: str
) -> None:
    folder = unpack(archives[target], tmp_path)
    steps = (folder / IMAGES[target]).read_text().replace("\\\n", " ")
    # torch's index lacks dependencies of torch: only torch is installed from it.
    from_index = [line for line in steps.splitlines() if TORCH_INDEX in line]
    assert len(from_index) == 1
    (step,) = [part for part in from_index[0].split("&&") if TORCH_INDEX in part]
    assert {"--no-deps", "--constraint", "torch"} <= set(step.split())
    for copied in re.findall(r"^COPY (.+) /tmp/$", steps, re.MULTILINE):
        assert all((folder / name).is_file() for name in copied.split()), copied
    if target == "github":
        return  # it installs the package itself
    needed = (folder / "requirements.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower() for line in contents(folder)["constraints.txt"].split()}
    names = {re.split(r"[<>=;]", line)[0].lower() for line in needed}
    assert {"torch", "triton", "numpy", "click"} <= names <= pinned


@pytest.mark.parametrize("target", TARGETS)
def test_scripts_are_valid(archives: Mapping[str, Path], tmp_path: Path, target: str) -> None:
    folder = unpack(archives[target], tmp_path)
    for path in folder.rglob("*"):
        if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash"):
            assert path.stat().st_mode & 0o111, path
            done = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        if "release" not in path.parts and path.is_file() and path.suffix != ".tar":
            assert not re.search(r"@[A-Z]+@", path.read_text(errors="replace")), path


# --- several assignments ---------------------------------------------------------------------


def test_all_assignments_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(
        cli, ["release", "gradescope", "silu", "gemm", "--output-dir", str(tmp_path / "zips")]
    )
    assert done.exit_code == 0, done.output
    folder = tmp_path / "zips"
    assert sorted(path.name for path in folder.iterdir()) == ["gemm.zip", "silu.zip"]
    for name in ("silu", "gemm"):
        with zipfile.ZipFile(folder / f"{name}.zip") as archive:
            assert f"grader ci {name} " in archive.read("run_autograder").decode()
            assert f"assignments/{name}/oracle.py" in archive.namelist()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--all"], "with --output FILE, or a folder for several"),
        (["silu", "--output", "a.zip", "--output-dir", "."], "with --output FILE, or a folder"),
        (["--output-dir", "."], "needs the names of assignments, or --all"),
        (["silu", "--all", "--output-dir", "."], "needs the names of assignments, or --all"),
        (["--all", "--output", "a.zip"], "--all makes an archive of each assignment"),
        (["--all", "--output-dir", "nowhere/zips"], "--output-dir: there is no folder nowhere"),
        (["silu", "--output", "nowhere/a.zip"], "--output: there is no folder"),
    ],
)
def test_options_that_exclude_each_other(words: list[str], sentence: str) -> None:
    done = CliRunner().invoke(cli, ["release", "gradescope", *words])
    assert isinstance(done.exception, UsageError)
    assert sentence in done.exception.message


def test_archives_for_prairielearn_do_not_overwrite_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(
        cli, ["release", "prairielearn", "silu", "gemm", "--output-dir", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    files = [
        contents(unpack(tmp_path / f"{name}.zip", tmp_path / name)) for name in ("silu", "gemm")
    ]
    both = files[0].keys() & files[1].keys()
    assert "serverFilesCourse/gpu-grade/pyproject.toml" in both
    assert {path for path in both if files[0][path] != files[1][path]} == set()
    for name, own in zip(("silu", "gemm"), files, strict=True):
        info = json.loads(own[f"questions/{name}/info.json"])
        client, page = (
            f"questions/{name}/clientFilesQuestion",
            own[f"questions/{name}/question.html"],
        )
        offered = re.findall(r'<pl-file-download file-name="(.*?)">', page)
        assert {"README.md", f"{name}.h"} < set(offered)
        # A file that is missing is an error of the whole question.
        assert {f"{client}/{file}" for file in offered} == {p for p in own if p.startswith(client)}
        entry = info["externalGradingOptions"]["entrypoint"].removeprefix("/grade/")
        assert f"grader ci {name} " in own[entry]


def test_a_repository_of_several_assignments_adds_up_their_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    entries = {e.path: e for e in entries_of("github", chosen_assignments(("silu", "gemm")), ROOT)}
    assert {"student_template/gemm/v1_simple.cu", "assignments/silu/README.md"} <= entries.keys()
    assert b"out of 200 points" in entries["README.md"].data
    workflow = yaml.safe_load(entries[".github/workflows/classroom.yml"].data)
    job = workflow["jobs"]["grade"]
    *_, silu, gemm, report = job["steps"]
    assert job["timeout-minutes"] == 50
    assert (silu["id"], gemm["id"]) == ("silu", "gemm")
    assert "grader ci gemm" in gemm["run"] and "gemm.json" in gemm["run"]
    assert report["with"]["runners"] == "silu,gemm"
    assert report["env"] == {
        "SILU_RESULTS": "${{ steps.silu.outputs.result }}",
        "GEMM_RESULTS": "${{ steps.gemm.outputs.result }}",
    }


def test_one_archive_for_prairielearn_has_several_assignments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    entries = {
        names: {
            entry.path: entry.data
            for entry in entries_of("prairielearn", chosen_assignments(names), ROOT)
        }
        for names in (("silu",), ("gemm",), ("silu", "gemm"))
    }
    assert entries["silu", "gemm"] == entries["silu",] | entries["gemm",]
    archive = tmp_path / "both.zip"
    words = ["prairielearn", "silu", "gemm", "--output", str(archive)]
    done = CliRunner().invoke(cli, ["release", *words])
    assert done.exit_code == 0, done.output
    assert contents(unpack(archive, tmp_path / "both")).keys() == entries["silu", "gemm"].keys()


def test_an_archive_for_publication_shows_what_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    output = tmp_path / "silu.zip"
    words = ["silu", "--output", str(output), "--show", "after_published"]
    assert CliRunner().invoke(cli, ["release", "gradescope", *words]).exit_code == 0
    with zipfile.ZipFile(output) as archive:
        script = archive.read("run_autograder").decode()
    assert script.endswith("--budget 540 \\\n    --show after_published\n")
    refused = CliRunner().invoke(cli, ["release", "student", *words])
    assert "has no hidden cases" in str(refused.exception)


def test_students_begin_with_the_first_week(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    entries = entries_of("student", chosen_assignments(("attention", "silu", "vector_add")), ROOT)
    [page] = [e.data.decode() for e in entries if e.path == "gpu-assignments/README.md"]
    listed = re.findall(r"^\* `(\w+)`: .*, week (\d+)$", page, re.MULTILINE)
    assert listed == [("vector_add", "1"), ("silu", "2"), ("attention", "10")]
    assert "grade local vector_add " in page


def test_a_students_copy_is_not_released_again() -> None:
    [silu] = chosen_assignments(("silu",))
    with pytest.raises(UsageError, match="silu is a student's copy: it lacks the hidden cases"):
        entries_of("gradescope", [replace(silu, hidden_elsewhere=3)], ROOT)
