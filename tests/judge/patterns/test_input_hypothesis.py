"""Wrong results that are right for other inputs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.reader import read_assignment
from grader.judge.compare import compare
from grader.judge.oracle import Oracle
from grader.judge.patterns.input_hypothesis import explain
from grader.vocabulary import Language, Visibility

Values = torch.Tensor


def sentence(
    name: str,
    sizes: dict[str, int | float],
    kernel: Callable[..., Values],
    *,
    values: str = "random",
    language: Language = Language.CUDA,
) -> str | None:
    """Return the hypothesis for the output that `kernel` computes from the inputs in float64."""
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    oracle = Oracle(assignment)
    case = Case(name="", sizes=sizes, values=values, visibility=Visibility.VISIBLE, seed=1)
    data = oracle.data(case, language)
    (output,) = data.expected
    actual = kernel(*(value.double() for value in data.inputs.values()))
    actual = actual.to(next(iter(data.inputs.values())).dtype)
    tolerance = assignment.tolerance(case, language, output)
    comparison = compare(output, actual, data.expected[output], tolerance)
    return explain(oracle, assignment.signature, case, data, comparison, tolerance)


def norm(x: Values, weight: Values, epsilon: float = 1e-5) -> Values:
    return x * weight / (x.square().mean(dim=1, keepdim=True) + epsilon).sqrt()


COLUMN = torch.arange(40)
ROWS = torch.arange(20)[:, None]


def in_float16(a: Values, b: Values) -> Values:
    total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float16)
    for i in range(a.shape[1]):
        total += (a[:, i : i + 1] @ b[i : i + 1]).half()
    return total.double()


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
        (lambda a, b: a[:, 32:] @ b[32:], "only the last 8 of 40 terms of the sum over `k`"),
        (lambda a, b: a[:, 8:] @ b[8:], "the sum over `k` lacks its first 8 of 40 terms"),
        (lambda a, b: a[:, ::16] @ b[::16], "only the first term of each tile of 16"),
        (lambda a, b: 3 * a[:, :16] @ b[:16], "are added again for each tile"),
        (
            lambda a, b: a[:, :16] @ b[:16] + 2 * (a[:, 16:32] @ b[16:32]),
            "(8 of 40 terms) is left out, and the one before it is there twice",
        ),
        (
            lambda a, b: a[:, :16] @ b[:16] + a[:, 32:] @ b[32:],
            "has only every second tile of 16",
        ),
        (
            lambda a, b: 4 * a[:, :16] @ b[:16] + 2 * a[:, 16:32] @ b[16:32] + a[:, 32:] @ b[32:],
            "so far is doubled with each tile of 16",
        ),
        (lambda a, b: a @ (b + 1), "`b` + 1"),
        (
            lambda a, b: torch.cat([a[:9] @ b, a[9:, :32] @ b[:32]]),
            "where it is wrong, the sum over `k` lacks its last 8 of 40 terms",
        ),
        (lambda a, b: a[:, COLUMN % 16] @ b, "`a` with its first 16 columns in the place of"),
        (lambda a, b: a @ b[:1].expand(40, 24), "`b` with row 0 in the place of every row"),
        (
            lambda a, b: a[:, COLUMN // 8 + COLUMN % 8] @ b,
            "tile t, of 8 columns, read from column t",
        ),
        (lambda a, b: a[:, COLUMN % 20] @ b, "`a` with column j % `m` in the place of column j"),
        (
            lambda a, b: a.flatten()[ROWS * 32 + COLUMN] @ b,
            "`a` with rows 32 elements apart, not `k`",
        ),
        (lambda a, b: a[:, COLUMN % 10] @ b, None),
        (lambda a, b: in_float16(a, b), None),  # the sum has no cancellation: another pattern
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


def test_the_square_of_an_argument() -> None:
    found = sentence("rms_norm_matrix", dict(NORM), lambda x, w: norm(x, w, 0.1 * 0.1))
    assert found == "the result is that of `epsilon` = the square of itself"
    small = {**NORM, "epsilon": 1e-5}
    found = sentence("rms_norm_matrix", small, lambda x, w: norm(x, w, 0.0), values="tiny")
    assert found == "the result is that of `epsilon` = 0"


def test_a_sum_of_large_terms_that_is_kept_in_float16() -> None:
    sizes = {"m": 20, "n": 24, "k": 300}
    found = sentence("gemm", dict(sizes), in_float16, values="cancelling", language=Language.TRITON)
    assert str(found).endswith("of their sum: the sum is kept in float16")


def test_terms_that_a_tensor_core_rounds() -> None:
    def rounded(x: Values) -> Values:
        bits = x.float().view(torch.int32)
        return ((bits + 0x1000) & ~0x1FFF).view(torch.float32).double()

    def in_tf32(a: Values, b: Values) -> Values:
        return rounded(a) @ rounded(b)

    sizes = {"m": 20, "n": 24, "k": 300}
    found = sentence("gemm", dict(sizes), in_tf32, values="cancelling", language=Language.CUDA)
    assert str(found).endswith("of their sum: they are rounded to TF32 or float16, or their sum is")


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (lambda x: silu(-x), "the result is that of `input` with the opposite sign"),
        (lambda x: silu(silu(x)), "the formula is applied twice to `input`"),
        (lambda x: silu(2 * x), "the result is that of `input` times 2"),
        (
            lambda x: silu(x.roll(1)),
            "the result is that of `input` with the element before each one",
        ),
        (lambda x: silu(1.3 * x), None),
        (lambda x: silu(x.roll(3)), None),
    ],
)
def test_an_elementwise_function(kernel: Callable[..., Values], said: str | None) -> None:
    assert sentence("silu", {"n": 333}, kernel) == said


def silu(x: Values) -> Values:
    return x * torch.sigmoid(x)


def test_two_sizes_that_are_exchanged() -> None:
    sizes: dict[str, int | float] = {"rows": 12, "cols": 20}
    found = sentence("transpose", sizes, lambda x: x.reshape(20, 12).t().reshape(20, 12))
    assert found == "the result is that with `rows` and `cols` exchanged"


def test_an_oracle_that_refuses_other_inputs_explains_nothing() -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    case = Case(name="", sizes={"n": 40}, values="random", visibility=Visibility.VISIBLE, seed=1)
    oracle = Oracle(assignment)
    data = oracle.data(case, Language.CUDA)

    def refuses(inputs: dict[str, Values]) -> dict[str, Values]:
        if not torch.equal(inputs["input"], data.inputs["input"]):
            raise ValueError("no such input")
        return {"output": data.expected["output"]}

    tolerance = assignment.tolerance(case, Language.CUDA, "output")
    actual = silu(2 * data.inputs["input"].double()).float()
    comparison = compare("output", actual, data.expected["output"], tolerance)
    known = explain(oracle, assignment.signature, case, data, comparison, tolerance)
    assert known == "the result is that of `input` times 2"
    strict = oracle.with_expected(refuses)
    same = strict.data(case, Language.CUDA)
    assert explain(strict, assignment.signature, case, same, comparison, tolerance) is None
