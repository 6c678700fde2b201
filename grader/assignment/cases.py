"""The cases of an assignment: templates in the spec, and the concrete cases of one run.

A template holds sizes or ranges of sizes. Visible cases are drawn from the public seed, so that a
student sees the same data as the grader; all others from the run's secret seed.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.assignment.launch import Launch
from grader.assignment.tolerance import Tolerances
from grader.vocabulary import Device, Language, Visibility

DEFAULT_VALUES = "random"  # the `values` of a case if the spec gives none


@dataclass(frozen=True, slots=True)
class Range:
    """A random integer: `min`, or `min` plus a multiple of `step` up to `max`.

    With a fraction in `min` or `max`, a random number between both, of few digits.
    """

    min: int | float
    max: int | float
    step: int = 1

    def __str__(self) -> str:
        return f"{self.min}..{self.max}"

    @property
    def values(self) -> float:
        """How many values can be drawn; infinite between numbers with a fraction."""
        if isinstance(self.min, int) and isinstance(self.max, int):
            return (self.max - self.min) // self.step + 1
        return math.inf

    def draw(self, rng: random.Random) -> int | float:
        """Return one value."""
        if isinstance(self.min, int) and isinstance(self.max, int):
            return rng.randrange(self.min, self.max + 1, self.step)
        # Rounded, so that a report can name it.
        drawn = float(f"{rng.uniform(self.min, self.max):.6g}")
        return min(max(drawn, self.min), self.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One concrete input for correctness, as the oracle receives it.

    `seed` seeds only the generator of its data. With `memory`, the case also runs under
    the memory tools. With `exact`, outputs are compared bit by bit, without tolerance;
    `tolerances` replace those of the assignment. `title` is what the spec calls the case, for
    students only if `title_shown`; `name` are its sizes and identifies it. `launch` is that of an
    entry that is a kernel, None for the signature's. `dtype` is what it chooses for the signature's
    type variable, "" if there is none.
    """

    name: str
    sizes: Mapping[str, int | float]
    values: str
    visibility: Visibility
    seed: int
    memory: bool = False
    exact: bool = False
    tolerances: Tolerances = field(default_factory=dict)
    title: str = ""
    title_shown: bool = True
    launch: Launch | None = None
    dtype: str = ""

    @property
    def name_for_students(self) -> str:
        """The name, which tells the sizes, of a visible case."""
        return self.name if self.visibility is Visibility.VISIBLE else "a hidden case"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTemplate:
    """A `[[cases]]` table with one value or range for every size.

    With a `weight`, all cases of this title earn points together, as many as that number of cases.
    """

    sizes: Mapping[str, int | float | Range]
    values: str = DEFAULT_VALUES
    memory: bool = False
    exact: bool = False
    tolerances: Tolerances = field(default_factory=dict)
    title: str = ""
    title_shown: bool = True
    weight: int | None = None
    launch: Launch | None = None
    dtype: str = ""
    visibility: Visibility = Visibility.VISIBLE
    devices: frozenset[Device] = frozenset(Device)
    languages: frozenset[Language] = field(default_factory=lambda: frozenset(Language))

    @property
    def name(self) -> str:
        """How people call the template."""
        return case_name(self.sizes, self.values, self.dtype)

    def draw(self, seed: int) -> Case:
        """Return the case of this seed, with a size drawn from each range."""
        rng = random.Random(derived_seed(seed, "sizes"))
        sizes = {
            name: size.draw(rng) if isinstance(size, Range) else size
            for name, size in self.sizes.items()
        }
        launched = self.launch.words(sizes) if self.launch else {}
        return Case(
            name=case_name({**sizes, **launched}, self.values, self.dtype),
            sizes=sizes,
            values=self.values,
            visibility=self.visibility,
            seed=seed,
            memory=self.memory,
            exact=self.exact,
            tolerances=self.tolerances,
            title=self.title,
            title_shown=self.title_shown,
            launch=self.launch,
            dtype=self.dtype,
        )


def case_sizes(
    sizes: Mapping[str, float | list[float] | Mapping[str, Any]],
) -> Iterator[dict[str, int | float | Range]]:
    """Yield the sizes of each case of a `[[cases]]` table: one for each position of its lists."""
    length = max((len(size) for size in sizes.values() if isinstance(size, list)), default=1)
    for position in range(length):
        yield {
            name: Range(**one) if isinstance(one, Mapping) else one
            for name, size in sizes.items()
            for one in [size[position] if isinstance(size, list) else size]
        }


def case_name(sizes: Mapping[str, object], values: str, dtype: str = "") -> str:
    """Return how people call a case: `rows=3, cols=1..64, float16, zeros`."""
    words = [f"{name}={size}" for name, size in sizes.items()]
    words += [dtype] if dtype else []
    return ", ".join([*words, *([values] if values != DEFAULT_VALUES else [])])


def derived_seed(seed: int, *path: str | int) -> int:
    """Return a 63-bit seed that depends on all arguments, and not on the machine."""
    text = "/".join(map(str, (seed, *path)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
