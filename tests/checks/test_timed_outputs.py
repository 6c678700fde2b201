"""The quick comparison of timed outputs accepts nothing that the tolerance refuses."""

from __future__ import annotations

import pytest
import torch
from slow import slow_unless

from grader.assignment.tolerance import Tolerance
from grader.checks.performance.timed_outputs import _steps, _within
from grader.judge.compare import BITS, accepts

TOLERANCE = Tolerance(rtol=1e-2, atol=1e-3)
TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def from_bits(pattern: int, kind: torch.dtype) -> torch.Tensor:
    """Return one number; a negative pattern counts from the end."""
    return torch.tensor([pattern], dtype=BITS[kind.itemsize]).view(kind)


def near(output: torch.Tensor, made: torch.Tensor) -> bool:
    return _within(_steps(output.dtype, TOLERANCE), output, made)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_differs_by_the_last_bits_is_near(kind: torch.dtype, sign: int) -> None:
    made = sign * torch.logspace(-3, 3, 1001, dtype=torch.float64).to(kind)
    steps = _steps(kind, TOLERANCE)
    moved = (made.view(BITS[kind.itemsize]) + steps).view(kind)
    assert near(moved, made)
    assert near(made, moved)
    assert bool(accepts(moved, made.double(), TOLERANCE).all())
    further = (made.view(BITS[kind.itemsize]) + steps + 1).view(kind)
    assert not near(further, made)


@pytest.mark.parametrize("kind", slow_unless(lambda kind: kind.itemsize == 2, TYPES))
def test_whatever_is_near_is_accepted(kind: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    bits = BITS[kind.itemsize]
    ends = torch.iinfo(bits)
    made = torch.randint(ends.min, ends.max, (20_000,), dtype=bits, generator=generator)
    steps = torch.randint(-4, 5, (20_000,), dtype=bits, generator=generator)
    outputs, wanted = (made + steps).view(kind), made.view(kind)
    seen = 0
    for at in range(len(made)):
        output, value = outputs[at : at + 1], wanted[at : at + 1]
        if near(output, value):
            seen += 1
            assert bool(accepts(output, value.double(), TOLERANCE)), (output, value)
    assert seen or _steps(kind, TOLERANCE) == 0


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("output", "made"),
    [
        ("poison", "zero"),  # one pattern apart
        ("zero", "poison"),
        ("minus zero", "largest nan"),  # one pattern apart, across the end
        ("infinity", "largest"),
        ("largest", "infinity"),
        ("infinity", "infinity"),
        ("nan", "nan"),
        ("smallest", "minus smallest"),
    ],
)
def test_neighbours_in_bits_only_are_not_near(kind: torch.dtype, output: str, made: str) -> None:
    infinity = torch.tensor([torch.inf], dtype=kind)
    top = int(infinity.view(BITS[kind.itemsize]))
    sign = torch.iinfo(BITS[kind.itemsize]).min
    values = {
        "poison": from_bits(-1, kind),
        "zero": from_bits(0, kind),
        "minus zero": from_bits(sign, kind),
        "largest nan": from_bits(-sign - 1, kind),
        "infinity": infinity,
        "largest": from_bits(top - 1, kind),
        "nan": torch.tensor([torch.nan], dtype=kind),
        "smallest": from_bits(1, kind),
        "minus smallest": from_bits(sign + 1, kind),
    }
    assert not near(values[output], values[made])


def test_a_tolerance_without_room_near_nought_is_left_to_the_formula() -> None:
    assert _steps(torch.float32, Tolerance(rtol=1e-5, atol=0.0)) == 0
    assert _steps(torch.float32, Tolerance(rtol=1e-5, atol=1e-6)) == 41
    assert _steps(torch.bfloat16, Tolerance(rtol=1e-2, atol=1e-2)) == 0
    one = torch.ones(3)
    assert not _within(0, one, one)
