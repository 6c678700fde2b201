"""A launch in words beside elements that were never written."""

from __future__ import annotations

import pytest

from grader.checks.common.launch_words import configuration_text, launch_text


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
    text = launch_text({"kernel": "k", "grid": grid, "block": block}, shape, 0, "")
    assert text.startswith(f"`k` ran with {words}")
    assert text.endswith("for one each")


def test_threads_of_a_transpose_are_those_of_its_input() -> None:
    record = {"kernel": "k", "grid": [10, 1, 1], "block": [32, 32, 1]}
    found = launch_text(record, (300, 3), 90, "", turned="input")
    assert found.endswith("320 × 32 for 300 columns × 3 rows of `input`, enough for one each")
    exchanged = launch_text(record, (3, 300), 90, "", turned="input")
    assert exchanged.endswith("3 columns × 300 rows of `input`, too few for one each")


def test_programs_have_no_threads() -> None:
    record = {"kernel": "k", "grid": [3, 2, 1]}
    assert launch_text(record, (9,), 0, "") == "`k` ran with 3×2 programs"
    idle = {**record, "idle": 2}
    assert launch_text(idle, (9,), 0, "") == "`k` ran with 3×2 programs, 2 of which store nothing"


def test_a_thread_whose_number_is_multiplied_in_the_place_of_the_block_s() -> None:
    record = {"kernel": "k", "grid": [5, 1, 1], "block": [32, 32, 1]}
    found = launch_text(record, (5, 137), 125, "", of_every=(5, 32))
    assert found.endswith("as if the index were blockIdx + threadIdx * 32")
    assert launch_text(record, (5, 137), 100, "", of_every=(4, 32)).endswith("enough for one each")
    one_row = launch_text(record, (137, 5), 125, "", of_every=(1, 32))
    assert not one_row.endswith("threadIdx * 32")


def test_threads_that_wrote_several_elements_are_not_too_few() -> None:
    record = {"kernel": "k", "grid": [5, 1, 1], "block": [256, 1, 1]}
    assert launch_text(record, (4099,), 1280, "").endswith("too few for one each")
    assert launch_text(record, (4099,), 2048, "").endswith("they wrote 2048, several each")
    assert launch_text(record, (4099,), 4096, "").endswith("all but the last thread's share")


@pytest.mark.parametrize(
    ("grid", "block", "shape", "only_first", "ends"),
    [
        ([16, 1, 1], [32, 8, 1], (127, 509), 23, "number were not multiplied by its size"),
        ([5, 1, 1], [256, 1, 1], (4099,), 2048, "after the one before and wrote 1024"),
        ([5, 1, 1], [256, 1, 1], (5105,), 3840, "they wrote 3840, 3 for each"),
        ([2, 1, 1], [64, 1, 1], (3, 1025), 2, "the first 2 were reached, one for each"),
        ([5, 1, 1], [256, 1, 1], (5, 1021), 259, "and began one after the thread before"),
        ([4, 1, 1], [256, 1, 1], (1000,), 640, "before, too close for its 256 threads"),
        ([8, 1, 1], None, (31, 31), 11, "number were not multiplied by its size"),
        ([8, 1, 1], None, (31, 31), 10, "8 programs"),
    ],
)
def test_how_the_blocks_of_a_launch_lie(
    grid: list[int], block: list[int] | None, shape: tuple[int, ...], only_first: int, ends: str
) -> None:
    written = only_first * shape[1] if len(shape) == 2 else only_first
    record = {"kernel": "k", "grid": grid, "block": block}
    assert launch_text(record, shape, written, "", only_first=only_first).endswith(ends)


@pytest.mark.parametrize(
    ("grid", "block", "text", "unused"),
    [
        ([9, 1, 1], [32, 8, 1], "int x = threadIdx.x;", "never uses threadIdx.y"),
        ([9, 4, 1], [32, 1, 1], "blockIdx.x + threadIdx.x", "never uses blockIdx.y"),
        ([9, 1, 1], [32, 8, 1], "blockIdx.x + threadIdx.x + threadIdx.y * 32", None),
        ([9, 1, 1], [32, 8, 1], "dim3 t = threadIdx, b = blockIdx;", None),
        ([9, 1, 1], [32, 8, 1], "i = cuda.grid(1)", "never uses threadIdx.y"),
        ([9, 4, 1], [32, 8, 1], "i, j = cuda.grid(2)", None),
        ([1, 2, 1], None, "tl.program_id(0)", "never reads program_id(1)"),
        ([1, 2, 1], None, "tl.program_id(axis = 1)", None),
        ([1, 2, 1], None, "tl.program_id(AXIS)", None),
    ],
)
def test_an_axis_of_the_launch_that_the_file_does_not_use(
    grid: list[int], block: list[int] | None, text: str, unused: str | None
) -> None:
    record = {"kernel": "k", "grid": grid, "block": block}
    words = launch_text(record, (900,), 0, text)
    assert words.endswith(unused) if unused else "never" not in words


def test_the_configuration_that_an_autotuner_chose() -> None:
    text = "BM: 32, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None"
    expected = " with the tuner's configuration BM: 32, num_warps: 4, num_stages: 3"
    assert configuration_text({"configurations": 2, "config": text}) == expected
    assert configuration_text({"kernel": "k"}) == ""


@pytest.mark.parametrize(
    "forged",
    [
        {"configurations": 1, "config": "BM: 64"},
        {"configurations": "2", "config": "BM: 64"},
        {"configurations": True, "config": "BM: 64"},
        {"configurations": 2, "config": ["BM: 64"]},
        {"configurations": 2, "config": "BM:\x1b[31m64"},
        {"configurations": 2},
    ],
)
def test_an_autotuner_without_a_choice_and_a_forged_record_say_nothing(
    forged: dict[str, object],
) -> None:
    assert configuration_text(forged) == ""


@pytest.mark.parametrize("grid", [None, "2", [2], [2, 1], [0, 1, 1], [2.0, 1, 1], [2, 1, True]])
def test_a_forged_record_says_nothing(grid: object) -> None:
    assert launch_text({"kernel": "k", "grid": grid, "block": [1, 1, 1]}, (9,), 0, "") == "`k` ran"
