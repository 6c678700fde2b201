"""The plan of a verification: its tasks, and the rows that need no task.

Lints, agreement of files, samples in a wrong place and samples that this device cannot
judge need no task.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from grader.assignment.generated import REFERENCES, TEMPLATES
from grader.assignment.model import Assignment, Kernel
from grader.commands.verify.agreement import agreement_rows
from grader.commands.verify.judgement import not_here
from grader.commands.verify.lints import lint_rows
from grader.commands.verify.row import Row, proof
from grader.commands.verify.samples import Expectation, Sample, samples_of, stray_files
from grader.commands.verify.tasks import (
    OracleTask,
    ReferenceTask,
    SampleTask,
    Task,
    TrivialTask,
    UntouchedTask,
)
from grader.commands.verify.trivial_submissions import touched, zeros
from grader.gpu.nvml import Gpu
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to verify, and on which device. An empty filter selects everything.

    With `samples` (patterns, or parts of a title) only samples are graded.
    Each reference is graded `repeat` times, with seeds from `seed` on.
    """

    gpu: Gpu | None = None
    kernels: frozenset[str] = frozenset()
    languages: frozenset[Language] = frozenset()
    samples: tuple[str, ...] = ()
    repeat: int = 3
    seed: int = 0

    @property
    def device(self) -> Device:
        """The device to verify on."""
        return Device.CPU if self.gpu is None else Device.CUDA

    def wants(self, kernel: Kernel, language: Language) -> bool:
        """True if the filters select this file."""
        return (not self.kernels or kernel.name in self.kernels) and (
            not self.languages or language in self.languages
        )

    def wants_sample(self, sample: Sample) -> bool:
        """True if a pattern matches the sample's title or is part of it."""
        return not self.samples or any(
            fnmatchcase(sample.title, pattern) or pattern in sample.title
            for pattern in self.samples
        )


@dataclass(slots=True, kw_only=True)
class Plan:
    """The rows that are known already, and the tasks for the others."""

    rows: list[Row] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)


def plan(assignment: Assignment, repository: Path, choice: Choice) -> Plan:
    """Plan the verification of one assignment of the course in `repository`."""
    made = Plan()
    reference = repository / REFERENCES / assignment.name
    if not choice.samples:
        made.rows += agreement_rows(assignment, repository)
        made.rows += lint_rows(assignment, reference)
        made.rows += _strays(assignment, reference)
        made.tasks += _proofs(assignment, repository, choice)
    for sample in samples_of(reference):
        if choice.wants_sample(sample):
            _plan_sample(made, assignment, sample, choice)
    return made


def _strays(assignment: Assignment, reference: Path) -> Iterator[Row]:
    for path in stray_files(reference):
        yield proof(
            assignment.name,
            "samples",
            "files",
            expected="samples/VERDICT/NAME/FILE, with a kernel file's ending",
            problem=f"{path.relative_to(reference)} belongs to no sample",
        )


def _proofs(assignment: Assignment, repository: Path, choice: Choice) -> Iterator[Task]:
    """Yield the tasks for everything but samples."""
    template = repository / TEMPLATES / assignment.name
    reference = repository / REFERENCES / assignment.name
    gpu, used = choice.gpu, set()
    for kernel in assignment.parts:
        languages = [language for language in kernel.files if choice.wants(kernel, language)]
        used.update(languages)
        if languages and template.is_dir():
            yield UntouchedTask(assignment=assignment, kernel=kernel, template=template, gpu=gpu)
        for language in languages:
            yield from _trivial(assignment, kernel, language, repository, gpu)
            if (reference / kernel.files[language]).is_file():
                for seed in range(choice.seed, choice.seed + choice.repeat):
                    yield ReferenceTask(
                        assignment=assignment,
                        kernel=kernel,
                        language=language,
                        gpu=gpu,
                        seed=seed,
                        reference=reference,
                    )
    for language in Language:
        if language in used:
            yield OracleTask(assignment=assignment, language=language, gpu=gpu, seed=choice.seed)


