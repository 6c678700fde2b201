"""The sentence about the pattern of an error."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import compare, poison_bytes
from grader.judge.patterns import error_pattern
from grader.judge.patterns.error_pattern import Detectors
from grader.judge.patterns.pattern_input import (
    PatternInput,
    count_unwritten_bytes,
    may_be_unwritten,
)

N = 1000
TOLERANCE = Tolerance(atol=1e-6, rtol=1e-6)
Values = torch.Tensor


def expected(*shape: int) -> Values:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*shape, generator=generator, dtype=torch.float64) + 3.0


def pattern(
    actual: Values,
    wanted: Values,
    *,
    unwritten: Values | None = None,
    source: Values | None = None,
) -> str | None:
    given = actual.float() if wanted.dtype.is_floating_point else actual.int()
    comparison = compare("y", given, wanted, TOLERANCE)
    return Detectors().describe(
        PatternInput(
            comparison=comparison,
            inputs={} if source is None else {"x": source.float()},
            unwritten_bytes=torch.zeros(comparison.wrong.shape) if unwritten is None else unwritten,
            tolerance=TOLERANCE,
        )
    )


def changed(where: slice | int) -> Callable[[Values], Values]:
    def change(values: Values) -> Values:
        values = values.clone()
        values[where] += 1.0 + torch.arange(values[where].numel()).view(values[where].shape) % 7
        return values

    return change


def odd_blocks(values: Values) -> Values:
    odd = torch.arange(N) // 64 % 2 == 1
    return torch.where(odd, values + 1.0 + torch.arange(N) % 7, values)


LINES: list[tuple[Callable[[Values], Values], str | None]] = [
    (lambda y: torch.zeros(N), "every element is 0"),
    (lambda y: torch.full((N,), 2.5), "every element is 2.5"),
    (lambda y: torch.full((N,), math.nan), "every element is not a number"),
    (lambda y: -y, "every element has the wrong sign"),
    (lambda y: 2 * y, "every element is 2 times the expected value"),
    (lambda y: 1.0003 * y, "every element is 1.0003 times the expected value"),
    (lambda y: torch.cat([1.0003 * y[:9], y[9:]]), "only the first 9 elements"),
    (lambda y: torch.roll(y, 1), "every value is one element too far forward (off by one)"),
    (lambda y: torch.roll(y, -1), "every value is one element too far back (off by one)"),
    (changed(slice(N - 24, N)), "only the last 24 elements"),
    (changed(N - 1), "only the last element"),
    (changed(0), "only the first element"),
    (changed(slice(0, 5)), "only the first 5 elements"),
    (changed(7), "only element 7"),
    (changed(slice(7, 10)), "only elements 7 to 9"),
    (
        odd_blocks,
        "every second block of 64 elements, starting with the second, is wrong",
    ),
    (changed(slice(1, N, 2)), "every second element is wrong"),
    (lambda y: y + torch.arange(N) % 7 + 1, None),
]


@pytest.mark.parametrize(("change", "sentence"), LINES)
def test_a_line_of_elements(change: Callable[[Values], Values], sentence: str | None) -> None:
    wanted = expected(N)
    assert pattern(change(wanted), wanted) == sentence


TABLES: list[tuple[Callable[[Values], Values], str | None]] = [
    (changed(19), "only the last row"),
    (changed(slice(17, 20)), "only the last 3 rows"),
    (changed(4), "only row 4"),
    (lambda y: changed(11)(y.t()).t(), "only the last column"),
    (lambda y: changed(3)(y.t()).t(), "only column 3"),
    (lambda y: y.t().contiguous().view(20, 12), "the result is transposed: rows and columns are"),
]


@pytest.mark.parametrize(("change", "sentence"), TABLES)
def test_a_table(change: Callable[[Values], Values], sentence: str) -> None:
    wanted = expected(20, 12)
    assert str(pattern(change(wanted).contiguous(), wanted)).startswith(sentence)


def test_a_regular_place_in_each_group() -> None:
    wanted = expected(N)
    groups = torch.arange(N) % 32
    assert pattern(wanted + (groups > 27), wanted) == "only the last 4 of every 32 elements"
    assert pattern(wanted + (groups < 4), wanted) == "only the first 4 of every 32 elements"
    table = expected(64, 12)
    rows = (torch.arange(64) % 32 > 23)[:, None]
    assert pattern(table + rows, table) == "only the last 8 of every 32 rows"


def test_only_diagonals_are_written() -> None:
    wanted = expected(40, 36)
    row, column = torch.arange(40)[:, None], torch.arange(36)[None, :]
    left_out = (row - column) % 16 != 0
    actual = torch.where(left_out, -1.5, wanted)
    found = pattern(actual, wanted, unwritten=4 * left_out.int())
    assert str(found).startswith("only the diagonal of each 16×16 tile is written")


def test_the_input_as_it_is() -> None:
    source, wanted = expected(N), expected(N) * expected(N)
    assert pattern(source, wanted, source=source) == "the wrong elements equal the input `x`"


def test_nothing_was_written() -> None:
    wanted, poison = expected(N), torch.full((N,), -1.5)
    assert pattern(poison, wanted, unwritten=torch.full((N,), 4)) == "nothing was ever written"


def test_the_end_was_not_written() -> None:
    wanted, unwritten = expected(N), torch.arange(N) >= 980
    marked = unwritten.int()
    actual = torch.where(unwritten, torch.full((N,), -1.5).double(), wanted)
    assert (
        pattern(actual, wanted, unwritten=4 * marked) == "only the last 20 elements: never written"
    )


def test_some_of_the_wrong_ones_were_not_written() -> None:
    wanted, unwritten = expected(N), torch.arange(N) >= 980
    marked = unwritten.int()
    actual = changed(slice(0, 990))(wanted)
    actual[980:] = -1.5
    assert (
        pattern(actual, wanted, unwritten=4 * marked)
        == "only the last 20 elements: never written; others are wrong"
    )


def test_not_a_number_at_the_end() -> None:
    wanted = expected(N)
    actual = wanted.clone()
    actual[-3:] = math.nan
    assert pattern(actual, wanted) == "only the last 3 elements: not a number"


def test_a_single_element() -> None:
    assert pattern(torch.tensor([2.0]), torch.tensor([1.0]).double()) is None


def test_a_counter_that_overflows_into_its_neighbour() -> None:
    wanted = torch.tensor([3, 558, 583, 5])
    said = "element 1 is 512 too small and the next one 2 too large: a counter of 8 bits overflows"
    found = pattern(wanted + torch.tensor([0, -512, 2, 0]), wanted)
    assert found is not None and found.startswith(said)
    for error in ([0, -256, 0, 0], [0, -256, 2, 0], [0, -256, 1, 1], [1, 1, 1, 0]):
        found = pattern(wanted + torch.tensor(error), wanted)
        assert found is None or "counter" not in found


def test_bytes_that_kept_both_poisons_are_counted() -> None:
    first = torch.tensor([0xAAAA_AA01, 0xAAAA_AAAA, 0x0102_0304], dtype=torch.uint32)
    second = torch.tensor([0xBBBB_BB01, 0xBBBB_BBBB, 0x0102_03BB], dtype=torch.uint32)
    assert count_unwritten_bytes(first, second, (0xAA, 0xBB)).tolist() == [3, 4, 0]


def test_one_whole_element_or_half_of_them_in_part_may_be_unwritten() -> None:
    values = torch.tensor([0x0102_03AA, 0x0102_03AA, 0x0102_0304, 0xAAAA_AAAA], dtype=torch.uint32)
    for wrong, expected in (([0, 1, 2], True), ([0, 2], False), ([2, 3], True), ([2], False)):
        mask = torch.zeros(4, dtype=torch.bool)
        mask[wrong] = True
        assert may_be_unwritten(values, 0xAA, mask) is expected


def test_elements_of_which_a_part_was_written_are_reported() -> None:
    wanted = expected(N)
    actual = torch.full((N,), math.nan)
    torn = pattern(actual, wanted, unwritten=torch.full((N,), 3))
    assert torn == "each element was written in part: 1 of its 4 bytes"
    one = torch.zeros(N)
    one[3] = 3
    assert pattern(actual, wanted, unwritten=one) == "every element is not a number"


def test_tiles_that_are_not_turned_within_themselves_are_reported() -> None:
    wanted = expected(70, 40)  # two whole tiles of 32 and a remainder
    actual = wanted.clone()
    for top in (0, 32):
        actual[top : top + 32, :32] = wanted[top : top + 32, :32].t()
    actual[64:] = 0.0
    assert pattern(actual, wanted) == (
        "the tile is not turned: within each 32×32 tile, rows and columns are swapped"
    )
    actual[0, 1] += 1.0
    assert pattern(actual, wanted) != (
        "the tile is not turned: within each 32×32 tile, rows and columns are swapped"
    )


# ---- what was said falsely once ----


def test_no_factor_is_named_beside_what_is_not_a_number() -> None:
    wanted = expected(N)
    actual = 1.015 * wanted
    actual[5] = math.nan
    assert "times the expected value" not in str(pattern(actual, wanted))


def test_a_factor_is_no_root_of_a_negative_scalar() -> None:
    wanted = expected(N)
    given = PatternInput(
        comparison=compare("y", (4 * wanted).float(), wanted, TOLERANCE),
        inputs={},
        unwritten_bytes=torch.zeros(N),
        tolerance=TOLERANCE,
        sizes={"alpha": -16.0, "k": 16},
    )
    assert Detectors().describe(given) == (
        "every element is 4 times the expected value: it is multiplied by the root of `k`"
    )


def test_a_sum_onto_what_the_output_held_is_written() -> None:
    wanted = expected(N)
    nan, poison = torch.full((N,), math.nan), torch.tensor(4.2e-8)
    comparison = compare("y", nan, wanted, TOLERANCE)
    given = PatternInput(
        comparison=comparison,
        inputs={},
        unwritten_bytes=torch.zeros(N),
        tolerance=TOLERANCE,
        again=(wanted + poison).float(),
        poison=poison,
    )
    assert (
        Detectors().describe(given) == "the result is added to what the output held before the call"
    )


def test_the_poison_is_not_lost_in_a_sum() -> None:
    wanted = expected(N)
    byte = poison_bytes(wanted, torch.float32, TOLERANCE)[1]
    poison = torch.full((4,), byte, dtype=torch.uint8).view(torch.float32)
    assert bool((poison + wanted.float() != poison).all())


def test_large_floats_are_no_whole_numbers() -> None:
    wanted = expected(N)
    assert "whole number" not in str(pattern(2.0**24 * wanted.round(), wanted))
    assert pattern(torch.arange(N) % 50 + 1.0, wanted) == "every wrong element is a whole number"


def test_few_wrong_elements_are_no_rounding_errors() -> None:
    wanted = expected(N)
    actual = wanted.clone()
    actual[:9] *= 1.0003
    assert pattern(actual, wanted) == "only the first 9 elements"


def test_errors_that_pass_the_tolerance_gradually_are_of_precision() -> None:
    wanted = expected(N)
    off = torch.linspace(-1.2, 1.2, N, dtype=torch.float64).roll(N // 3)
    bound = TOLERANCE.atol + TOLERANCE.rtol * wanted.abs()
    said = str(pattern(wanted + off * bound, wanted))
    assert said.startswith("wrong elements are off by up to 1.2")
    assert said.endswith("times what is allowed, right ones by up to 1.00 times")
    assert "what is allowed" not in str(pattern(wanted + 9 * off * bound, wanted))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_a_narrow_type_is_named(kind: torch.dtype) -> None:
    wanted = expected(N)
    assert pattern(wanted.to(kind).double(), wanted) == (
        f"every wrong element is slightly off, and a {str(kind).removeprefix('torch.')} number"
    )


def test_a_root_of_another_mean() -> None:
    source = expected(3, 1000)
    scale = source.square().mean(dim=1, keepdim=True).rsqrt()
    wanted = source * scale

    def sentence(factor: Values | float) -> str:
        return str(pattern(wanted * factor, wanted, source=source))

    assert sentence((256 / 1000) ** 0.5) == (
        "the sum is divided by 256, not by the length of the row (1000)"
    )
    first = source[:, :256].square().sum(dim=1, keepdim=True)
    assert sentence((source.square().sum(dim=1, keepdim=True) / first).sqrt()) == (
        "the sum has only the first 256 of 1000 elements of the row"
    )
    assert sentence(1 / 256**0.5) == "each term is in the sum 256 times"
    assert sentence(torch.tensor([[2.0], [3.0], [4.0]]).double()) == (
        "each row is off by a factor of its own, 2 to 4"
    )


def test_places_of_right_values() -> None:
    wanted = expected(20, 12)
    assert pattern(wanted.flip(0), wanted) == "rows come in reverse order"
    assert pattern(expected(N).flip(0), expected(N)) == "elements come in reverse order"
    shuffled = wanted.flatten()[torch.randperm(240)].view(20, 12)
    assert pattern(shuffled, wanted) == "the values are right, but in the wrong places"
    column = wanted[:, 1].contiguous()
    assert pattern(column, wanted[:, 0].contiguous(), source=wanted) == (
        "output element i is `x`[12 i + 1], counted from its first element"
    )


@pytest.mark.parametrize(
    ("actual", "wanted", "sentence"),
    [
        ([-0.0, 1.0], [0.0, 1.0], "zeros have the wrong sign: -0 where +0 is expected"),
        ([0.0, 1.0], [-0.0, 1.0], "zeros have the wrong sign: +0 where -0 is expected"),
        ([0.0, -0.0], [-0.0, 0.0], "+0 where -0 is expected and -0 where +0 is"),
        ([0.0, 2.0], [-0.0, 1.0], None),
        ([math.nan, 1.0], [0.0, 1.0], None),
    ],
)
def test_signed_zeros(actual: list[float], wanted: list[float], sentence: str | None) -> None:
    exact = Tolerance(exact=True)
    comparison = compare("y", torch.tensor(actual), torch.tensor(wanted).double(), exact)
    found = Detectors().describe(
        PatternInput(
            comparison=comparison,
            inputs={},
            unwritten_bytes=torch.zeros(comparison.wrong.shape),
            tolerance=exact,
        )
    )
    assert (sentence in (found or "")) if sentence else "zeros have" not in (found or "")


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (slice(40, None), "elements from 40 on are as before the call; those up to 39 are right"),
        (slice(0, 24), "elements up to 23 are as before the call; those from 24 on are right"),
        (slice(None), "the wrong elements are as before the call"),
        (slice(8, 24), "the wrong elements are as before the call"),
    ],
)
def test_elements_that_keep_what_they_held(kept: slice, said: str) -> None:
    before = expected(64).float()
    wanted = before.double() + 1.0 + torch.arange(64) % 7
    actual = wanted.clone()
    actual[kept] = before[kept].double()
    comparison = compare("y", actual.float(), wanted, TOLERANCE)
    assert said == Detectors().describe(
        PatternInput(
            comparison=comparison,
            inputs={"y": before},
            unwritten_bytes=torch.zeros(64),
            tolerance=TOLERANCE,
        )
    )


_NUMBERS = st.sampled_from((1.5, 2.0, -0.25, 1e-3, 0.0, -0.0, 3e38, math.inf, -math.inf, math.nan))
_CHANGES: tuple[Callable[[Values], Values], ...] = (
    lambda y: y * 1.001,
    lambda y: -y,
    lambda y: y + 0.5,
    lambda y: y.flip(0),
    lambda y: y.roll(1, 0),
    lambda y: y.trunc(),
    lambda y: y.nan_to_num(10000.0),
    lambda y: torch.where(y.isfinite(), y, math.nan),
)


@given(
    shape=st.sampled_from(((12,), (6, 4), (8, 8))),
    dtype=st.sampled_from((torch.float32, torch.float16, torch.float64)),
    change=st.sampled_from(_CHANGES),
    formula=st.sampled_from((torch.reciprocal, torch.exp, lambda x: x.softmax(-1))),
    exact=st.booleans(),
    data=st.data(),
)
def test_no_detector_fails_for_infinities_and_nan(
    shape: tuple[int, ...],
    dtype: torch.dtype,
    change: Callable[[Values], Values],
    formula: Callable[[Values], Values],
    exact: bool,
    data: st.DataObject,
) -> None:
    count = math.prod(shape)
    row = st.lists(_NUMBERS, min_size=count, max_size=count)
    x = torch.tensor(data.draw(row), dtype=torch.float64).view(shape).to(dtype)
    wanted = formula(x.double())
    tolerance = Tolerance(atol=0.0, rtol=0.0, exact=True) if exact else TOLERANCE
    actual = change(wanted).to(dtype)
    comparison = compare("y", actual, wanted, tolerance)
    if not comparison.mismatched:
        return
    seen = PatternInput(
        comparison=comparison,
        inputs={"x": x, "w": x.reshape(-1)[: shape[-1]].clone()},
        unwritten_bytes=torch.zeros(comparison.wrong.shape),
        tolerance=tolerance,
        again=actual,
        poison=torch.ones((), dtype=dtype),
        sizes={"n": count, "epsilon": 1e-5},
    )
    for detector in error_pattern._DETECTORS:
        found = detector(seen)
        assert found is None or "nan" not in found


def test_rounding_beside_an_infinity_that_is_expected() -> None:
    wanted = expected(64)
    wanted[::7] = math.inf
    assert pattern((wanted + 1e-3).nan_to_num(posinf=1e4), wanted) is None
