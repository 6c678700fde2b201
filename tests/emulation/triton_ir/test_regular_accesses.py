"""Accesses through regular offsets: slices of memory find what lanes find."""

# Kernels have no types of Python's.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from grader.emulation.common.regions import Region, nested, runs
from grader.emulation.triton_ir import affine, tiles
from grader.emulation.triton_ir.affine import Affine, Box
from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.types import Scalar, Tensor
from ir_kernels import Calls, launched, unwritten


@triton.jit
def copy_tiles(
    x, out, rows, columns, row_stride, step, BM: tl.constexpr, BN: tl.constexpr, G: tl.constexpr
):
    """Copy by programs in groups of G rows of tiles, from `step` elements on."""
    tiles_m, tiles_n = tl.cdiv(rows, BM), tl.cdiv(columns, BN)
    pid = tl.program_id(0)
    first = pid // (G * tiles_n) * G
    size = min(tiles_m - first, G)
    m = (first + pid % (G * tiles_n) % size) * BM + tl.arange(0, BM)
    n = (pid % (G * tiles_n) // size) * BN + tl.arange(0, BN)
    mask = (m < rows)[:, None] & (n < columns)[None, :]
    where = m[:, None] * row_stride + n[None, :] + step
    value = tl.load(x + where, mask=mask)
    tl.store(out + where, value, mask=mask)
    again = tl.load(out + where, mask=mask, other=0.0)
    tl.store(out + where, again * 2, mask=mask)


def found(calls: Calls) -> list[tuple[Any, ...]]:
    return [
        (f.kind, f.severity, f.message, f.line, f.program, f.other_program, f.count)
        for f in calls.findings
    ]


@pytest.mark.parametrize(
    ("rows", "columns", "row_stride", "step"),
    [
        (64, 48, 48, 0),
        (61, 45, 45, 0),
        (61, 45, 50, 0),  # rows with a gap
        (61, 45, 44, 0),  # rows that overlap: a race
        (61, 45, 0, 0),  # all rows are one
        (61, 45, 45, 3),  # past the end
        (61, 45, 45, -2),  # before the start
        (1, 45, 45, 0),
    ],
)
def test_the_same_is_found_and_written(
    rows: int, columns: int, row_stride: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.randn(max(row_stride, 1) * rows)
    grid = (triton.cdiv(rows, 8) * triton.cdiv(columns, 16),)
    results = []
    for regular in (True, False):
        out = unwritten(torch.empty(len(x)))
        with monkeypatch.context() as patch:
            if not regular:
                patch.setattr(tiles, "plan", lambda *_, **__: None)
            calls = launched(
                copy_tiles, grid, x, out, rows, columns, row_stride, step, BM=8, BN=16, G=3
            )
        results.append((found(calls), out))
    (one, here), (two, there) = results
    assert one == two
    if step == 0 and row_stride >= columns:
        assert one == [] and torch.equal(here.view(torch.int32), there.view(torch.int32))


@triton.jit
def scale_columns(x, out, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """Each program reads all of its neighbour's column as well."""
    rows, pid = tl.arange(0, BLOCK), tl.program_id(0)
    value = tl.load(out + rows * ROWS + (pid + 1) % ROWS)
    tl.store(out + rows * ROWS + pid, value)


def test_columns_of_other_programs_are_a_race() -> None:
    """The spans of the columns overlap, and so do the columns of neighbours."""
    out = torch.zeros(32, 8)
    calls = launched(scale_columns, (8,), out, out, BLOCK=32, ROWS=8)
    assert {(f.kind, f.severity) for f in calls.findings} == {("race", "error")}


@triton.jit
def write_columns(x, out, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows, pid = tl.arange(0, BLOCK), tl.program_id(0)
    tl.store(out + rows * ROWS + pid, tl.load(x + rows * ROWS + pid))
    tl.store(out + rows * ROWS + pid, 2 * tl.load(out + rows * ROWS + pid))


def test_interleaved_columns_are_no_race() -> None:
    x, out = torch.randn(32, 8), torch.empty(32, 8)
    calls = launched(write_columns, (8,), x, out, BLOCK=32, ROWS=8)
    assert calls.findings == []
    assert torch.equal(out, 2 * x)


def test_regions_know_their_elements() -> None:
    array = torch.arange(400)
    choice = random.Random(1)
    for _ in range(200):
        shape = tuple(choice.randint(1, 4) for _ in range(3))
        strides = tuple(4 * choice.randint(0, 12) for _ in range(3))
        region = Region(start=4 * choice.randint(0, 9), shape=shape, strides=strides, size=4,
                        outer=1)  # fmt: skip
        places = region.places(4)
        assert torch.equal(region.of(array, 4), places)
        assert int(places.max()) * 4 + 4 == region.end
        if region.apart:
            assert len(torch.unique(places)) == places.numel()


def test_regions_that_do_not_meet_share_nothing() -> None:
    choice, apart = random.Random(3), 0

    def region() -> Region:
        shape = tuple(choice.randint(1, 4) for _ in range(2))
        strides = tuple(4 * choice.choice([0, 1, 2, 6, 12]) for _ in range(2))
        return Region(start=4 * choice.randint(0, 20), shape=shape, strides=strides, size=4,
                      outer=1)  # fmt: skip

    for _ in range(500):
        one, two = region(), region()
        shared = torch.isin(one.places(4), two.places(4)).any()
        if not one.may_meet(two):
            assert not shared
            apart += one.start < two.end and two.start < one.end
    assert apart > 20
    columns = [Region(start=8 * n, shape=(9, 2), strides=(40, 4), size=4, outer=1) for n in (1, 2)]
    assert not columns[0].may_meet(columns[1])


def test_steps_of_steps() -> None:
    programs = torch.arange(24)
    assert nested(programs % 4 * 10 + programs // 4 * 3) == ((6, 4), (3, 10))
    assert nested(torch.full((5,), 7)) == ((5,), (0,))
    assert nested(torch.tensor([0, 1, 2, 10, 11])) is None
    assert nested(torch.tensor([3, 2, 1])) is None
    assert runs(torch.tensor([0, 1, 2, 10, 11, 30])) == [3, 5, 6]


def block(kind: str = "i32") -> Tensor:
    return Tensor((4, 6), Scalar(kind))


OPERATIONS = {
    "arith.addi": torch.add,
    "arith.subi": torch.sub,
    "arith.muli": torch.mul,
    "arith.remsi": torch.fmod,
    "arith.minsi": torch.minimum,
    "arith.maxsi": torch.maximum,
}
COMPARISONS = {
    "slt": torch.lt, "sle": torch.le, "sgt": torch.gt, "sge": torch.ge,
    "ult": torch.lt, "ule": torch.le, "ugt": torch.gt, "uge": torch.ge,
}  # fmt: skip


def random_form(choice: random.Random) -> Affine:
    batch = choice.choice([1, 5])
    steps = tuple(choice.choice([0, 0, 1, 3, -2]) for _ in range(2))
    start = torch.tensor([choice.randint(-20, 20) for _ in range(batch)])
    form = Affine(start, (4, 6), steps, torch.int32, 0, 0)
    data = form.tensor()
    return Affine(start, (4, 6), steps, torch.int32, int(data.min()), int(data.max()))


def test_forms_compute_what_their_elements_do() -> None:
    choice, formed = random.Random(2), set()
    for _, name in itertools.product(range(150), [*OPERATIONS, *COMPARISONS]):
        a, b = random_form(choice), random_form(choice)
        compares = name in COMPARISONS
        op = Operation(
            "arith.cmpi" if compares else name, ("%r",), ("%a", "%b"), (name,), {}, (block(),),
            (block("i1" if compares else "i32"),), "",
        )  # fmt: skip
        result = affine.compute(op, [a, b])
        if result is None:
            continue
        formed.add(name)
        function = (COMPARISONS if compares else OPERATIONS)[name]
        expected = function(a.tensor(), b.tensor())  # type: ignore[operator] # torch's
        assert torch.equal(result.tensor().expand_as(expected), expected), name
        if isinstance(result, Affine):
            assert result.low <= int(expected.min()) and int(expected.max()) <= result.high
    assert formed == {*OPERATIONS, *COMPARISONS}


def test_a_form_that_may_overflow_has_none() -> None:
    big = Affine(torch.tensor([1 << 30]), (4, 6), (0, 1), torch.int32, 1 << 30, (1 << 30) + 5)
    op = Operation("arith.addi", ("%r",), ("%a", "%b"), (), {}, (block(),), (block(),), "")
    assert affine.compute(op, [big, big]) is None


def test_masks_meet_and_grow() -> None:
    low, high = torch.tensor([0, 2, 1]), torch.tensor([3, 3, 1])
    one = Box((4, 1), (low, None), (high, None))
    two = Box((1, 6), (None, None), (None, torch.tensor([4])))
    op = Operation("tt.broadcast", ("%r",), ("%a",), (), {}, (), (block("i1"),), "")
    grown = [affine.reshape(op, form, None) for form in (one, two)]
    both = affine.compute(
        Operation("arith.andi", ("%r",), ("%a", "%b"), (), {}, (), (block("i1"),), ""),
        [form for form in grown if form is not None],
    )
    assert both is not None
    expected = one.tensor().expand(3, 4, 6) & two.tensor().expand(1, 4, 6)
    assert torch.equal(both.tensor(), expected)