def _trivial(
    assignment: Assignment, kernel: Kernel, language: Language, repository: Path, gpu: Gpu | None
) -> Iterator[Task]:
    """Yield the tasks of a kernel's trivial submissions."""
    file = kernel.files[language]
    others: dict[str, str] = {}
    texts: list[tuple[str, str, str | None]] = []
    if kernel is assignment.program:
        # The student's own program runs with the solved kernels.
        others = _solved(assignment, repository / REFERENCES / assignment.name)
    else:
        texts.append((f"trivial {file}", "writes zeros", zeros(assignment.signature, language)))
    stub = repository / TEMPLATES / assignment.name / file
    if stub.is_file():
        text = stub.read_text(encoding="utf-8", errors="replace")
        texts.append((f"stub {file}", "touched", touched(text, language)))
    for what, check, trivial in texts:
        if trivial is not None:
            yield TrivialTask(
                assignment=assignment,
                kernel=kernel,
                language=language,
                gpu=gpu,
                what=what,
                check=check,
                text=trivial,
                others=others,
            )


def _solved(assignment: Assignment, reference: Path) -> dict[str, str]:
    """Return the solved kernels in CUDA C++ by path."""
    paths = [k.files[Language.CUDA] for k in assignment.kernels if Language.CUDA in k.files]
    return {
        path: (reference / path).read_text(encoding="utf-8")
        for path in paths
        if (reference / path).is_file()
    }


def _plan_sample(made: Plan, assignment: Assignment, sample: Sample, choice: Choice) -> None:
    """Add the sample's task, or a row if it cannot be graded."""
    try:
        _check_place(sample, assignment)
        language = Language(sample.language)
        kernel = next(k for k in assignment.kernels if k.files.get(language) == sample.file)
        if not choice.wants(kernel, language):
            return
        expectation = _expectation(sample)
    except ValueError as error:
        made.rows.append(
            proof(
                sample.assignment,
                f"sample {sample.title}",
                "in its place",
                expected="a kernel's file below a verdict, with a valid `expect:` line",
                problem=str(error),
            )
        )
        return
    why = _why_not_here(sample, expectation, kernel, choice.device)
    if why:
        made.rows.append(not_here(sample, why))
        return
    made.tasks.append(
        SampleTask(
            assignment=assignment,
            kernel=kernel,
            language=language,
            gpu=choice.gpu,
            seed=choice.seed,
            sample=sample,
            expectation=expectation,
        )
    )


def _check_place(sample: Sample, assignment: Assignment) -> None:
    """Raise ValueError if the folder is no verdict or the file is no kernel's."""
    known = [verdict.value for verdict in Verdict if verdict.judged]
    if sample.verdict not in known:
        raise ValueError(
            f"its folder `{sample.verdict}` is no verdict of a submission ({', '.join(known)})"
        )
    files = [path for kernel in assignment.kernels for path in kernel.files.values()]
    if sample.file not in files:
        raise ValueError(f"`{sample.file}` is no kernel's file ({', '.join(files)})")


def _expectation(sample: Sample) -> Expectation:
    """Return the expectation in the sample's first line.

    Raises ValueError if it is not valid or names a line without a statement.
    """
    try:
        expectation = sample.expectation() or Expectation()
        lines = sample.text.splitlines()
        for number in expectation.lines:
            text = lines[number - 1].strip() if number <= len(lines) else ""
            if not text or text.startswith(("//", "#", "}")):
                raise ValueError(f"line {number} of {sample.file} holds no statement")
    except ValueError as error:
        raise ValueError(f"its first line: {error}") from None
    return expectation


def _why_not_here(sample: Sample, expectation: Expectation, kernel: Kernel, device: Device) -> str:
    """Return why this device cannot judge the sample; "" if it can."""
    if expectation.device not in (None, device):
        return f"on {expectation.device} only: {expectation.why}"
    by_time = expectation.check == CheckName.PERFORMANCE or (
        sample.verdict == "too_slow" and expectation.check != CheckName.COUNTERS
    )
    if by_time and CheckName.PERFORMANCE not in kernel.points:
        return f"{kernel.name} has no points for performance: its time is not measured"
    return ""
