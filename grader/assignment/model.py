"""The data model of an assignment: the content of `assignment.toml`, validated and typed.

`reader` makes these objects. The file holds case templates (lists and ranges of
sizes); `Assignment.draw_cases` draws the concrete cases of a run from its seeds.
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
# The student's program around the kernel, if the assignment asks for one.
PROGRAM_FILE = "main.cu"
# Its name in the report and on the command line.
PROGRAM_NAME = "main"
PROGRAM_TITLE = "Your own program"
# The `values` of a case if the spec gives none.
DEFAULT_VALUES = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Accept an element iff |actual - expected| <= atol + rtol * |expected|.

    `exact` asks for the same bits instead. The rule states acceptance, not rejection:
    no comparison with NaN holds, so NaN is never accepted.
    """

    atol: float = 0.0
    rtol: float = 0.0
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one submission; times are wall-clock seconds."""

    build_s: float = 60.0
    load_s: float = 20.0
    call_s: float = 10.0
    program_s: float = 30.0
    output_kib: int = 1024
    memory_mib: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a kernel file may do besides launching its kernels."""

    torch_allowed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """The tiers of one kernel by language, slowest first, and what replaces them.

    `on` replaces tiers on a GPU architecture ("sm_75"); an empty tuple there means
    that the speedup is shown and not scored.
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
        """Return the case that the oracle makes inputs for."""
        return Case(
            name=self.name,
            sizes=self.sizes,
            values=self.values,
            visibility=Visibility.VISIBLE,
            seed=seed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel to implement: a file per language, maximum points by check."""

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
    """One input for correctness, concrete: what the oracle receives.

    `seed` seeds only the generator of its data. `memory`: it also runs under the memory
    tools. `exact`: outputs are compared bit for bit, whatever the tolerance.
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

    `program` is the student's main.cu, graded like a kernel with a single check;
    None if the assignment asks for no program.
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
        """What is graded: the kernels, and the student's program if it gives points."""
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
        """Return the tolerance for the outputs of `case`."""
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
            # Drawn before the filters, so that all devices see the same case.
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
