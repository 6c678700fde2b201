"""Wrong results that are right for other inputs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.reader import read_assignment
from grader.judge.compare import compare
from grader.judge.input_hypothesis import explain
from grader.judge.oracle import Oracle
from grader.vocabulary import Language, Visibility

Values = torch.Tensor


def sentence(name: str, sizes: dict[str, int | float], kernel: Callable[..., Values]) -> str | None:
    """Return the hypothesis for the output that `kernel` computes from the inputs in float64."""
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    oracle = Oracle(assignment)
    case = Case(name="", sizes=sizes, values="random", visibility=Visibility.VISIBLE, seed=1)
    data = oracle.data(case, Language.CUDA)
    (output,) = data.expected
    actual = kernel(*(value.double() for value in data.inputs.values())).float()
    tolerance = assignment.tolerance(case, Language.CUDA, output)
    comparison = compare(output, actual, data.expected[output], tolerance)
    return explain(oracle, assignment.signature, case, data, comparison, tolerance)


def norm(x: Values, weight: Values, epsilon: float = 1e-5) -> Values:
    return x * weight / (x.square().mean(dim=1, keepdim=True) + epsilon).sqrt()


GEMM = {"m": 20, "n": 24, "k": 40}
NORM = {"rows": 5, "cols": 33, "epsilon": 0.1}


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (lambda a, b: a @ b, None),
        (lambda a, b: a[:, :39] @ b[:39], "the sum over `k` lacks its last term"),
        (lambda a, b: a[:, :32] @ b[:32], "the sum over `k` lacks its last 8 of 40 terms"),
        (lambda a, b: a[:, :16] @ b[:16], "only the first 16 of 40 terms"),
        (lambda a, b: a[:, 39:] @ b[39:], "only the last term of the sum over `k` is there"),
        (lambda a, b: a @ b + a[:, :16] @ b[:16], "the first 16 of 40 terms"),
        (lambda a, b: a @ b.flatten().view(24, 40).t(), "`b` read with row and column swapped"),
        (lambda a, b: a.half().double() @ b, "`a` rounded to float16"),
        (lambda a, b: a @ b + torch.rand(20, 24), None),
    ],
)
def test_a_product(kernel: Callable[..., Values], said: str | None) -> None:
    found = sentence("gemm", dict(GEMM), kernel)
    assert found is None if said is None else said in str(found)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (lambda x, w: norm(x, w, 0.0), "the result is that of `epsilon` = 0"),
        (lambda x, w: norm(x, w, 1e-5), "the result is that of `epsilon` = 1e-05"),
        (
            lambda x, w: norm(x, w * 0 + 1, 0.1),
            "the result is that of `weight` = 1 in every element",
        ),
        (
            lambda x, w: norm(x.trunc(), w, 0.1),
            "the result is that of `input` cut to whole numbers",
        ),
        (lambda x, w: norm(x, w, 0.1) * 1.5, None),
    ],
)
def test_a_norm(kernel: Callable[..., Values], said: str | None) -> None:
    found = sentence("rms_norm_matrix", dict(NORM), kernel)
    assert found is None if said is None else str(found).startswith(said)


def test_few_wrong_elements_agree_by_chance() -> None:
    assert sentence("gemm", {"m": 1, "n": 2, "k": 40}, lambda a, b: a[:, :39] @ b[:39]) is None
