"""`grade local --watch`: what counts as a change, and what is graded again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.commands.watch import changes
from grader.errors import UsageError
from grader.grading.selection import Selected, selected


@pytest.fixture
def homework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(REPOSITORY)
    for name in ("v1_simple.cu", "v2_tiled.cu", "v2_tiled.py"):
        shutil.copy(REPOSITORY / "reference" / "gemm" / name, tmp_path)
    return tmp_path


class Edits:
    """Does an edit in each wait for the next reading; ends when none is left."""

    def __init__(self, folder: Path, *edits: Callable[[], object] | None) -> None:
        self._folder = folder
        self._edits = list(edits)

    def __call__(self) -> None:
        if not self._edits:
            raise EOFError
        if edit := self._edits.pop(0):
            edit()

    def read(self) -> list[Selected]:
        return selected(["gemm"], self._folder, (), ())

    def seen(self) -> list[tuple[list[str], tuple[str, ...]]]:
        """Return kernels and files of each change."""
        found = []
        with pytest.raises(EOFError):
            for change in changes(self.read, self.read(), self):
                kernels = [name for one in change.selected for name in sorted(one.kernels)]
                found.append((kernels, change.paths))
        return found


def add(file: Path, text: str = "// more\n") -> Callable[[], object]:
    return lambda: file.write_text(file.read_text() + text)


def test_only_the_kernel_of_the_saved_file_is_graded_again(homework: Path) -> None:
    file = homework / "v2_tiled.cu"
    edits = Edits(homework, None, add(file), None, None, add(homework / "v1_simple.cu"), None)
    assert edits.seen() == [
        (["v2_tiled"], (str(file),)),
        (["v1_simple"], (str(homework / "v1_simple.cu"),)),
    ]


def test_a_save_counts_once_it_has_settled(homework: Path) -> None:
    file = homework / "v1_simple.cu"
    edits = Edits(homework, add(file), add(file), add(file), None)
    assert edits.seen() == [(["v1_simple"], (str(file),))]


def test_a_save_without_a_change_is_none(homework: Path) -> None:
    file = homework / "v1_simple.cu"
    assert Edits(homework, add(file, ""), None, file.touch, None).seen() == []


def test_a_new_file_is_graded(homework: Path) -> None:
    file = homework / "v3_optimized.py"
    edits = Edits(homework, lambda: file.write_text("new = True\n"), None)
    assert edits.seen() == [(["v3_optimized"], (str(file),))]


def test_a_file_that_an_editor_moves_away_for_a_moment_is_no_end(homework: Path) -> None:
    file = homework / "v1_simple.cu"
    text = file.read_text()
    edits = Edits(homework, file.unlink, lambda: file.write_text(f"{text}//\n"), None)
    reads = iter(lambda: selected([str(file)], None, (), ()), None)

    def read() -> list[Selected]:
        found = next(reads)
        assert found is not None
        return found

    edits.read = read  # type: ignore[method-assign]
    with pytest.raises(UsageError):
        selected(["none.cu"], None, (), ())
    assert edits.seen() == [(["v1_simple"], (str(file),))]
