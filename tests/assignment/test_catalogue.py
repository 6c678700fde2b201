"""Finding assignments."""

from __future__ import annotations

from pathlib import Path

import pytest

import grader
from grader.assignment.catalogue import (
    ASSIGNMENTS_VARIABLE,
    assignment_folder,
    assignment_root,
    find_assignments,
    folders_without_spec,
)
from grader.errors import UsageError


def add(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).mkdir(parents=True)
        (root / name / "assignment.toml").touch()
    return root


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the environment variable and this repository."""
    monkeypatch.delenv(ASSIGNMENTS_VARIABLE, raising=False)
    monkeypatch.setattr(grader, "__file__", str(tmp_path / "site" / "grader" / "__init__.py"))


def test_folders_with_a_spec_are_found_by_name(tmp_path: Path) -> None:
    add(tmp_path, "silu", "gemm")
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.md").touch()
    (tmp_path / "odd" / "assignment.toml").mkdir(parents=True)
    assert find_assignments(tmp_path) == (tmp_path / "gemm", tmp_path / "silu")


def test_no_folder_holds_no_assignment(tmp_path: Path) -> None:
    assert find_assignments(tmp_path / "absent") == ()


def test_nearest_assignments_folder_wins(tmp_path: Path) -> None:
    outer = add(tmp_path / "assignments", "gemm")
    inner = add(tmp_path / "course" / "assignments", "silu")
    assert assignment_root(tmp_path / "course" / "work" / "deep") == inner
    assert assignment_root(tmp_path / "course") == inner
    assert assignment_root(inner / "silu") == inner
    assert assignment_root(tmp_path) == outer


def test_folder_of_submissions_with_the_same_name_is_passed_over(tmp_path: Path) -> None:
    root = add(tmp_path / "assignments", "silu")
    (tmp_path / "student" / "assignments" / "silu").mkdir(parents=True)
    assert assignment_root(tmp_path / "student") == root


def test_variable_names_the_folder_if_none_is_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = add(tmp_path / "course" / "tasks", "silu")
    elsewhere = tmp_path / "elsewhere"
    assert assignment_root(elsewhere) is None
    monkeypatch.setenv(ASSIGNMENTS_VARIABLE, str(root))
    assert assignment_root(elsewhere) == root


def test_variable_that_names_no_assignments_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ASSIGNMENTS_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="nowhere"):
        assignment_root(tmp_path)


def test_repository_of_the_package_comes_last(tmp_path: Path) -> None:
    root = add(tmp_path / "site" / "assignments", "silu")
    assert assignment_root(tmp_path / "elsewhere") == root


def test_assignment_is_found_by_its_name(tmp_path: Path) -> None:
    add(tmp_path, "silu")
    assert assignment_folder("silu", tmp_path) == tmp_path / "silu"
    assert assignment_folder("silu/", tmp_path) == tmp_path / "silu"


def test_unknown_assignment_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    add(tmp_path, "silu", "gemm")
    with pytest.raises(UsageError, match="did you mean `silu`") as caught:
        assignment_folder("slu", tmp_path)
    assert caught.value.tip == "known: gemm, silu"
    with pytest.raises(UsageError, match=r"no assignment `\.\./silu`"):
        assignment_folder("../silu", tmp_path / ".")


def test_folder_without_assignments_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no assignment in"):
        assignment_folder("silu", tmp_path)


def test_a_folder_whose_spec_is_missing_or_misspelt_is_named(tmp_path: Path) -> None:
    add(tmp_path, "silu")
    for name in ("gemm/asignment.toml", "__pycache__/x.pyc", ".git/config"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    assert folders_without_spec(tmp_path) == [tmp_path / "gemm"]
    with pytest.raises(UsageError, match=r"gemm has no assignment\.toml"):
        assignment_folder("gemm", tmp_path)
    with pytest.raises(UsageError, match="no assignment `empty`"):
        assignment_folder("empty", tmp_path)
