"""Which thread holds which elements of a block, from its layout in the GPU dialect.

A layout is linear over bits: the bits of a register's, a lane's and a warp's number each have a
place in the block, and an element's place is the exclusive or of those of the bits that are set
(Triton's own definition). A bit whose place is zero repeats elements: several threads hold them.

    #blocked   sizePerThread, threadsPerWarp, warpsPerCTA and an order, repeated over the block
    #slice     a layout of one more dimension, without it
    #linear    the places themselves
    #mma       what the tensor cores of sm_80 hold
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import torch

from grader.protocol.targets import WARP

_MOST_DEPTH = 8
_MOST_BITS = 24

Place = tuple[int, ...]


class UnknownLayoutError(ValueError):
    """A layout that this module does not know."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The places in the block of the bits of the numbers of registers, lanes and warps."""

    shape: tuple[int, ...]
    registers: tuple[Place, ...]
    lanes: tuple[Place, ...]
    warps: tuple[Place, ...]

    def elements(self, together: int) -> torch.Tensor:
        """Return the number of the first element of each access: (accesses, warps, lanes).

        An access has `together` registers. Registers that repeat elements make none.
        """
        bits = tuple(bit for bit in self.registers if any(bit))
        skipped = together.bit_length() - 1
        if 1 << skipped != together or skipped > len(bits):
            raise UnknownLayoutError(f"accesses of {together} of {1 << len(bits)} elements")
        registers, lanes, warps = (
            self._numbers(part) for part in (bits[skipped:], self.lanes, self.warps)
        )
        return registers[:, None, None] ^ warps[None, :, None] ^ lanes[None, None, :]

    def first_threads(self) -> torch.Tensor:
        """Return which threads hold elements that none before them holds: (warps, lanes)."""
        lanes = _without(self.lanes)
        warps = _without(self.warps)
        return warps[:, None] & lanes[None, :]

    def _numbers(self, bits: Sequence[Place]) -> torch.Tensor:
        """Return the number of an element in the block, in row-major order, for each number."""
        strides = [prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        found = torch.zeros(1, dtype=torch.int64)
        for bit in bits:
            number = sum(part * stride for part, stride in zip(bit, strides, strict=True))
            found = torch.cat((found, found ^ number))
        return found


def _without(bits: Sequence[Place]) -> torch.Tensor:
    """Return the numbers in which no bit is set that repeats elements."""
    repeats = sum(1 << i for i, bit in enumerate(bits) if not any(bit))
    return (torch.arange(1 << len(bits)) & repeats) == 0


def scalar(warps: int) -> Layout:
    """Return the layout of a scalar, which all threads have."""
    count = _log(warps)
    return Layout((), (), ((),) * 5, ((),) * count)


def layout(
    text: str, shape: tuple[int, ...], warps: int, names: Mapping[str, str], depth: int = 0
) -> Layout:
    """Return the layout of a block; `names` are what stands for `#blocked` and the like.

    Raises UnknownLayoutError.
    """
    text = names.get(text, text)
    kind = re.match(r"#ttg\.(\w+)<\{", text)
    if kind is None or depth > _MOST_DEPTH or not all(_is_power(extent) for extent in shape):
        raise UnknownLayoutError(f"the layout {text[:80]}")
    if kind[1] == "slice":
        return _slice(text, shape, warps, names, depth)
    if kind[1] == "blocked":
        made = _blocked(text, shape)
    elif kind[1] == "linear":
        made = _linear(text, shape)
    elif kind[1] == "nvidia_mma":
        made = _mma(text, shape)
    else:
        raise UnknownLayoutError(f"the layout #ttg.{kind[1]}")
    if len(made.lanes) != _log(WARP) or len(made.warps) != _log(warps):
        raise UnknownLayoutError(f"the layout {text[:80]}, of other warps")
    return made


def _blocked(text: str, shape: tuple[int, ...]) -> Layout:
    sizes = [_list(text, name) for name in ("sizePerThread", "threadsPerWarp", "warpsPerCTA")]
    order = _list(text, "order")
    if sorted(order) != list(range(len(shape))) or any(len(one) != len(shape) for one in sizes):
        raise UnknownLayoutError(f"the layout {text[:80]}")
    reached = [1] * len(shape)
    parts = []
    for size in sizes:
        bits: list[Place] = []
        for axis in order:
            bits += _bits(axis, reached[axis], size[axis], shape)
            reached[axis] *= size[axis]
        parts.append(bits)
    return _repeated(shape, *parts, reached=reached)


def _mma(text: str, shape: tuple[int, ...]) -> Layout:
    """The sums of sm_80's tensor cores: tiles of 16×8, a thread has two pairs of a tile."""
    warps, tile = _list(text, "warpsPerCTA"), _list(text, "instrShape")
    version = re.search(r"versionMajor = (\d+)", text)
    if version is None or version[1] != "2" or len(shape) != 2 or tile != [16, 8]:
        raise UnknownLayoutError("a layout of other tensor cores")
    registers = [*_bits(1, 1, 2, shape), *_bits(0, 8, 2, shape)]
    lanes = [*_bits(1, 2, 4, shape), *_bits(0, 1, 8, shape)]
    reached = [16, 8]
    bits: list[Place] = []
    for axis in (1, 0):
        bits += _bits(axis, reached[axis], warps[axis], shape)
        reached[axis] *= warps[axis]
    return _repeated(shape, registers, lanes, bits, reached=reached)


def _repeated(
    shape: tuple[int, ...],
    registers: list[Place],
    lanes: list[Place],
    warps: list[Place],
    *,
    reached: Sequence[int],
) -> Layout:
    """Repeat what all threads hold at once over the rest of the block, in further registers."""
    for axis, extent in enumerate(shape):
        if reached[axis] < extent:
            registers = [*registers, *_bits(axis, reached[axis], extent // reached[axis], shape)]
    return Layout(shape, tuple(registers), tuple(lanes), tuple(warps))


def _slice(
    text: str, shape: tuple[int, ...], warps: int, names: Mapping[str, str], depth: int
) -> Layout:
    match = re.fullmatch(r"#ttg\.slice<\{dim = (\d+), parent = (.*)\}>", text)
    if match is None or int(match[1]) > len(shape):
        raise UnknownLayoutError(f"the layout {text[:80]}")
    axis = int(match[1])
    parent = layout(match[2], (*shape[:axis], 1, *shape[axis:]), warps, names, depth + 1)

    def without(bits: tuple[Place, ...]) -> tuple[Place, ...]:
        return tuple((*bit[:axis], *bit[axis + 1 :]) for bit in bits)

    return Layout(shape, without(parent.registers), without(parent.lanes), without(parent.warps))


def _linear(text: str, shape: tuple[int, ...]) -> Layout:
    parts = []
    for name in ("register", "lane", "warp"):
        match = re.search(rf"\b{name} = (\[[\[\]\d, ]*\])", text)
        if match is None:
            raise UnknownLayoutError(f"the layout {text[:80]}")
        bits = tuple(
            tuple(int(number) for number in place.split(","))
            for place in re.findall(r"\[([\d, ]+)\]", match[1])
        )
        if len(bits) > _MOST_BITS or any(
            len(bit) != len(shape) or any(a >= n for a, n in zip(bit, shape, strict=True))
            for bit in bits
        ):
            raise UnknownLayoutError(f"the layout {text[:80]}")
        parts.append(bits)
    return Layout(shape, *parts)


def _bits(axis: int, first: int, count: int, shape: tuple[int, ...]) -> Iterator[Place]:
    """Yield the places of the bits that run over `count` steps of `first` along an axis."""
    if not _is_power(count):
        raise UnknownLayoutError(f"a layout of {count} elements")
    for bit in range(_log(count)):
        at = first << bit
        place = [0] * len(shape)
        place[axis] = at if at < shape[axis] else 0  # beyond the block elements repeat
        yield tuple(place)


def _list(text: str, name: str) -> list[int]:
    match = re.search(rf"\b{name} = \[([\d, ]{{1,100}})\]", text)
    if match is None:
        raise UnknownLayoutError(f"the layout {text[:80]}")
    return [int(number) for number in match[1].split(",")]


def _is_power(number: int) -> bool:
    return 0 < number <= 1 << _MOST_BITS and number & (number - 1) == 0


def _log(number: int) -> int:
    return number.bit_length() - 1
