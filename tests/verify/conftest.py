"""Fixtures: a small course, and what grades in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from course import Course, make_course

from grader import toolchain
from grader.verify.tasks import Hands


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return make_course(tmp_path / "course")


@pytest.fixture(scope="module")
def hands() -> Iterator[Hands]:
    hands = Hands()
    yield hands
    hands.renew()


@pytest.fixture
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """With it each build takes a second more."""
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)
