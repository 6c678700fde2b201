"""Sums and counts of other elements than all, in one case and in several together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.reader import read_assignment
from grader.judge.compare import compare
from grader.judge.oracle import Oracle
from grader.judge.patterns import subset_hypothesis
from grader.judge.patterns.subset_hypothesis import SmallCase
from grader.vocabulary import Language, Visibility

Values = torch.Tensor
HISTOGRAM = read_assignment(REPOSITORY / "assignments" / "histogram")
REDUCTION = read_assignment(REPOSITORY / "assignments" / "reduction")
LENGTHS = (1, 31, 256, 257, 1025, 2050)


def drawn(n: int, dtype: str = "") -> Case:
    return Case(
        name="",
        sizes={"n": n},
        values="random",
        visibility=Visibility.VISIBLE,
        seed=n,
        dtype=dtype,
    )


def counted(kernel: Callable[[Values], Values], n: int = 1000) -> str | None:
    """Return the sentence for a histogram of the elements that `kernel` returns."""
    case, oracle = drawn(n, "int32"), Oracle(HISTOGRAM)
    data = oracle.data(case, Language.CUDA)
    actual = data.inputs["count"] + torch.bincount(kernel(data.inputs["x"]), minlength=256).int()
    tolerance = HISTOGRAM.tolerance(case, Language.CUDA, "count")
    comparison = compare("count", actual, data.expected["count"], tolerance)
    return subset_hypothesis.explain(oracle, HISTOGRAM.signature, case, data, comparison)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (lambda x: x, None),
        (lambda x: x[:-1], None),  # one element proves nothing
        (lambda x: x[: 1000 // 128 * 128], "elements of `x` after the last whole group of 128"),
        (lambda x: x[torch.arange(1000) % 256], "the first 256 elements of `x` are in the result"),
        (lambda x: torch.cat([x, x]), "each element of `x` is in the result 2 times"),
        (lambda x: torch.nn.functional.pad(x, (0, 24)), "zeros past the end of `x`"),
        (lambda x: x[::32], "only the first of each 32 elements"),
        (lambda x: x.flip(0)[:500] * 0 + 7, None),
        (lambda x: torch.cat([x[:512], x[64:576]]), "blocks of 512 elements of `x` begin only 64"),
    ],
)
def test_a_count_of_other_elements(kernel: Callable[[Values], Values], said: str | None) -> None:
    found = counted(kernel)
    assert found is None if said is None else said in str(found)


def test_the_size_of_the_group_may_stay_open() -> None:
    found = counted(lambda x: x[:2048], n=2100)
    assert found == "the last 52 of 2100 elements of `x` are not in the result"


def together(kernel: Callable[[Values], Values]) -> str | None:
    """Return the sentence for the sums that `kernel` computes of arrays of several lengths."""
    oracle, cases = Oracle(REDUCTION), []
    for case in map(drawn, LENGTHS):
        data = oracle.data(case, Language.CUDA)
        actual = kernel(data.inputs["x"].double()).reshape(1)
        tolerance = REDUCTION.tolerance(case, Language.CUDA, "sum")
        comparison = compare("sum", actual.float(), data.expected["sum"], tolerance)
        cases.append(
            SmallCase(
                case=case,
                data=data,
                output="sum",
                actual=actual,
                expected=data.expected["sum"],
                tolerance=tolerance,
                right=comparison.accepted,
            )
        )
    explained = subset_hypothesis.explain_together(oracle, REDUCTION.signature, cases)
    return explained or subset_hypothesis.padding_value(REDUCTION.signature, cases)


def suffixes(x: Values) -> Values:
    return torch.stack([x[first:].sum() for first in range(0, x.numel(), 256)]).sum()


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (torch.sum, None),
        (lambda x: x.sum() * 1.3, None),
        (lambda x: x[: x.numel() // 4 * 4].sum(), "after the last whole group of 4 are not"),
        (lambda x: x.sum() * 256, "each element of `x` is in the result 256 times"),
        (lambda x: x[(x.numel() - 1) // 256 * 256 :].sum(), "only the last group of 256"),
        (lambda x: x[:256].sum(), "only the first 256 elements"),
        (lambda x: x[::32].sum(), "only the first of each 32"),
        (
            lambda x: sum(x[first : first + 512 : 2].sum() for first in range(0, x.numel(), 256)),
            "each block of 256 takes every second element of `x`",
        ),
        (suffixes, "elements of `x` from 256 on are in the result twice"),
        (lambda x: x.square().sum(), "the square of `x`"),
        (torch.max, "the largest element of `x`"),
        (torch.mean, "divided by the number of elements"),
        (lambda x: x.sum() + -x.numel() % 128, "up to a multiple of 128, adds 1 to the result"),
        (lambda x: x.sum() - 0.5 * (-x.numel() % 64), "up to a multiple of 64, adds -0.5 to"),
        (lambda x: x.sum() + 7, None),
        (lambda x: x[:256].sum() if x.numel() == 257 else x.sum(), None),
        (lambda x: x[:0].sum(), None),  # nothing at all: any group may be what is left out
    ],
)
def test_a_sum_of_other_elements(kernel: Callable[[Values], Values], said: str | None) -> None:
    found = together(kernel)
    assert found is None if said is None else said in str(found)
