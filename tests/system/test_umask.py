"""Files of the judge are private; files for the user have the user's umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from grading_bench import Bench, small_silu
from paths import HAND_INS

from grader.assignment.reader import read_assignment
from grader.commands.output import write_text
from grader.errors import GraderError
from grader.grading import pipeline
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.model import Report, write_report
from grader.submission.reader import read_submission
from grader.system.umask import private_files


def umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o027], ids=oct)
def users(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_files_are_private_in_the_block_and_as_ever_after_it(users: int, tmp_path: Path) -> None:
    with private_files():
        (tmp_path / "own").touch()
        with private_files():
            pass
        (tmp_path / "own too").touch()
        write_text(tmp_path / "result", "for the user")
    (tmp_path / "after").touch()
    assert mode(tmp_path / "own") == mode(tmp_path / "own too") == 0o600
    assert mode(tmp_path / "result") == mode(tmp_path / "after") == 0o666 & ~users


def test_the_umask_comes_back_after_a_failure(users: int) -> None:
    with pytest.raises(GraderError), private_files():
        raise GraderError("something of ours")
    assert umask() == users


@pytest.mark.slow
def test_what_a_grading_makes_is_private(
    users: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("GRADE_CACHE_DIR", str(cache))
    assignment = read_assignment(small_silu(tmp_path))
    (tmp_path / "silu.cu").write_bytes((HAND_INS / "right.cu").read_bytes())
    so_far = tmp_path / "so_far.json"
    masks: list[int] = []

    def hear(report: Report) -> None:
        write_report(report, so_far)
        masks.append(umask())
        modes.append(mode(so_far))

    modes: list[int] = []
    submission = read_submission(tmp_path, assignment)
    report = pipeline.grade(assignment, submission, Options(), Progress(), on_report=hear)
    assert report.score == 100
    # The first grading runs before the judge begins.
    assert masks[0] == users
    assert set(masks[1:]) == {0o077}
    assert set(modes) == {0o666 & ~users}
    assert umask() == users
    made = [path for path in cache.rglob("*") if not path.is_symlink()]
    assert any(path.name == "kernel.so" for path in made)
    readable = [path for path in made if mode(path) & 0o077]
    assert readable == []


def test_a_users_report_goes_by_the_users_umask(
    users: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small_silu(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert Bench(tmp_path, capsys).grade_file(HAND_INS / "right.cu").verdict == "accepted"
    assert mode(tmp_path / "report.json") == 0o666 & ~users
