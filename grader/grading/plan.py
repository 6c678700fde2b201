"""The options of a run, and the files that it grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from grader.assignment.dialects import dialect
from grader.assignment.generated import fingerprint, read_stubs
from grader.assignment.model import PROGRAM_LANGUAGE, PROGRAM_NAME, Assignment, Kernel
from grader.assignment.reader import read_text
from grader.checks.check import KernelFile
from grader.gpu.nvml import Gpu
from grader.submission.reader import SourceFile, Submission
from grader.vocabulary import CheckName, Device, Language

Transport = Literal["shared", "private"]
_CHECKS_OF_A_PROGRAM = frozenset({CheckName.BUILD, CheckName.PROGRAM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a run. An empty filter includes everything.

    `gpu` is the GPU to use, None for the CPU. With `transport` None, memory is shared if a probe
    shows that this works. With `first`, the run takes kernel by kernel and ends at the first check
    that fails. With `contract`, CUDA C++ on the CPU rounds a * b + c once, as nvcc makes it.
    Without `explain` wrong elements are counted, and nothing else is said of them: for who reads
    verdicts only.
    """

    gpu: Gpu | None = None
    kernels: frozenset[str] = frozenset()
    languages: frozenset[Language] = frozenset()
    checks: frozenset[CheckName] = frozenset()
    public_seed: int = 0
    secret_seed: int = 0
    transport: Transport | None = None
    first: bool = False
    contract: bool = False
    explain: bool = True

    @property
    def device(self) -> Device:
        """The device to grade on."""
        return Device.CPU if self.gpu is None else Device.CUDA

    def wants(self, kernel: str, language: Language) -> bool:
        """True unless the kernel or the language is filtered out."""
        return (not self.kernels or kernel in self.kernels) and (
            not self.languages or language in self.languages
        )

    def includes(self, check: CheckName) -> bool:
        """True unless the check is filtered out."""
        return not self.checks or check in self.checks

    def filtered(self, assignment: Assignment) -> bool:
        """True if a filter leaves out a kernel, language or check of the assignment."""
        parts = assignment.parts
        return (
            bool(self.kernels and {p.name for p in parts} - self.kernels)
            or bool(self.languages and {n for p in parts for n in p.files} - self.languages)
            or bool(self.checks and {c for p in parts for c in p.points} - self.checks)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The kernels of a run, in order, with the files that were handed in for each.

    The student's `program` runs with one of `program_kernels`, which are built for it even if a
    filter leaves them out of the report.
    """

    kernels: tuple[tuple[Kernel, tuple[KernelFile, ...]], ...]
    program_kernels: tuple[KernelFile, ...] = ()

    @property
    def files(self) -> tuple[KernelFile, ...]:
        """All files that are graded."""
        return tuple(file for _, files in self.kernels for file in files)

    @property
    def program(self) -> KernelFile | None:
        """The student's program, if it is graded."""
        return next((file for file in self.files if file.is_program), None)


def make_plan(assignment: Assignment, submission: Submission, options: Options) -> Plan:
    """Return the files that a run with these options grades, the student's program last."""
    cuda = replace(options, kernels=frozenset(), languages=frozenset({PROGRAM_LANGUAGE}))
    kernels = [k for k in assignment.kernels if not options.kernels or k.name in options.kernels]
    planned = [(k, _files(assignment, submission, k, options)) for k in kernels]
    program_kernels: tuple[KernelFile, ...] = ()
    if assignment.program is not None and _includes_program(options):
        main = _files(assignment, submission, assignment.program, cuda)
        planned.append((assignment.program, main))
        if main and options.includes(CheckName.PROGRAM):
            program_kernels = tuple(
                file
                for kernel in assignment.kernels
                for file in _files(assignment, submission, kernel, cuda)
            )
    return Plan(kernels=tuple(planned), program_kernels=program_kernels)


def absence_reason(
    assignment: Assignment, submission: Submission, kernel: Kernel, options: Options
) -> str:
    """Return why a kernel counts as not handed in."""
    paths = _paths(kernel, options)
    stubs = [path for path in paths if path in submission]
    if stubs:
        *others, last = stubs
        named, form = (f"{', '.join(others)} and {last}", "stubs") if others else (last, "stub")
        return f"{named}: the {form} as handed out, not a solution yet"
    if not paths:
        return "excluded by the options of this run"
    hint = next((words for path in paths if (words := submission.misnamed(path))), "")
    # Where other files were found, the folder is the right one.
    where = "" if submission.files else f" in {submission.shown_as or submission.source}"
    return f"no {' or '.join(paths)}{where}{hint}"


def _includes_program(options: Options) -> bool:
    return options.wants(PROGRAM_NAME, PROGRAM_LANGUAGE) and (
        not options.checks or bool(options.checks & _CHECKS_OF_A_PROGRAM)
    )


def _files(
    assignment: Assignment, submission: Submission, kernel: Kernel, options: Options
) -> tuple[KernelFile, ...]:
    return tuple(
        KernelFile(
            kernel=kernel,
            language=language,
            source=_with_headers(assignment, submission, kernel, language),
        )
        for language, path in kernel.files.items()
        if path in _paths(kernel, options)
        and path in submission
        and not all(_untouched(assignment, submission, p) for p in kernel.paths_in(language))
    )


def _with_headers(
    assignment: Assignment, submission: Submission, kernel: Kernel, language: Language
) -> SourceFile:
    """Return the file with the entry, and the student's and given headers that it includes."""
    path, *names = kernel.paths_in(language)
    source = submission.files[path]
    if not dialect(language).includes:
        return source
    headers = [
        submission.files.get(name)
        or SourceFile(
            path=name,
            problem=f"there is no {name}, which belongs to {path}{submission.misnamed(name)}",
            hint="hand in both files",
        )
        for name in names
    ]
    for name in assignment.given:
        text = read_text(assignment.folder / name)
        own = submission.files.get(name)
        replaced = own is not None and fingerprint(own.text) != fingerprint(text)
        headers.append(SourceFile(path=name, text=text, replaced=replaced))
    return replace(source, headers=tuple(headers))


def _paths(kernel: Kernel, options: Options) -> Sequence[str]:
    return [path for language, path in kernel.files.items() if options.wants(kernel.name, language)]


def _untouched(assignment: Assignment, submission: Submission, path: str) -> bool:
    source = submission.files.get(path)
    stubs = read_stubs(assignment.folder)
    return (
        source is not None
        and source.problem is None
        and stubs.get(path) == fingerprint(source.text)
    )
