"""Acceptance: right values are accepted, and no others."""

from __future__ import annotations

import math

import pytest
import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import accepts, accepts_all, compare, poison_bytes

NAN, INF = math.nan, math.inf
CLOSE = Tolerance(atol=0.1, rtol=0.01)
EXACT = Tolerance(exact=True)


@pytest.mark.parametrize(
    ("actual", "expected", "tolerance", "accepted"),
    [
        (1.0, 1.0, CLOSE, True),
        (1.1, 1.0, CLOSE, True),  # 0.1 + 0.01 allowed
        (1.12, 1.0, CLOSE, False),
        (0.88, 1.0, CLOSE, False),
        (101.09, 100.0, CLOSE, True),
        (101.2, 100.0, CLOSE, False),
        (0.1, 0.0, Tolerance(rtol=1.0), False),
        (NAN, 1.0, CLOSE, False),
        (1.0, NAN, CLOSE, False),
        (NAN, NAN, CLOSE, True),
        (NAN, INF, CLOSE, False),
        (INF, INF, CLOSE, True),
        (-INF, INF, CLOSE, False),
        (1e38, INF, CLOSE, False),
        (INF, 1e30, CLOSE, False),
        (INF, 1e39, CLOSE, True),  # beyond float32: expected as infinity
        (3e38, 1e39, CLOSE, False),
        (NAN, 1.0, Tolerance(atol=INF), False),
        (-0.0, 0.0, CLOSE, True),
        (-0.0, 0.0, EXACT, False),
        (1.0, 1.0, EXACT, True),
        (1.0 + 2**-23, 1.0, EXACT, False),
        (NAN, 1.0, EXACT, False),
    ],
)
def test_one_element(actual: float, expected: float, tolerance: Tolerance, accepted: bool) -> None:
    got = torch.tensor([actual], dtype=torch.float32)
    wanted = torch.tensor([expected], dtype=torch.float64)
    assert accepts(got, wanted, tolerance).tolist() == [accepted]


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (1000,), (100, 7)])
def test_all_elements_are_compared_if_some_agree(shape: tuple[int, ...]) -> None:
    expected = torch.linspace(1, 2, math.prod(shape), dtype=torch.float64).view(shape)
    tolerance = Tolerance(atol=0.0, rtol=1e-5)
    assert accepts_all(expected.float(), expected, tolerance)
    for place in range(math.prod(shape)):
        actual = expected.float()
        actual.view(-1)[place] = torch.nan
        assert not accepts_all(actual, expected, tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.complex64])
@pytest.mark.parametrize("tolerance", [CLOSE, EXACT])
def test_elements_of_large_outputs_are_compared_like_those_of_small_ones(
    dtype: torch.dtype, tolerance: Tolerance
) -> None:
    shape = (3, 40_000)  # more than are compared at once
    wide = torch.int64 if dtype is torch.int32 else torch.float64
    expected = torch.arange(math.prod(shape)).view(shape).to(wide)
    if dtype is torch.float32:
        expected[1, 7], expected[2, 39_999] = NAN, INF
    expected = expected.to(torch.complex128) if dtype is torch.complex64 else expected
    actual = expected.to(dtype)
    actual[0, 0] += 1000
    actual[2, 5:39_990] += 5000
    found = compare("c", actual, expected, tolerance)
    columns = zip(torch.split(actual, 1000, 1), torch.split(expected, 1000, 1), strict=True)
    few = [accepts(some, wanted, tolerance) for some, wanted in columns]
    assert torch.equal(~found.wrong, torch.cat(few, 1))
    real = (0,) if dtype is torch.complex64 else ()
    first = [(0, 0, *real), *((2, at, *real) for at in range(5, 9))]
    assert [one.index for one in found.mismatches()] == first
    assert found.max_error == (None if dtype is torch.float32 else 5000)


def test_integers_are_exact() -> None:
    actual = torch.tensor([1, 2, -(2**31)], dtype=torch.int32)
    expected = torch.tensor([1, 3, -(2**31)], dtype=torch.int64)
    assert accepts(actual, expected, Tolerance(atol=0.5, rtol=0.9)).tolist() == [True, False, True]


def test_integers_may_be_off_by_a_whole_number() -> None:
    actual = torch.tensor([-8, -7, 5, 2**31 - 1], dtype=torch.int32)
    expected = torch.tensor([-9, -9, 5, -(2**31)])
    found = compare("out", actual, expected, Tolerance(atol=1, rtol=0.5))
    assert found.wrong.tolist() == [False, True, False, True]
    assert found.mismatches()[0].allowed == 1
    assert compare("out", actual, expected, Tolerance(atol=0.9)).mismatched == 3
    largest = torch.tensor([2**63 - 1, -(2**63)])
    assert not accepts(largest, largest.flip(0), Tolerance(atol=1)).any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_compared_in_double(dtype: torch.dtype) -> None:
    expected = torch.tensor([1.0, 1.0, 1e6], dtype=torch.float64)
    actual = torch.tensor([1.0, 1.05, INF if dtype is torch.float16 else 1e6], dtype=dtype)
    assert accepts(actual, expected, Tolerance(rtol=0.01)).tolist() == [True, False, True]


