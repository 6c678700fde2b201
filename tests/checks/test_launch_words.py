"""A launch in words beside elements that were never written."""

from __future__ import annotations

import pytest

from grader.checks.common.launch_words import launch_text


@pytest.mark.parametrize(
    ("grid", "block", "shape", "words"),
    [
        ([1, 1, 1], [256, 1, 1], (257,), "1 block of 256 threads: 256 for 257 elements, too few"),
        ([2, 1, 1], [256, 1, 1], (257,), "2 blocks of 256 threads: 512 for 257 elements, enough"),
        ([1, 1, 1], [1, 1, 1], (1,), "1 block of 1 thread: 1 for 1 element, enough"),
        (
            [3, 2, 1],
            [16, 16, 1],
            (33, 32),
            "3×2 blocks of 16×16 threads: 48 × 32 for 32 columns × 33 rows, too few",
        ),
        ([4, 1, 1], [256, 1, 1], (4, 512), "4 blocks of 256 threads: 1024 for 2048 elements, too"),
    ],
)
def test_threads_and_elements(
    grid: list[int], block: list[int], shape: tuple[int, ...], words: str
) -> None:
    text = launch_text({"kernel": "k", "grid": grid, "block": block}, shape)
    assert text.startswith(f"`k` ran with {words}")
    assert text.endswith("for one each")


def test_programs_have_no_threads() -> None:
    assert launch_text({"kernel": "k", "grid": [3, 2, 1]}, (9,)) == "`k` ran with 3×2 programs"


@pytest.mark.parametrize("grid", [None, "2", [2], [2, 1], [0, 1, 1], [2.0, 1, 1], [2, 1, True]])
def test_a_forged_record_says_nothing(grid: object) -> None:
    assert launch_text({"kernel": "k", "grid": grid, "block": [1, 1, 1]}, (9,)) == "`k` ran"
