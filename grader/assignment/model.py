"""The data model of an assignment: the content of `assignment.toml`, validated and typed.

`reader` makes these objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.assignment.cases import DEFAULT_VALUES, Case, CaseTemplate, derived_seed
from grader.assignment.counter_bounds import CounterBounds
from grader.assignment.expression import Expression
from grader.assignment.late import LateRule
from grader.assignment.signature import Signature
from grader.assignment.tolerance import Tolerance, Tolerances
from grader.gpu.models import most_specific
from grader.timing.decision import Scale, Tier
from grader.vocabulary import CheckName, Device, Language, Visibility

ORACLE_FILE = "oracle.py"
PROGRAM_FILE = "main.cu"  # the student's own program around the kernel
PROGRAM_LANGUAGE = Language.CUDA  # also of the kernels that it is linked with
PROGRAM_NAME = "main"  # in the report and on the command line
PROGRAM_TITLE = "Your own program"


_LAST_WEEK = 100  # after all that a spec can name


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What `course.toml` says about a course; "", () and None where it says nothing.

    `target` is the name of a GPU or architecture, `handout` the file that new handouts are made of.
    """

    target: str = ""
    languages: tuple[Language, ...] = ()
    handout: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one submission; times are seconds of its own (`grader.sandbox.own_time`).

    `oracle_s` and `oracle_mib` are those of one call of the course's oracle.
    """

    build_s: float = 60.0
    load_s: float = 20.0
    call_s: float = 10.0
    program_s: float = 30.0
    output_kib: int = 1024
    memory_mib: int = 4096
    oracle_s: float = 60.0
    oracle_mib: int = 16384

    @property
    def after_a_timeout(self) -> Limits:
        """These limits for a submission of which a call did not end: a quarter for each call."""
        return replace(self, call_s=0.25 * self.call_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a kernel file may do besides launching its kernels.

    In Python torch may compute the result, in CUDA C++ host code. `libraries` are those of
    `assignment.libraries` that a CUDA C++ file may use; None allows none, and leaves the verdict
    on their use to a machine with a GPU.
    """

    torch_allowed: bool = False
    host_allowed: bool = False
    libraries: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """The tiers of one kernel by language, slowest first.

    `on` replaces them on a GPU model ("H100") or architecture ("sm_75"), the most specific one
    that has the language; with an empty tuple, the speedup is shown there but not scored.
    """

    default: Mapping[Language, tuple[Tier, ...]] = field(default_factory=dict)
    on: Mapping[str, Mapping[Language, tuple[Tier, ...]]] = field(default_factory=dict)
    scale: Scale = Scale.STEPS

    def of(self, language: Language, gpu: str, architecture: str) -> tuple[Tier, ...]:
        """Return the tiers on a GPU, by its name and architecture; () if nothing is scored."""
        keys = most_specific(self.on, gpu, architecture)
        groups = [*(self.on[key] for key in keys), self.default]
        found = (own_tiers(group, language) for group in groups)
        return next((tiers for tiers in found if tiers is not None), ())


