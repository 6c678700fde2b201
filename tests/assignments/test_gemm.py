"""GEMM: its inputs find the classic mistakes, and its tolerance lies where its spec says."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.assignment.tolerance import Tolerance
from grader.judge.compare import accepts, compare
from grader.judge.oracle import CaseData, Oracle
from grader.vocabulary import Device, Language, Visibility

GEMM = REPOSITORY / "assignments" / "gemm"
WHOLE = ("binary", "cancelling", "permutation", "identity")
LANGUAGES = (Language.CUDA, Language.TRITON)
# What float16 has of whole numbers without a gap.
FLOAT16_WHOLE = 2048

Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    return read_assignment(GEMM)


@pytest.fixture(scope="module")
def oracle(assignment: Assignment) -> Oracle:
    return Oracle(assignment)


def make(
    oracle: Oracle,
    language: Language,
    values: str = "random",
    *,
    m: int = 40,
    n: int = 41,
    k: int = 130,
    seed: int = 1,
) -> CaseData:
    sizes = {"m": m, "n": n, "k": k}
    case = Case(name="case", sizes=sizes, values=values, visibility=Visibility.VISIBLE, seed=seed)
    return oracle.data(case, language)


def factors(data: CaseData) -> tuple[torch.Tensor, torch.Tensor]:
    return data.inputs["a"], data.inputs["b"]


def share(actual: torch.Tensor, data: CaseData, tolerance: Tolerance) -> float:
    """Return the largest error as a part of what is allowed."""
    compared = compare("c", actual, data.expected["c"], tolerance)
    errors = (actual.double() - data.expected["c"]).abs() / compared.allowed
    return float(errors.max())


# ---- ways to multiply ----


def one_by_one(a: torch.Tensor, b: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """Add the products one after the other, rounding every sum to `kind`."""
    total = torch.zeros(a.shape[0], b.shape[1], dtype=kind)
    for p in range(a.shape[1]):
        total = (total + a[:, p : p + 1].to(kind) * b[p : p + 1].to(kind)).to(kind)
    return total


def tile_by_tile(a: torch.Tensor, b: torch.Tensor, depth: int) -> torch.Tensor:
    """Add in float32 within a tile, and the tiles in float16."""
    total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float16)
    for first in range(0, a.shape[1], depth):
        a_tile, b_tile = a[:, first : first + depth], b[first : first + depth]
        total += (a_tile.float() @ b_tile.float()).half()
    return total


def tf32(x: torch.Tensor) -> torch.Tensor:
    """Round float32 to the 11 significant bits of TF32."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


# ---- the oracle ----


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("values", ["random", *WHOLE])
def test_the_oracle_agrees_with_numpy(oracle: Oracle, language: Language, values: str) -> None:
    data = make(oracle, language, values)
    a, b = (factor.numpy().astype(np.float64) for factor in factors(data))
    independent = np.einsum("ip,pj->ij", a, b)
    np.testing.assert_allclose(data.expected["c"].numpy(), independent, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("values", ["random", *WHOLE])
def test_seed_determines_the_data(oracle: Oracle, values: str) -> None:
    one, same, other = (make(oracle, Language.TRITON, values, seed=seed) for seed in (1, 1, 2))
    assert all(one.inputs[name].equal(same.inputs[name]) for name in "ab")
    assert not one.expected["c"].equal(other.expected["c"])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("m", "n", "k"), [(17, 19, 300), (96, 132, 300), (33, 31, 97), (5, 3, 1)])
@pytest.mark.parametrize("values", WHOLE)
def test_whole_numbers_are_exact_in_any_order(
    oracle: Oracle, language: Language, values: str, m: int, n: int, k: int
) -> None:
    data = make(oracle, language, values, m=m, n=n, k=k)
    a, b = factors(data)
    c = data.expected["c"]
    assert c.equal(c.round())
    # No sum of any of the products leaves what float32 has of whole numbers without a gap.
    assert float((a.double().abs() @ b.double().abs()).max()) < 2**24
    if language is Language.TRITON:
        assert float(c.abs().max()) <= FLOAT16_WHOLE
    exact = Tolerance(exact=True)
    for order in (torch.arange(k), torch.arange(k).flip(0), torch.randperm(k)):
        total = one_by_one(a[:, order], b[order], torch.float32)
        assert accepts(total.to(a.dtype), c, exact).all()


def test_partial_sums_pass_what_float16_has(oracle: Oracle) -> None:
    a, b = factors(make(oracle, Language.TRITON, "cancelling", k=300))
    half = a[:, :150].double() @ b[:150].double()
    assert float(half.min()) > FLOAT16_WHOLE
    assert float(half.max()) < 65504
    assert bool((half % 2 == 1).any())


# ---- the tolerance ----


@pytest.mark.parametrize("k", [1, 17, 130, 1000, 4096])
def test_honest_errors_are_within_half_of_what_is_allowed(
    oracle: Oracle, assignment: Assignment, k: int
) -> None:
    for seed in range(2):
        single = make(oracle, Language.CUDA, k=k, seed=seed)
        a, b = factors(single)
        allowed = assignment.tolerances[Language.CUDA]
        assert share(one_by_one(a, b, torch.float32), single, allowed) < 0.5
        assert share(a @ b, single, allowed) < 0.5
        half = make(oracle, Language.TRITON, k=k, seed=seed)
        a, b = factors(half)
        allowed = assignment.tolerances[Language.TRITON]
        rounded_once = one_by_one(a, b, torch.float32).half()
        assert share(rounded_once, half, allowed) < 0.5
        assert share(a @ b, half, allowed) < 0.5


