"""The cases of an assignment: templates in the spec, and the concrete cases of one run.

A template holds sizes or ranges of sizes. Visible cases are drawn from the public seed, so that a
student sees the same data as the grader; all others from the run's secret seed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.vocabulary import Device, Language, Visibility

DEFAULT_VALUES = "random"  # the `values` of a case if the spec gives none


@dataclass(frozen=True, slots=True)
class Range:
    """A random integer between two bounds, both included."""

    min: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTemplate:
    """A `[[cases]]` table with one value or range for every size."""

    sizes: Mapping[str, int | float | Range]
    values: str = DEFAULT_VALUES
    memory: bool = False
    exact: bool = False
    visibility: Visibility = Visibility.VISIBLE
    devices: frozenset[Device] = frozenset(Device)
    languages: frozenset[Language] = frozenset(Language)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One concrete input for correctness, as the oracle receives it.

    `seed` seeds only the generator of its data. With `memory`, the case also runs under
    the memory tools. With `exact`, outputs are compared bit by bit, without tolerance.
    """

    name: str
    sizes: Mapping[str, int | float]
    values: str
    visibility: Visibility
    seed: int
    memory: bool = False
    exact: bool = False


def draw_cases(
    templates: Sequence[CaseTemplate],
    assignment: str,
    device: Device,
    language: Language,
    *,
    public_seed: int,
    secret_seed: int,
) -> tuple[Case, ...]:
    """Return the concrete cases of a run, in the spec's order."""
    cases: list[Case] = []
    for position, template in enumerate(templates):
        seed = public_seed if template.visibility is Visibility.VISIBLE else secret_seed
        case_seed = _derive(seed, assignment, position)
        # Draw before filtering, so that all devices get the same case.
        sizes = _draw(template.sizes, _derive(case_seed, "sizes"))
        if device in template.devices and language in template.languages:
            cases.append(_concrete(template, sizes, case_seed, cases))
    return tuple(cases)


def _derive(seed: int, *path: str | int) -> int:
    """Return a 63-bit seed that depends on all arguments, and not on the machine."""
    text = "/".join(map(str, (seed, *path)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def _draw(sizes: Mapping[str, int | float | Range], seed: int) -> dict[str, int | float]:
    rng = random.Random(seed)
    return {
        name: rng.randint(value.min, value.max) if isinstance(value, Range) else value
        for name, value in sizes.items()
    }


def _concrete(
    template: CaseTemplate, sizes: dict[str, int | float], seed: int, before: list[Case]
) -> Case:
    name = ", ".join(f"{key}={value}" for key, value in sizes.items())
    if template.values != DEFAULT_VALUES:
        name += f", {template.values}"
    twins = sum(case.name == name or case.name.startswith(f"{name} #") for case in before)
    return Case(
        name=f"{name} #{twins + 1}" if twins else name,
        sizes=sizes,
        values=template.values,
        memory=template.memory,
        exact=template.exact,
        visibility=template.visibility,
        seed=seed,
    )
