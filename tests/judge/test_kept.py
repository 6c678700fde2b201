"""What an iterator computes is kept, for all who ask, and in all threads."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch

from grader.judge.kept import Kept
from grader.judge.oracle import CaseData


def slow(made: list[int]) -> Iterator[int]:
    """Yield 0 to 9, and note in `made` which have been computed."""
    for number in range(10):
        time.sleep(0.002)
        made.append(number)
        yield number


def test_items_are_computed_once_when_they_are_asked_for() -> None:
    made: list[int] = []
    kept = Kept(slow(made))
    assert list(itertools.islice(kept, 3)) == [0, 1, 2] == made
    assert list(kept) == list(kept) == list(range(10)) == made


def test_threads_share_the_items() -> None:
    made: list[int] = []
    kept = Kept(slow(made))
    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(lambda _: list(kept), range(8)))
    assert seen == [list(range(10))] * 8
    assert made == list(range(10))


def data(elements: int) -> CaseData:
    return CaseData(inputs={}, expected={"y": torch.zeros(elements)})


def test_a_case_keeps_items_by_key() -> None:
    case = data(100)
    assert [list(case.kept("a", iter("xy"))), list(case.kept("b", iter("z")))] == [
        ["x", "y"],
        ["z"],
    ]
    assert list(case.kept("a", iter("other"))) == ["x", "y"]


def test_a_large_case_keeps_nothing() -> None:
    case = data(100_000)
    assert [list(case.kept("a", iter(text))) for text in ("x", "y")] == [["x"], ["y"]]
