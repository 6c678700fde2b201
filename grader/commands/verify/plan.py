"""Which tasks a verification has, and what can be said without any.

A sample that cannot be judged here, or that is not where it should be, is a row
at once; so are the lints and the agreement of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from grader.assignment.generated import REFERENCES, TEMPLATES
from grader.assignment.model import Assignment, Kernel
from grader.commands.verify.agreement import agreement_rows
from grader.commands.verify.expectation import Expectation
from grader.commands.verify.judgement import not_here
from grader.commands.verify.lints import lint_rows, sample_name_problem
from grader.commands.verify.row import Row, State
from grader.commands.verify.samples import Sample, samples_of, stray_files
from grader.commands.verify.tasks import (
    OracleTask,
    ReferenceTask,
    SampleTask,
    Task,
    UntouchedTask,
    WorthlessTask,
)
from grader.commands.verify.trivial_submissions import touched, zeros
from grader.gpu.nvml import Gpu
from grader.vocabulary import CheckName, Device, Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is verified, and where. Empty filters leave nothing out.

    With `samples` (patterns, or parts of a title) nothing but samples is
    looked at. `repeat` gradings of each reference, from `seed` on.
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
        """True unless a filter leaves this file out."""
        return (not self.kernels or kernel.name in self.kernels) and (
            not self.languages or language in self.languages
        )

    def wants_sample(self, sample: Sample) -> bool:
        """True if a pattern fits the sample's title, or a part of it is named."""
        return not self.samples or any(
            fnmatchcase(sample.title, pattern) or pattern in sample.title
            for pattern in self.samples
        )


@dataclass(slots=True, kw_only=True)
class Plan:
    """What is known already, and what is to be done."""

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
        yield Row(
            assignment=assignment.name,
            subject="samples",
            check="files",
            state=State.DIFFERS,
            expected="samples/VERDICT/NAME/FILE, with a kernel file's ending",
            actual=f"{path.relative_to(reference)} belongs to no sample",
        )


def _solved(assignment: Assignment, reference: Path) -> dict[str, str]:
    """Return the solved kernels in CUDA C++ by path: what the student's own program runs with."""
    paths = [k.files[Language.CUDA] for k in assignment.kernels if Language.CUDA in k.files]
    return {
        path: (reference / path).read_text(encoding="utf-8")
        for path in paths
        if (reference / path).is_file()
    }


def _proofs(assignment: Assignment, repository: Path, choice: Choice) -> Iterator[Task]:
    """Yield the tasks that are no samples."""
    template = repository / TEMPLATES / assignment.name
    reference = repository / REFERENCES / assignment.name
    gpu, used = choice.gpu, set()
    for kernel in assignment.parts:
        languages = [language for language in kernel.files if choice.wants(kernel, language)]
        if languages and template.is_dir():
            yield UntouchedTask(assignment=assignment, kernel=kernel, template=template, gpu=gpu)
        for language in languages:
            used.add(language)
            file = kernel.files[language]
            own_program = kernel is assignment.program
            texts = (
                {}
                if own_program
                else {f"junk {file}": ("writes zeros", zeros(assignment.signature, language))}
            )
            if (template / file).is_file():
                stub = (template / file).read_text(encoding="utf-8", errors="replace")
                texts[f"stub {file}"] = ("touched", touched(stub, language))
            for what, (check, text) in texts.items():
                if text is not None:
                    yield WorthlessTask(
                        assignment=assignment,
                        kernel=kernel,
                        language=language,
                        gpu=gpu,
                        what=what,
                        check=check,
                        text=text,
                        beside=_solved(assignment, reference) if own_program else {},
                    )
            if (reference / file).is_file():
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
            yield OracleTask(
                assignment=assignment, language=language, device=choice.device, seed=choice.seed
            )


def _plan_sample(made: Plan, assignment: Assignment, sample: Sample, choice: Choice) -> None:
    """Add the sample's task, or the row that takes its place."""
    problem = sample_name_problem(sample, assignment)
    if problem:
        made.rows.append(_misplaced(sample, problem))
        return
    language = Language(sample.language)
    kernel = next(k for k in assignment.kernels if k.files.get(language) == sample.file)
    if not choice.wants(kernel, language):
        return
    try:
        expectation = sample.expectation()
        _check_lines(sample, expectation)
    except ValueError as error:
        made.rows.append(_misplaced(sample, f"its first line: {error}"))
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


def _why_not_here(
    sample: Sample, expectation: Expectation | None, kernel: Kernel, device: Device
) -> str:
    only = expectation.device if expectation else None
    if only is not None and only != device.value:
        return f"on {only} only: {expectation.why}" if expectation else ""
    check = expectation.check if expectation else None
    by_time = check == CheckName.PERFORMANCE
    if sample.verdict == "too_slow" and check != CheckName.COUNTERS:
        by_time = True
    if by_time and CheckName.PERFORMANCE not in kernel.points:
        return f"{kernel.name} has no points for performance: its time is not measured"
    return ""


def _check_lines(sample: Sample, expectation: Expectation | None) -> None:
    """Raise ValueError if an expected line says nothing that could be wrong."""
    lines = sample.text.splitlines()
    for number in expectation.lines if expectation else ():
        text = lines[number - 1].strip() if number <= len(lines) else ""
        if not text or text.startswith(("//", "#", "}")):
            raise ValueError(f"line {number} of {sample.file} holds no statement")


def _misplaced(sample: Sample, problem: str) -> Row:
    return Row(
        assignment=sample.assignment,
        subject=f"sample {sample.title}",
        check="in its place",
        state=State.DIFFERS,
        expected="a kernel's file below a verdict, its `expect:` line well formed",
        actual=problem,
    )
