"""How the grader launches an entry that is a kernel: grid, block and shared memory of a case.

In CUDA C++ `block` are threads. A Triton kernel gets the same numbers as constexpr arguments,
BLOCK, or BLOCK_X, BLOCK_Y and BLOCK_Z if there are several, and the grid as its programs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.assignment.expression import Expression
from grader.assignment.problem import Problem
from grader.assignment.toml_locations import KeyPath
from grader.text.did_you_mean import did_you_mean

_MOST_THREADS = 1024
_MOST_IN_BLOCK = (1024, 1024, 64)
_MOST_IN_GRID = (2**31 - 1, 65535, 65535)
_AXES = "xyz"
WORDS = 7  # of a launch in a call: grid, block, shared bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A launch, by expressions over a case's sizes; `shared_bytes` of dynamic shared memory."""

    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    shared_bytes: Expression

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Launch:
        """Return the launch of a spec that its schema accepts; ValueError for a wrong extent."""
        return cls(
            grid=tuple(map(Expression.parse, data["grid"])),
            block=tuple(map(Expression.parse, data["block"])),
            shared_bytes=Expression.parse(data.get("shared_bytes", 0)),
        )

    @property
    def constexprs(self) -> tuple[str, ...]:
        """The names of a Triton kernel's arguments for `block`."""
        if len(self.block) == 1:
            return ("BLOCK",)
        return tuple(f"BLOCK_{axis.upper()}" for axis in _AXES[: len(self.block)])

    def __str__(self) -> str:
        grid, block = (
            "×".join(extent.text for extent in extents) for extents in (self.grid, self.block)
        )
        shared = "" if self.shared_bytes.text == "0" else f", shared_bytes={self.shared_bytes.text}"
        return f"grid={grid}, block={block}{shared}"

    def words(self, sizes: Mapping[str, int | float]) -> dict[str, str]:
        """Return grid and block as a case's name has them: `grid=2x3, block=16x16`."""
        numbers = self.numbers(sizes)
        grid, block = numbers[: len(self.grid)], numbers[3 : 3 + len(self.block)]
        return {"grid": "x".join(map(str, grid)), "block": "x".join(map(str, block))}

    def numbers(self, sizes: Mapping[str, int | float]) -> tuple[int, ...]:
        """Return grid x y z, block x y z and the shared bytes; ValueError if one is no integer."""
        grid, block = (
            [extent.evaluate(sizes) for extent in extents] + [1] * (3 - len(extents))
            for extents in (self.grid, self.block)
        )
        return *grid, *block, self.shared_bytes.evaluate(sizes)


def launch_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of `kind` and of the launches, but for the sizes of cases."""
    signature = data["signature"]
    is_kernel = signature.get("kind") == "kernel"
    tables: list[tuple[KeyPath, Mapping[str, Any]]] = [(("signature", "launch"), signature)]
    tables += [(("cases", index, "launch"), case) for index, case in enumerate(data["cases"])]
    for at, table in tables:
        if "launch" in table and not is_kernel:
            yield Problem(at, 'is for `kind = "kernel"` in [signature]: add that, or remove it')
        elif "launch" in table:
            yield from _expression_problems(table["launch"], at)
    if is_kernel and "launch" not in signature:
        yield Problem(
            ("signature", "launch"),
            "is missing: a kernel needs a grid and a block, such as "
            'launch = { grid = ["cdiv(n, 256)"], block = [256] }',
        )
    if is_kernel and "program" in data:
        yield Problem(("program",), "needs a function that main.cu can call: remove it, or `kind`")


def _expression_problems(launch: Mapping[str, Any], at: KeyPath) -> Iterator[Problem]:
    for key in ("grid", "block"):
        for position, extent in enumerate(launch[key]):
            yield from _parse_problem(extent, (*at, key, position))
    yield from _parse_problem(launch.get("shared_bytes", 0), (*at, "shared_bytes"))


def _parse_problem(extent: str | int, at: KeyPath) -> Iterator[Problem]:
    try:
        Expression.parse(extent)
    except ValueError as error:
        yield Problem(at, str(error))


def limit_problems(
    launch: Launch, sizes: Mapping[str, int | float], *, powers_of_two_in: str, at: KeyPath
) -> Iterator[Problem]:
    """Yield why no GPU can make the launch for a case's sizes.

    `powers_of_two_in` is a language that needs them in blocks, "" for none.
    """
    given = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    try:
        *numbers, shared = launch.numbers(sizes)
    except KeyError as error:
        name = str(error.args[0])
        meant = did_you_mean(name, sizes)
        yield Problem(at, f"uses `{name}`, which is no size of the case{meant}")
        return
    except ValueError as error:
        yield Problem(at, f"with {given}: {error}")
        return
    limits = (*_MOST_IN_GRID, *_MOST_IN_BLOCK)
    places = [(key, axis) for key in ("grid", "block") for axis in _AXES]
    for (key, axis), number, most in zip(places, numbers, limits, strict=True):
        if not 1 <= number <= most:
            yield Problem(
                (*at, key),
                f"with {given}: is {number} in {axis}, but CUDA takes 1 to {most}",
            )
        elif powers_of_two_in and key == "block" and number & (number - 1):
            yield Problem(
                (*at, key),
                f"with {given}: is {number} in {axis}, but {powers_of_two_in} needs a power of two",
            )
    threads = math.prod(numbers[3:])
    if threads > _MOST_THREADS:
        yield Problem(
            (*at, "block"),
            f"with {given}: has {threads} threads, but CUDA takes {_MOST_THREADS} at most",
        )
    if not 0 <= shared <= 227 * 1024:
        yield Problem(
            (*at, "shared_bytes"), f"with {given}: is {shared}, but a block has 0 to 232448 bytes"
        )
