"""Each sentence that names a cause of wrong elements comes with what to do about it."""

from __future__ import annotations

import re

import pytest

from grader.text.hints import hints, matching_hint

# A sentence of each detector in `judge`, and words of its hint.
SENTENCES = {
    "every element is max(x, 0), where x is `input`": "formula of the assignment",
    "the result is that of a known mistake: `factor` is left out": "look for it",
    "elements of `x` after the last whole group of 4 are not in the result": "one by one",
    "the last 9 of 80 elements of `x` are not in the result": "one by one",
    "only the last group of 256 elements of `x` is in the result": "atomicAdd",
    "only the first 256 elements of `x` are in the result": "cover all",
    "only the first of each 32 elements of `x` is in the result": "one thread",
    "only the first 32 of each 256 elements of `x` are in the result": "first warp",
    "only the first 128 of each 256 elements of `x` are in the result": "half",
    "each element of `x` is in the result 256 times": "let one thread",
    "each element of `x` is in the result 2 times": "added up again",
    "the first 64 elements of `x` are in the result again in the place of every 64": "beginning",
    "the sum counts elements past the end of the row as zeros, exp(0) each, up to a multiple of "
    "64": "minus infinity",
    "`input` is added to every element of the result": "no such term",
    "every element is 0.25 too large": "a constant is added",
    "not finite exactly where `input` is 88 or more": "infinite",
    "wrong exactly where |`input`| is 3 or more": "branch",
    "the bytes are those of an array of `double`, read as float": "element type",
    "the mean of the row is subtracted from each element of `input`": "LayerNorm",
    "element 4 is 256 too small and the next one 1 too large: a counter of 8 bits overflows into "
    "its neighbour": "add them to wider ones",
    "every wrong value is 7 elements too far back": "off by this number",
    "every block of 64 elements repeats the first 64 of the result": "blockIdx.x",
    "within each block of 32 elements all are the first one": "threadIdx.x",
    "every row repeats row 0": "i * columns + j",
    "each of 256 threads uses its own sum, not that of all threads of the block": "shared memory",
    "each 64 elements of the row are divided by the root of their own sum": "whole row",
    "each term is in the sum 2 times": "added up again",
    "each term is in the sum 256 times": "let one thread",
    "the sum is divided by 1024 as well as by the length of the row": "divide once",
    "the mean is cut to a whole number": "`int`",
    "the sum has only every second element of the row": "half = 1",
    "epsilon is added to the root, not under it": "under the root",
    "the result is that of `x` with the opposite sign": "as it is",
    "the result is that of `a` with row and column swapped within each tile of 16×16": "this tile",
    "the result is that of `epsilon` = the square of itself": "twice",
    "only the last 8 of 40 terms of the sum over `k` are there": "set to 0 again",
    "the first 16 of 40 terms of the sum over `k` are added again for each tile": "both loads",
    "the result is that of `a` with the element after each one": "off by one",
    "the result is that of `a` with row 0 in the place of every row": "lacks its row",
    "the result is that of `a` with its first 16 columns in the place of every 16": "t * TILE",
    "`a` and `b` are exchanged": "order of the arguments",
    "about 2^-13 of their sum: the sum is kept in float16": "float32",
    "about 2^-13 of their sum: they are rounded to TF32 or float16, or their sum is": "11 bits",
    "every element is 0.0625 times the expected value: it is divided by `k`": "no such factor",
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_cause_has_a_hint_of_its_own(sentence: str) -> None:
    assert SENTENCES[sentence] in matching_hint(sentence, "pattern")


def test_too_few_and_enough_threads_have_other_hints() -> None:
    ran = "only the last element: never written; `k` ran with 1 block of 256 threads: "
    few = matching_hint(f"{ran}256 for 257 elements, too few for one each", "symptom")
    enough = matching_hint(f"{ran}256 for 31 elements, enough for one each", "symptom")
    assert "round the number of blocks up" in few
    assert "large enough" in enough


def test_exchanged_axes_of_a_grid() -> None:
    message = (
        "only the last row: never written; `k` ran with 3×2 programs (33×65); right only where"
    )
    assert "axes of the grid" in matching_hint(f"{message} rows = cols", "property")
    assert not matching_hint(f"{message} cols is a multiple of 32", "property")


@pytest.mark.parametrize("table", ["pattern", "property", "symptom"])
def test_hints_are_whole_and_begin_with_a_word(table: str) -> None:
    for pattern, hint in hints(table).items():
        re.compile(pattern)
        assert hint == hint.strip(), pattern
        assert hint.count("`") % 2 == 0, pattern
