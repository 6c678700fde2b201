"""What a command line selects: assignments, source files, kernels."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from paths import REPOSITORY

from grader.assignment import generated
from grader.cli.main import cli
from grader.errors import UsageError
from grader.grading.selection import Selected, chosen_assignments, selected
from grader.vocabulary import Language

REFERENCE = REPOSITORY / "reference"


@pytest.fixture(autouse=True)
def _in_the_course(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)


def chosen(
    *words: str | Path,
    source: Path | None = None,
    kernels: tuple[str, ...] = (),
    languages: tuple[Language, ...] = (),
) -> list[Selected]:
    return selected([str(word) for word in words], source, kernels, languages)


def parts(found: list[Selected]) -> list[tuple[str, set[str], set[str]]]:
    return [(one.assignment.name, set(one.kernels), set(map(str, one.languages))) for one in found]


@pytest.mark.parametrize("by_option", [False, True])
def test_a_file_is_graded_alone_as_what_its_name_says(by_option: bool) -> None:
    file = Path("reference/gemm/v2_tiled.py")
    found = chosen("gemm", source=file) if by_option else chosen(file)
    assert parts(found) == [("gemm", {"v2_tiled"}, {"triton"})]
    assert found[0].paths == {"v2_tiled.py": "reference/gemm/v2_tiled.py"}


def test_files_of_one_assignment_make_one_report() -> None:
    found = chosen("reference/gemm/v1_simple.cu", "reference/gemm/v2_tiled.cu")
    assert parts(found) == [("gemm", {"v1_simple", "v2_tiled"}, {"cuda"})]
    assert set(found[0].paths) == {"v1_simple.cu", "v2_tiled.cu"}


def test_a_program_belongs_to_the_assignment_whose_kernel_is_beside_it(tmp_path: Path) -> None:
    for name in ("main.cu", "silu.cu"):
        shutil.copy(REFERENCE / "silu" / name, tmp_path)
    (found,) = chosen(tmp_path / "main.cu")
    assert parts([found]) == [("silu", {"main"}, {"cuda"})]
    assert "silu.cu" in found.submission, "the program runs with it"


def test_of_assignments_with_the_same_file_the_one_with_files_beside_it_is_meant(
    tmp_path: Path,
) -> None:
    shutil.copy(REFERENCE / "gemm" / "v2_tiled.cu", tmp_path)
    with pytest.raises(UsageError, match="could be a file of attention, gemm"):
        chosen(tmp_path / "v2_tiled.cu")
    shutil.copy(REFERENCE / "gemm" / "v1_simple.cu", tmp_path)
    assert parts(chosen(tmp_path / "v2_tiled.cu")) == [("gemm", {"v2_tiled"}, {"cuda"})]


def test_a_language_in_which_there_is_no_file_is_refused() -> None:
    with pytest.raises(UsageError, match="silu has no file in Numba") as caught:
        chosen("silu", source=REFERENCE, languages=(Language.NUMBA,))
    assert caught.value.tip == "choose of --language cuda, triton"


def test_a_file_of_another_name_is_the_only_kernel_that_is_left(tmp_path: Path) -> None:
    file = tmp_path / "mine.cu"
    shutil.copy(REFERENCE / "silu" / "silu.cu", file)
    (found,) = chosen("silu", source=file)
    assert found.submission.files["silu.cu"].text == file.read_text()
    assert found.paths == {"silu.cu": str(file)}
    (found,) = chosen("gemm", source=file, kernels=("v1_simple",))
    assert set(found.kernels) == {"v1_simple"}


@pytest.mark.parametrize(
    ("words", "options", "sentence"),
    [
        (("gemm", "v1_simple"), {}, "did you mean `--kernel v1_simple`?"),
        (("reference",), {}, "did you mean `--from reference`?"),
        (("none.cu",), {}, "there is no file none.cu"),
        (("gemm", "reference/silu/silu.cu"), {}, "gemm has no file silu.cu"),
        (("README.cu",), {}, "there is no file README.cu"),
        (
            ("reference/silu/silu.cu",),
            {"languages": (Language.TRITON,)},
            "--language excludes it",
        ),
    ],
)
def test_what_is_not_clear_is_said(
    words: tuple[str, ...], options: dict[str, tuple[Language, ...]], sentence: str
) -> None:
    with pytest.raises(UsageError) as raised:
        chosen(*words, **options)  # type: ignore[arg-type]
    assert sentence in raised.value.message
    assert raised.value.tip or "excludes" in sentence


def test_a_program_alone_needs_its_assignment(tmp_path: Path) -> None:
    shutil.copy(REFERENCE / "silu" / "main.cu", tmp_path)
    with pytest.raises(UsageError, match="could be a file of") as raised:
        chosen(tmp_path / "main.cu")
    assert raised.value.tip is not None
    assert f"--from {tmp_path / 'main.cu'}" in raised.value.tip


def test_a_kernel_without_an_assignment_chooses_those_that_have_it() -> None:
    found = chosen(source=REFERENCE, kernels=("v1_simple",))
    assert parts(found) == [("gemm", {"v1_simple"}, set())]


def test_without_a_name_all_with_files_are_graded(tmp_path: Path) -> None:
    shutil.copytree(REFERENCE / "gemm", tmp_path / "gemm", ignore=shutil.ignore_patterns("samples"))
    (tmp_path / "notes").mkdir()
    (found,) = chosen(source=tmp_path)
    assert found.assignment.name == "gemm"
    assert found.paths["v1_simple.cu"] == str(tmp_path / "gemm" / "v1_simple.cu")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="there is no submission of main, v0_torch in"):
        chosen(source=empty, kernels=("v0_torch", "main"))


@pytest.mark.parametrize("name", ["silu", "histogram", "transpose", "vector_add"])
def test_in_an_assignments_own_folder_no_other_one_is_graded(name: str) -> None:
    folder = REPOSITORY / "student_template" / name
    assert [one.assignment.name for one in selected((), folder, (), ())] == [name]


def test_a_program_beside_a_kernel_is_that_assignments(tmp_path: Path) -> None:
    for file in ("silu.cu", "main.cu"):
        shutil.copy(REPOSITORY / "student_template" / "silu" / file, tmp_path)
    assert [one.assignment.name for one in selected((), tmp_path, (), ())] == ["silu"]


def test_outside_a_course_it_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRADE_ASSIGNMENTS", raising=False)
    with pytest.raises(UsageError) as raised:
        chosen()
    assert str(raised.value.tip).startswith("go to the course: cd ")
    monkeypatch.setattr("grader.grading.selection.catalogue.assignment_root", lambda _: None)
    with pytest.raises(UsageError, match="is in no course") as raised:
        chosen_assignments(("silu",))
    assert "GRADE_ASSIGNMENTS" in str(raised.value.tip)


def test_staffs_commands_take_no_other_courses_assignments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In an empty folder `grade verify` verified the grader's own assignments, for 15 minutes.
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRADE_ASSIGNMENTS", raising=False)
    for command in (["verify"], ["release", "gradescope", "--all", "--output-dir", "."]):
        refused = CliRunner().invoke(cli, command).exception
        assert isinstance(refused, UsageError)
        assert refused.message.startswith(f"{tmp_path} is in no course")
        assert "grade new NAME" in str(refused.tip)
    listed = CliRunner().invoke(cli, ["list"]).output.splitlines()
    assert listed[-1].startswith("this folder is in no course: these are of ")


def test_no_command_writes_into_the_graders_own_assignments_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRADE_ASSIGNMENTS", raising=False)
    for command in (["verify", "silu", "--update"], ["calibrate", "silu"]):
        refused = CliRunner().invoke(cli, command).exception
        assert isinstance(refused, UsageError)
        assert refused.message.startswith(f"{tmp_path} is in no course")
    with pytest.raises(UsageError, match="there is no assignment in"):
        generated._course([])
    released = CliRunner().invoke(cli, ["release", "gradescope", "silu", "--output", "a.zip"])
    assert f"note: {tmp_path} is in no course: of {REPOSITORY}\n" in released.output


def test_an_empty_course_has_no_assignments_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "assignments"
    root.mkdir()
    (root / "course.toml").write_text("[limits]\ncall_s = 5\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for names in ((), ("silu",)):
        with pytest.raises(UsageError, match=f"there is no assignment in {root}"):
            chosen_assignments(names)