def own_tiers(
    group: Mapping[Language, tuple[Tier, ...]], language: Language
) -> tuple[Tier, ...] | None:
    """Return the tiers of a language, else those of its base; None if there are none."""
    return group.get(language, group.get(language.base))


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One input for timing.

    `bytes` (the minimum to move) and `flops` are expressions over the sizes and `size`,
    the bytes of an element of the first array. `dtype` is a type of the signature's list, "" if it
    has none; `tolerances` are those of this type.
    """

    name: str
    sizes: Mapping[str, int | float]
    values: str = DEFAULT_VALUES
    dtype: str = ""
    tolerances: Tolerances = field(default_factory=dict)
    bytes: Expression
    flops: Expression | None = None
    languages: frozenset[Language] = field(default_factory=lambda: frozenset(Language))

    def case(self, seed: int) -> Case:
        """Return the benchmark's case, for the oracle."""
        return Case(
            name=self.name,
            sizes=self.sizes,
            values=self.values,
            visibility=Visibility.VISIBLE,
            seed=seed,
            tolerances=self.tolerances,
            dtype=self.dtype,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel to implement: a file per language, maximum points by check.

    `entry` is the function to write, which the assignment has the signature of.
    `files` have the entry; `headers` are further files to hand in, which that of the language
    includes. Points of a `bonus` come on top of all points of the assignment.
    """

    name: str
    title: str
    files: Mapping[Language, str]
    points: Mapping[CheckName, float]
    entry: str = ""
    headers: Mapping[Language, tuple[str, ...]] = field(default_factory=dict)
    bonus: bool = False
    counters: CounterBounds | None = None
    rules: Rules = field(default_factory=Rules)
    tiers: Tiers = field(default_factory=Tiers)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files to hand in, of all languages."""
        return tuple(path for language in self.files for path in self.paths_in(language))

    def paths_in(self, language: Language) -> tuple[str, ...]:
        """Return the files to hand in in a language, that with the entry first."""
        return (self.files[language], *self.headers.get(language, ()))

    @property
    def max_score(self) -> float:
        """All points of this kernel."""
        return sum(self.points.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One assignment; `folder` holds its spec and its oracle.

    `program` is the student's main.cu, graded like a kernel with a single check;
    None if the assignment asks for no program. `hidden_elsewhere` is the number of hidden cases
    that this copy of the spec leaves out: the course's own grader has them, and they count for as
    many visible cases as `hidden_weight`. `tolerances` hold for
    outputs without an entry in `output_tolerances`. A platform that knows the due date applies the
    rule `late`. `given` are headers in the folder that CUDA C++ files include and that no
    submission can change. `week` is the week of the course in which it is set, if the spec says it.

    With several entries, `entries` has the assignment as each of them has it, by name: its
    signature, kernels, cases and benchmarks. `signature` is then that of the first, and the rest is
    of all together. `signatures` are those of all. `oracle_suffix` ends the names of the oracle's
    functions for an entry.
    """

    name: str
    title: str
    folder: Path
    signature: Signature
    kernels: tuple[Kernel, ...]
    tolerances: Mapping[Language, Tolerance]
    output_tolerances: Tolerances = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    cases: tuple[CaseTemplate, ...]
    benchmarks: tuple[Benchmark, ...] = ()
    program: Kernel | None = None
    hidden_elsewhere: int = 0
    hidden_weight: int = 0
    late: LateRule | None = None
    given: tuple[str, ...] = ()
    week: int | None = None
    entries: Mapping[str, Assignment] = field(default_factory=dict)
    signatures: tuple[Signature, ...] = ()
    oracle_suffix: str = ""

    @property
    def header_texts(self) -> dict[str, str]:
        """The generated headers by name, of all entries: a CUDA C++ file may include them."""
        return {one.header_name: one.header() for one in self.signatures or (self.signature,)}

    def of(self, kernel: Kernel) -> Assignment:
        """Return the assignment as a kernel's entry has it: its signature, cases, benchmarks."""
        if kernel.entry not in self.entries:
            return self
        return replace(self.entries[kernel.entry], limits=self.limits)

    @property
    def of_entries(self) -> tuple[Assignment, ...]:
        """The assignment as each of its entries has it, in order."""
        return tuple(self.entries.values()) or (self,)

    @property
    def hidden_cases(self) -> int:
        """The number of cases whose sizes and values a student does not see."""
        here = sum(case.visibility is not Visibility.VISIBLE for case in self.cases)
        return here + self.hidden_elsewhere

    @property
    def weights(self) -> Mapping[str, int]:
        """The weights of the groups of cases, by title."""
        return {case.title: case.weight for case in self.cases if case.weight is not None}

    @property
    def weight_of_hidden(self) -> int:
        """How many visible cases those count for whose sizes and values a student does not see."""
        unseen = [case for case in self.cases if case.visibility is not Visibility.VISIBLE]
        groups = {case.title: case.weight for case in unseen if case.weight is not None}
        alone = sum(case.weight is None for case in unseen)
        return alone + sum(groups.values()) + self.hidden_weight

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The graded parts: the kernels, and the student's program if the spec has one."""
        return (*self.kernels, *([self.program] if self.program is not None else []))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files to hand in, each once."""
        return tuple(dict.fromkeys(path for part in self.parts for path in part.paths))

    @property
    def languages(self) -> list[Language]:
        """The languages in which a kernel has a file."""
        return [one for one in Language if any(one in kernel.files for kernel in self.kernels)]

    @property
    def max_score(self) -> float:
        """All points of this assignment, without the bonus."""
        return sum(part.max_score for part in self.parts if not part.bonus)

    @property
    def oracle(self) -> Path:
        """The file with `inputs`, `expected` and `baseline`."""
        return self.folder / ORACLE_FILE

    def signature_of(self, case: Case | Benchmark) -> Signature:
        """Return the signature with the type that `case` chooses."""
        return self.signature.bound(case.dtype)

    def tolerance(self, case: Case | CaseTemplate, language: Language, output: str) -> Tolerance:
        """Return the tolerance for an output of `case`."""
        if case.exact:
            return Tolerance(exact=True)
        by_output = (case.tolerances or self.output_tolerances).get(language, {})
        return by_output.get(output, self.tolerances[language])

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
            # Draw before filtering, so that all devices get the same case.
            case = template.draw(derived_seed(seed, self.name, position))
            if device in template.devices and language.is_in(template.languages):
                twins = sum(one.name.split(" #")[0] == case.name for one in cases)
                cases.append(replace(case, name=f"{case.name} #{twins + 1}") if twins else case)
        return tuple(cases)


def by_week(assignments: Iterable[Assignment]) -> list[Assignment]:
    """Return the assignments in the order of their weeks; those without one come last."""
    return sorted(assignments, key=lambda one: one.week or _LAST_WEEK)