def test_the_first_mismatches_are_reported() -> None:
    expected = torch.zeros(3, 4, dtype=torch.float64)
    actual = torch.zeros(3, 4)
    actual[1, 2], actual[2] = NAN, 7.0
    comparison = compare("c", actual, expected, Tolerance(atol=0.5))
    assert not comparison.accepted
    assert comparison.mismatched == 5
    assert comparison.max_error is None
    first, second = comparison.mismatches()[:2]
    assert (first.output, first.index, first.expected, first.allowed) == ("c", (1, 2), 0.0, 0.5)
    assert math.isnan(first.actual)
    assert (second.index, second.actual) == ((2, 0), 7.0)


def test_the_largest_error() -> None:
    comparison = compare("c", torch.tensor([1.0, 4.0]), torch.tensor([1.5, 1.0]).double(), CLOSE)
    assert comparison.max_error == 3.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8, torch.int32])
def test_no_poison_is_right_anywhere(dtype: torch.dtype) -> None:
    expected = torch.arange(-100, 100).to(torch.float64 if dtype.is_floating_point else torch.int64)
    for byte in poison_bytes(expected[:50], dtype, Tolerance(atol=1e-3)):
        width = torch.empty(0, dtype=dtype).element_size()
        cell = torch.full((width,), byte, dtype=torch.uint8).view(dtype).expand(50)
        assert not accepts(cell, expected[:50], Tolerance(atol=1e-3)).any()


def test_poison_that_would_be_right_is_not_used() -> None:
    minus_one = torch.full((4,), -1, dtype=torch.int64)  # all bits set
    assert 0xFF not in poison_bytes(minus_one, torch.int32, Tolerance())


def test_a_case_that_accepts_everything_has_no_poison() -> None:
    with pytest.raises(ValueError, match="no byte pattern differs"):
        poison_bytes(torch.arange(-128, 128), torch.int8, Tolerance())


@pytest.mark.parametrize(("wrong", "accepted"), [(0, True), (3, True), (4, False)])
def test_a_fraction_of_the_elements_may_be_wrong(wrong: int, accepted: bool) -> None:
    expected = torch.zeros(30, dtype=torch.float64)
    actual = expected.float()
    actual[:wrong] = NAN
    found = compare("c", actual, expected, Tolerance(atol=0.1, max_wrong_fraction=0.1))
    assert (found.accepted, found.mismatched) == (accepted, wrong)
    assert found.within_fraction == (wrong == 3)


def test_the_oracle_decides_where_it_has_an_accept() -> None:
    expected = torch.zeros(3, dtype=torch.float64)
    assert compare("c", torch.ones(3), expected, EXACT, "").accepted
    refused = compare("c", torch.zeros(3), expected, EXACT, "no permutation")
    assert not refused.accepted
    assert refused.complaint == "no permutation"


HELD = ("bool", "uint8", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "complex64")


@pytest.mark.parametrize("word", HELD)
def test_one_changed_byte_is_found_in_types_that_torch_hardly_computes_in(word: str) -> None:
    dtype = getattr(torch, word)
    wide = torch.float64 if "float" in word else torch.int64
    expected = torch.tensor([0, 1, 1, 0]).to(torch.complex128 if word == "complex64" else wide)
    tolerance = CLOSE if "float" in word or word == "complex64" else EXACT
    actual = expected.to(dtype)
    assert compare("y", actual, expected, tolerance).accepted
    actual.view(-1).view(torch.uint8)[-1] ^= 0x41  # of a bool, neither 0 nor 1
    compared = compare("y", actual, expected, tolerance)
    assert compared.mismatched == 1
    assert compared.mismatches()[0].index[0] == 3
    for byte in poison_bytes(expected, dtype, tolerance):
        poison = torch.full((4 * dtype.itemsize,), byte, dtype=torch.uint8).view(dtype)
        assert not bool(accepts(poison, expected, tolerance).any())


def test_a_complex_number_has_the_tolerance_of_its_modulus() -> None:
    expected = torch.tensor([300 + 400j, 0], dtype=torch.complex128)
    actual = torch.tensor([304 + 396j, 0.2j], dtype=torch.complex64)
    compared = compare("y", actual, expected, CLOSE)
    assert compared.wrong.tolist() == [[False, False], [False, True]]
    assert [one.index for one in compared.mismatches()] == [(1, 1)]


def test_an_unsigned_result_is_shown_as_the_type_holds_it() -> None:
    compared = compare("y", torch.tensor([7], dtype=torch.uint32), torch.tensor([-1]), EXACT)
    first = compared.mismatches()[0]
    assert (first.expected, first.actual) == (2**32 - 1, 7)