@pytest.mark.parametrize("k", [17, 130, 1000, 4096])
def test_tf32_is_rejected(oracle: Oracle, assignment: Assignment, k: int) -> None:
    allowed = assignment.tolerances[Language.CUDA]
    for seed in range(2):
        data = make(oracle, Language.CUDA, k=k, seed=seed)
        a, b = factors(data)
        assert share(tf32(a) @ tf32(b), data, allowed) > 5


@pytest.mark.parametrize("k", [130, 1000])
def test_sums_in_float16_are_rejected(oracle: Oracle, assignment: Assignment, k: int) -> None:
    allowed = assignment.tolerances[Language.TRITON]
    for seed in range(4):
        data = make(oracle, Language.TRITON, k=k, seed=seed)
        assert share(one_by_one(*factors(data), torch.float16), data, allowed) > 3


@pytest.mark.parametrize("depth", [16, 32, 64, 128])
def test_cancelling_finds_sums_of_tiles_in_float16(oracle: Oracle, depth: int) -> None:
    for seed in range(4):
        data = make(oracle, Language.TRITON, "cancelling", m=17, n=19, k=300, seed=seed)
        total = tile_by_tile(*factors(data), depth)
        assert not accepts(total, data.expected["c"], Tolerance(exact=True)).all()


def test_cancelling_finds_tf32(oracle: Oracle) -> None:
    data = make(oracle, Language.CUDA, "cancelling", m=17, n=19, k=300)
    a, b = factors(data)
    total = tf32(a) @ tf32(b)
    assert not accepts(total, data.expected["c"], Tolerance(exact=True)).all()


# ---- timed calls: sums as long as a benchmark's ----


def tf32_at_the_end(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Take TF32 for the last tenth of the terms."""
    last = a.shape[1] // 10
    return a[:, :-last] @ b[:-last] + tf32(a[:, -last:].contiguous()) @ tf32(b[-last:])


WAYS: dict[str, tuple[Product, str]] = {
    "one after the other": (lambda a, b: one_by_one(a, b, torch.float32), "right"),
    "torch": (lambda a, b: a @ b, "right"),
    "one term left out": (lambda a, b: a[:, 1:] @ b[1:], "wrong"),
    "TF32": (lambda a, b: tf32(a) @ tf32(b), "wrong in float32"),
    "TF32 at the end": (tf32_at_the_end, "wrong in float32"),
    "float16 sums": (lambda a, b: one_by_one(a, b, torch.float16).float(), "wrong"),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", WAYS)
def test_timed_outputs_are_judged_by_what_long_sums_err(
    assignment: Assignment, oracle: Oracle, language: Language, name: str
) -> None:
    way, judgement = WAYS[name]
    generator = torch.Generator().manual_seed(0)
    k = int(max(benchmark.sizes["k"] for benchmark in assignment.benchmarks))
    sizes = {"m": 64, "n": 64, "k": k}
    case = Case(name="long", sizes=sizes, values="random", visibility=Visibility.HIDDEN, seed=0)
    inputs = oracle.inputs(case, language, generator)
    oracle.refresh(case, inputs, generator)
    c = way(inputs["a"].float(), inputs["b"].float()).to(inputs["a"].dtype)
    # float16 inputs have no more bits than TF32 keeps.
    right = judgement == "right" or (judgement != "wrong" and language is Language.TRITON)
    assert oracle.verify(case, inputs, {"c": c}, generator) is right


# ---- the classic mistakes, on the cases that everybody runs ----


def no_tail(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    whole = a.shape[1] // 16 * 16
    return a[:, :whole] @ b[:whole]


def column_major_c(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a @ b).t().reshape(a.shape[0], b.shape[1])


def column_major_b(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b.reshape(b.shape[1], b.shape[0]).t()


def factors_swapped(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return b @ a if a.shape == b.shape == (a.shape[0],) * 2 else torch.zeros_like(a @ b)


def one_term_twice(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b + a[:, -1:] @ b[-1:]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "mistaken", [no_tail, column_major_c, column_major_b, factors_swapped, one_term_twice]
)
def test_the_visible_cases_on_a_processor_find(
    oracle: Oracle, assignment: Assignment, language: Language, mistaken: Product
) -> None:
    found = 0
    for case in assignment.draw_cases(Device.CPU, language, public_seed=0, secret_seed=1):
        data = oracle.data(case, language)
        a, b = (factor.float() for factor in factors(data))
        if case.visibility is Visibility.VISIBLE and a.numel() * b.shape[1] < 4_000_000:
            actual = mistaken(a, b).to(data.inputs["a"].dtype)
            tolerance = assignment.tolerance(case, language, "c")
            found += not accepts(actual, data.expected["c"], tolerance).all()
    # Not by luck in one of them.
    assert found >= 5


def test_factors_differ_even_where_they_are_square(oracle: Oracle) -> None:
    for values in ("random", *WHOLE):
        a, b = factors(make(oracle, Language.TRITON, values, m=16, n=16, k=16))
        assert not torch.equal(a.float() @ b.float(), b.float() @ a.float()) or values == "identity"


def test_every_kernel_has_its_two_languages_and_torch_is_python_only(
    assignment: Assignment,
) -> None:
    for kernel, language in itertools.product(assignment.kernels, LANGUAGES):
        allowed = kernel.rules.torch_allowed
        assert (language in kernel.files) == (language is Language.TRITON or not allowed)
    assert assignment.max_score == 100
