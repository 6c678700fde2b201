"""The benchmarks: their memory, and the oracles' cheaper ways for timed calls."""

from __future__ import annotations

import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.model import Assignment, Benchmark
from grader.assignment.reader import read_assignment
from grader.checks.performance.benchmarks import sets_for
from grader.judge.compare import accepts
from grader.judge.oracle import Oracle
from grader.vocabulary import Language, Visibility

ASSIGNMENTS = [
    read_assignment(folder.parent)
    for folder in sorted(REPOSITORY.glob("assignments/*/assignment.toml"))
]
TIMED = [
    pytest.param(
        assignment, language, benchmark, id=f"{assignment.name}-{language}-{benchmark.name}"
    )
    for assignment in ASSIGNMENTS
    for benchmark in assignment.benchmarks
    for language in sorted({word for kernel in assignment.kernels for word in kernel.files})
    if language in benchmark.languages
]
T4_FREE = 14 << 30
COLAB_FREE = 10 << 30  # of the host's memory
SMALL = {
    "n": 33,
    "m": 40,
    "k": 130,
    "rows": 37,
    "cols": 41,
    "epsilon": 1e-5,
    "heads": 2,
    "d": 16,
    "scale": 0.25,
}


@pytest.mark.parametrize(("assignment", "language", "benchmark"), TIMED)
def test_a_t4_holds_several_sets_and_the_judges_own_float64(
    assignment: Assignment, language: Language, benchmark: Benchmark
) -> None:
    signature = assignment.signature
    elements = bytes_ = 0
    for argument in signature.arrays:
        count = 1
        for extent in signature.shape(argument, benchmark.sizes):
            count *= extent
        elements += count
        bytes_ += count * signature.element_type(argument, language).size
    sets = sets_for(assignment, benchmark, language, T4_FREE, COLAB_FREE)
    assert sets >= 4
    # More than any GPU's cache, so that nothing stays from one call to the next.
    assert sets * bytes_ > 256 << 20
    # Inputs and results in float64 and as many again on the way to a verdict.
    assert sets * bytes_ + 3 * 8 * elements < T4_FREE


@pytest.mark.parametrize(
    "assignment", [one for one in ASSIGNMENTS if one.benchmarks], ids=lambda one: one.name
)
def test_refreshed_inputs_are_new_and_right_in_type(assignment: Assignment) -> None:
    oracle = Oracle(assignment)
    assert oracle.refreshes
    language = next(iter(assignment.kernels[-1].files))
    sizes = {name: SMALL[name] for name in assignment.benchmarks[0].sizes}
    case = Case(
        name="small", sizes=sizes, values="random", visibility=Visibility.VISIBLE, seed=1
    )  # fmt: skip
    generator = torch.Generator().manual_seed(1)
    inputs = oracle.inputs(case, language, generator)
    seen = []
    for _ in range(3):
        expected = oracle.expected(case, oracle.given(case, inputs))
        seen.append(next(iter(expected.values())).clone())
        assert all(bool(torch.isfinite(values).all()) for values in inputs.values())
        oracle.refresh(case, inputs, generator)
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert not bool((seen[one] == seen[other]).any())


# ---- GEMM's cheap verification ----


@pytest.fixture(scope="module")
def gemm() -> Assignment:
    return next(assignment for assignment in ASSIGNMENTS if assignment.name == "gemm")


def product(
    gemm: Assignment, language: Language, seed: int
) -> tuple[Oracle, Case, dict[str, torch.Tensor], torch.Tensor]:
    oracle = Oracle(gemm)
    sizes = {"m": 300, "n": 280, "k": 260}
    case = Case(
        name="middle", sizes=sizes, values="random", visibility=Visibility.VISIBLE, seed=seed
    )
    inputs = oracle.inputs(case, language, torch.Generator().manual_seed(seed))
    exact = inputs["a"].double() @ inputs["b"].double()
    return oracle, case, inputs, exact


def test_gemm_verifies_by_the_tolerance_of_its_spec(gemm: Assignment) -> None:
    oracle = Oracle(gemm)
    case = gemm.benchmarks[0].case(0)
    for language, kind in ((Language.CUDA, torch.float32), (Language.TRITON, torch.float16)):
        tolerance = gemm.tolerance(case, language, "c")
        assert oracle._module.ALLOWED[kind] == (tolerance.atol, tolerance.rtol)


@pytest.mark.parametrize("language", [Language.CUDA, Language.TRITON])
def test_gemm_accepts_what_the_tolerance_accepts(gemm: Assignment, language: Language) -> None:
    for seed in range(10):
        oracle, case, inputs, exact = product(gemm, language, seed)
        kind = inputs["a"].dtype
        tolerance = gemm.tolerance(case, language, "c")
        noise = torch.empty_like(exact).uniform_(-0.9, 0.9)
        worst = (exact + noise * (tolerance.atol + tolerance.rtol * exact.abs())).to(kind)
        if language is Language.TRITON:
            worst = exact.to(kind)  # rounding takes half of what is allowed
        assert bool(accepts(worst, exact, tolerance).all())
        assert oracle.verify(case, inputs, {"c": worst}, torch.Generator().manual_seed(seed))


def corrupted(kind: str, exact: torch.Tensor, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    c = exact.clone()
    a, b = inputs["a"].double(), inputs["b"].double()
    if kind == "one element":
        c[171, 133] += 1
    elif kind == "one row left out":
        c[255] = 0
    elif kind == "one column twice":
        c[:, 7] = c[:, 8]
    elif kind == "last term left out":
        c = a[:, :-1] @ b[:-1]
    elif kind == "not a number":
        c[299, 279] = float("nan")
    elif kind == "infinite":
        c[299, 279] = float("inf")
    elif kind == "transposed factor":
        c = (b.t()[:280] @ a.t()).t()[:, torch.arange(279, -1, -1)]
    else:
        assert kind == "nothing written"
        c[:] = float("nan")
    return c


@pytest.mark.parametrize("language", [Language.CUDA, Language.TRITON])
@pytest.mark.parametrize(
    "kind",
    [
        "one element", "one row left out", "one column twice", "last term left out",
        "not a number", "infinite", "transposed factor", "nothing written",
    ],
)  # fmt: skip
def test_gemm_refuses_what_is_wrong(gemm: Assignment, language: Language, kind: str) -> None:
    for seed in range(10):
        oracle, case, inputs, exact = product(gemm, language, seed)
        wrong = corrupted(kind, exact, inputs).to(inputs["a"].dtype)
        assert not oracle.verify(case, inputs, {"c": wrong}, torch.Generator().manual_seed(seed))


def test_gemm_allows_a_row_what_its_elements_are_allowed(gemm: Assignment) -> None:
    allowed_in_rows = Oracle(gemm)._module.allowed_in_rows
    c = torch.randn(5, 700, dtype=torch.float64)
    for atol, rtol in ((1e-6, 2e-6), (4e-6, 1e-3), (1.0, 0.5)):
        plainly = (atol + rtol * c.abs()).square().sum(dim=1).sqrt()
        torch.testing.assert_close(allowed_in_rows(c, atol, rtol), plainly)
