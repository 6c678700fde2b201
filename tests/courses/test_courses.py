"""Eight exercises of a course's first ten weeks, as an instructor writes them: all verify.

    square            a bare kernel                    mandelbrot   no input array
    grid_stride       launches of all sizes            attention    float16, drawn floats
    block_reduction   shared memory, bounds of counts  histogram    uint8, uint32, atomics, in place
    relu              types by case, in place          pick         several types

Each is a spec, an oracle, solved files in both languages, and samples as patches. `--update` makes
the generated files.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.assignment.catalogue import find_assignments
from grader.assignment.reader import read_assignment
from grader.commands.verify.run import verify

COURSES = Path(__file__).resolve().parent
NAMES = sorted(folder.name for folder in find_assignments(COURSES / "assignments"))


def marks(name: str) -> pytest.MarkDecorator:
    """Return the mark of an exercise: all of them take two minutes."""
    return pytest.mark.slow if name in ("square", "pick") else pytest.mark.alike


def test_the_exercises_are_read_and_are_short() -> None:
    assert len(NAMES) == 8
    for name in NAMES:
        folder = COURSES / "assignments" / name
        assert read_assignment(folder).max_score == 100
        assert len((folder / "assignment.toml").read_text(encoding="utf-8").splitlines()) <= 50


def exit_code_of(name: str, device: str, course: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Verify a copy of an exercise in a course of its own."""
    for tree in ("assignments", "reference"):
        shutil.copytree(COURSES / tree / name, course / tree / name)
    monkeypatch.chdir(course)
    return verify(
        assignments=(name,), device=device, kernels=(), languages=(), samples=(), jobs=None,
        repeat=1, seed=0, json_path=None, update=True,
    )  # fmt: skip


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("one_process", "no_nvcc")
@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in NAMES])
def test_an_exercise_verifies_on_the_cpu_in_both_languages(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code_of(name, "cpu", tmp_path, monkeypatch) == 0
    assert (tmp_path / "student_template" / name / f"{name}.h").is_file()


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_verifies_on_a_gpu(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code_of(name, "cuda", tmp_path, monkeypatch) == 0
