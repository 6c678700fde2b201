"""An assignment as data: what `assignment.toml` says, validated and typed.

`spec_reader` makes these from the file. Cases in the file are templates (a
list of sizes, a range); `Assignment.draw_cases` makes the concrete ones of a
run from its seeds.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.assignment.counter_bounds import CounterBounds
from grader.assignment.expression import Expression
from grader.assignment.signature import Signature
from grader.timing.decision import Tier
from grader.vocabulary import CheckName, Device, Language, Visibility

ORACLE_FILE = "oracle.py"
# The student's own program around the kernel, where an assignment has one.
PROGRAM_FILE = "main.cu"
# Its name in the report and on the command line.
PROGRAM_NAME = "main"
PROGRAM_TITLE = "Your own program"
# What a case's values are called if the spec does not say.
DEFAULT_VALUES = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Accept an element iff |actual - expected| <= atol + rtol * |expected|.

    `exact` asks for the same bits instead. Written as acceptance, so that a
    not-a-number, for which no comparison holds, is never accepted by it.
    """

    atol: float = 0.0
    rtol: float = 0.0
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one hand-in may use; times are wall-clock seconds."""

    build_s: float = 60.0
    load_s: float = 20.0
    call_s: float = 10.0
    program_s: float = 30.0
    output_kib: int = 1024
    memory_mib: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a kernel may do besides launching kernels of its own."""

    torch_allowed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """The tiers of one kernel by language, slowest first, and what replaces them.

    `on` holds other tiers for a GPU's architecture ("sm_75"); an empty tuple
    there says that the figure is shown and not scored.
    """

    default: Mapping[Language, tuple[Tier, ...]] = field(default_factory=dict)
    on: Mapping[str, Mapping[Language, tuple[Tier, ...]]] = field(default_factory=dict)

    def of(self, language: Language, architecture: str) -> tuple[Tier, ...]:
        """Return the tiers on a GPU, () if nothing is scored there."""
        return self.on.get(architecture, {}).get(language, self.default.get(language, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One input for timing: sizes, the fewest bytes to move, the operations to do.

    Both are expressions over the sizes and `size`, the bytes of an element of
    the first array.
    """

    name: str
    sizes: Mapping[str, int | float]
    values: str = DEFAULT_VALUES
    bytes: Expression
    flops: Expression | None = None
    languages: frozenset[Language] = frozenset(Language)

    def case(self, seed: int) -> Case:
        """Return what the oracle is asked for."""
        return Case(
            name=self.name,
            sizes=self.sizes,
            values=self.values,
            visibility=Visibility.VISIBLE,
            seed=seed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One thing to implement: a file per language, the most points by check."""

    name: str
    title: str
    files: Mapping[Language, str]
    points: Mapping[CheckName, float]
    counters: CounterBounds | None = None
    rules: Rules = field(default_factory=Rules)
    tiers: Tiers = field(default_factory=Tiers)

    @property
    def max_score(self) -> float:
        """All points of this kernel."""
        return sum(self.points.values())


@dataclass(frozen=True, slots=True)
class Range:
    """A whole number to be drawn, bounds included."""

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
    """One input for correctness, concrete: what the oracle receives.

    `seed` seeds the generator of its data and of nothing else. `memory` says
    that it is run under the memory tools too, `exact` that its outputs are
    compared bit for bit, whatever the assignment's tolerance.
    """

    name: str
    sizes: Mapping[str, int | float]
    values: str
    visibility: Visibility
    seed: int
    memory: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One assignment; `folder` holds its spec and its oracle.

    `program` is the student's own main.cu, which is graded like a kernel with
    a single check; None if the assignment asks for none.
    """

    name: str
    title: str
    folder: Path
    signature: Signature
    kernels: tuple[Kernel, ...]
    tolerances: Mapping[Language, Tolerance]
    limits: Limits = field(default_factory=Limits)
    cases: tuple[CaseTemplate, ...]
    benchmarks: tuple[Benchmark, ...] = ()
    program: Kernel | None = None

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """What can be handed in: the kernels, and the student's own program if there are points."""
        return (*self.kernels, *([self.program] if self.program is not None else []))

    @property
    def max_score(self) -> float:
        """All points of this assignment."""
        return sum(part.max_score for part in self.parts)

    @property
    def oracle(self) -> Path:
        """The file with `inputs`, `expected` and `baseline`."""
        return self.folder / ORACLE_FILE

    def tolerance(self, case: Case, language: Language) -> Tolerance:
        """Return by what an output of `case` is accepted."""
        return Tolerance(exact=True) if case.exact else self.tolerances[language]

    def draw_cases(
        self, device: Device, language: Language, *, public_seed: int, secret_seed: int
    ) -> tuple[Case, ...]:
        """Return the concrete cases of a run, in the spec's order.

        Visible cases come from `public_seed`, so that a student sees the same
        data as the grader; all others from `secret_seed`.
        """
        cases: list[Case] = []
        for position, template in enumerate(self.cases):
            seed = public_seed if template.visibility is Visibility.VISIBLE else secret_seed
            case_seed = _derive(seed, self.name, position)
            # Drawn before the filters: a device sees the same case as another.
            sizes = _draw(template.sizes, _derive(case_seed, "sizes"))
            if device in template.devices and language in template.languages:
                cases.append(_concrete(template, sizes, case_seed, cases))
        return tuple(cases)


def _derive(seed: int, *path: str | int) -> int:
    """Return a 63-bit seed that depends on all its arguments, on any machine."""
    text = "/".join(map(str, (seed, *path)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def _draw(sizes: Mapping[str, int | float | Range], seed: int) -> dict[str, int | float]:
    chooser = random.Random(seed)
    return {
        name: chooser.randint(value.min, value.max) if isinstance(value, Range) else value
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
