"""The plan of a verification: its tasks, and the rows that need no task.

Lints, agreement of files, samples in a wrong place and samples that this device cannot
judge need no task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import product
from pathlib import Path

from grader.assignment.generated import REFERENCES, TEMPLATES
from grader.assignment.model import PROGRAM_LANGUAGE, Assignment, Kernel
from grader.assignment.problem import choices
from grader.commands.verify import tasks
from grader.commands.verify.agreement import agreement_rows
from grader.commands.verify.judgement import (
    judge_contracted,
    judge_reference,
    judge_untouched,
    not_here,
)
from grader.commands.verify.lints import lint_rows
from grader.commands.verify.row import Row, State, proof
from grader.commands.verify.samples import (
    Expectation,
    MissingFaultError,
    Sample,
    in_language,
    patched_samples,
    patches_of,
    samples_of,
    stray_files,
)
from grader.commands.verify.tasks import Task
from grader.emulation.cuda_cpp import contracts
from grader.grading.plan import Options
from grader.languages.registry import support_of
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language


def plan(
    assignment: Assignment,
    repository: Path,
    options: Options,
    *,
    samples: tuple[str, ...] = (),
    repeat: int = 3,
) -> tuple[list[Row], list[Task]]:
    """Plan the verification of one assignment of the course in `repository`.

    With `samples` (patterns, or parts of a title) only samples are graded. Each reference
    is graded `repeat` times, with seeds from that of the options on.
    """
    reference = repository / REFERENCES / assignment.name
    rows: list[Row] = []
    planned: list[Task] = []
    if not samples:
        rows += _not_installed(assignment)
        rows += agreement_rows(assignment, repository)
        rows += lint_rows(assignment, reference)
        rows += _strays(assignment, reference)
        planned += _proofs(assignment, repository, options, repeat)
    found = list(samples_of(reference))
    for patch in patches_of(reference):
        try:
            found += patched_samples(patch, reference)
        except ValueError as error:
            rows.append(_unusable_patch(assignment, patch, str(error)))
    for sample in found:
        if samples and not any(
            fnmatchcase(sample.title, pattern) or pattern in sample.title for pattern in samples
        ):
            continue
        item = _planned_sample(assignment, sample, options)
        if isinstance(item, Row):
            rows.append(item)
        elif item is not None:
            planned.append(item)
    return rows, planned


def _unusable_patch(assignment: Assignment, patch: Path, problem: str) -> Row:
    return proof(
        assignment.name,
        f"sample {patch.parent.name}/{patch.name}",
        "applies",
        expected="a patch against the solved files",
        problem=problem,
    )


def _strays(assignment: Assignment, reference: Path) -> Iterator[Row]:
    for path in stray_files(reference):
        yield proof(
            assignment.name,
            "samples",
            "files",
            expected="samples/VERDICT/NAME/FILE with a kernel's ending, or VERDICT/NAME.patch",
            problem=f"{path.relative_to(reference)} belongs to no sample",
        )


def _not_installed(assignment: Assignment) -> Iterator[Row]:
    """Yield a row for each language whose files nothing on this machine can build."""
    for language in sorted({one for kernel in assignment.parts for one in kernel.files}):
        if package := support_of(language).missing():
            yield Row(
                assignment=assignment.name,
                subject=f"files in {language.phrase}",
                check="graded",
                state=State.ELSEWHERE,
                expected="the references' and samples' verdicts",
                actual="not judged",
                note=f"{package} is not on this machine",
            )


def _proofs(
    assignment: Assignment, repository: Path, options: Options, repeat: int
) -> Iterator[Task]:
    """Yield the tasks for everything but samples."""
    template = repository / TEMPLATES / assignment.name
    reference = repository / REFERENCES / assignment.name
    used: set[tuple[str, Language]] = set()
    for kernel in assignment.parts:
        languages = [
            one
            for one in kernel.files
            if options.wants(kernel.name, one) and not support_of(one).missing()
        ]
        used |= {(assignment.of(kernel).signature.entry, one) for one in languages}
        own = replace(options, kernels=frozenset({kernel.name}))
        if languages and template.is_dir():
            both = replace(own, languages=frozenset())
            yield Task(
                assignment=assignment.name,
                subject=f"stub of {kernel.name}",
                detail="untouched",
                weight=0.1,  # nothing is built or run
                do=partial(tasks.grade_folder, assignment, template, both, judge_untouched),
            )
        for language in languages:
            own = replace(own, languages=frozenset({language}))
            yield from _trivial(assignment, kernel, language, repository, own)
            if (reference / kernel.files[language]).is_file():
                for number in range(repeat):
                    seed = options.secret_seed + number
                    seeded = replace(own, public_seed=seed, secret_seed=seed)
                    label = _label(assignment, kernel, language)
                    judge = partial(judge_reference, seed=seed, label=label)
                    yield Task(
                        assignment=assignment.name,
                        subject=f"reference {label}",
                        detail=f"seed {seed}",
                        # All cases run to completion. Later ones find what the first has built.
                        weight=5.0 if number else 5.5,
                        do=partial(tasks.grade_folder, assignment, reference, seeded, judge),
                    )
    yield from _contraction(assignment, reference, options)
    for part in assignment.of_entries:
        of_part = [one for one in Language if (part.signature.entry, one) in used]
        for alike in _with_equal_cases(part, of_part, options):
            yield Task(
                assignment=assignment.name,
                subject=f"oracle{_of(part)}, {' and '.join(one.phrase for one in alike)}",
                weight=6.0,  # computes all cases several times
                do=partial(tasks.prove_oracle, part, alike, options),
            )


def _with_equal_cases(
    assignment: Assignment, languages: Iterable[Language], options: Options
) -> Iterable[Sequence[Language]]:
    """Return the languages, those together for which an oracle and its comparisons do the same."""
    alike: dict[str, list[Language]] = {}
    seed = options.secret_seed
    for language in languages:
        given = []
        cases = assignment.draw_cases(options.device, language, public_seed=seed, secret_seed=seed)
        for case in cases:
            signature = assignment.signature_of(case)
            types = [signature.element_type(array, language) for array in signature.arrays]
            outputs = [output.name for output in signature.outputs]
            bounds = [assignment.tolerance(case, language, output) for output in outputs]
            given.append((case, types, bounds))
        alike.setdefault(repr(given), []).append(language)
    return alike.values()


def _label(assignment: Assignment, kernel: Kernel, language: Language) -> str:
    """Return the name of a kernel's file, with the kernel's if several share it."""
    file = kernel.files[language]
    owners = [one for one in assignment.kernels if one.files.get(language) == file]
    return f"{file} ({kernel.name})" if len(owners) > 1 else file


def _of(part: Assignment) -> str:
    """Return " of ENTRY" for an entry that is not the first."""
    return f" of {part.signature.entry}" if part.oracle_suffix else ""


def _trivial(
    assignment: Assignment, kernel: Kernel, language: Language, repository: Path, options: Options
) -> Iterator[Task]:
    """Yield the tasks of a kernel's trivial submissions."""
    file, label = kernel.files[language], _label(assignment, kernel, language)
    others: dict[str, str] = {}
    texts: list[tuple[str, str, str | None]] = []
    if kernel is assignment.program:
        # The student's own program runs with the solved kernels.
        others = _solved(assignment, repository / REFERENCES / assignment.name)
    else:
        texts.append(
            (
                f"trivial {label}",
                "writes zeros",
                support_of(language).zeros(assignment.of(kernel).signature),
            )
        )
    template = repository / TEMPLATES / assignment.name
    for path in kernel.headers.get(language, ()):
        if (template / path).is_file():
            others[path] = (template / path).read_text(encoding="utf-8", errors="replace")
    stub = template / file
    if stub.is_file():
        text = stub.read_text(encoding="utf-8", errors="replace")
        texts.append(
            (f"stub {label}", "touched", f"{text.rstrip()}\n{language.comment} Not done yet.\n")
        )
    for subject, check, trivial in texts:
        if trivial is not None:
            files = {**others, file: trivial}
            yield Task(
                assignment=assignment.name,
                subject=subject,
                detail=check,
                weight=3.0,
                do=partial(tasks.grade_trivial, assignment, files, subject, check, options),
            )


def _contraction(assignment: Assignment, reference: Path, options: Options) -> Iterator[Task]:
    """Yield a task for each solved file with an output of floats that must be exact.

    Only files that become CUDA C++ can be compiled with contraction.
    """
    if options.device is not Device.CPU or not contracts():
        return
    for kernel, language in product(assignment.kernels, Language):
        contracted = language.base is Language.CUDA
        if not contracted or not _exact_floats(assignment.of(kernel), language):
            continue
        file = kernel.files.get(language)
        if file and options.wants(kernel.name, language) and (reference / file).is_file():
            label = _label(assignment, kernel, language)
            judge = partial(judge_contracted, label=label)
            own = replace(
                options,
                kernels=frozenset({kernel.name}),
                languages=frozenset({language}),
                checks=frozenset({CheckName.CORRECTNESS}),
                contract=True,
            )
            yield Task(
                assignment=assignment.name,
                subject=f"reference {label}",
                detail="contracted",
                weight=3.0,
                do=partial(tasks.grade_folder, assignment, reference, own, judge),
            )


def _exact_floats(assignment: Assignment, language: Language) -> bool:
    """True if an output of floats must be exact in a case."""
    return any(
        assignment.signature.bound(case.dtype).element_type(output, language).is_float
        and assignment.tolerance(case, language, output.name).exact
        for output in assignment.signature.outputs
        for case in assignment.cases
    )


def _solved(assignment: Assignment, reference: Path) -> dict[str, str]:
    """Return the solved kernels that the student's own program is linked with, by path."""
    spoken = PROGRAM_LANGUAGE
    paths = [k.files[spoken] for k in assignment.kernels if spoken in k.files]
    return {
        path: (reference / path).read_text(encoding="utf-8")
        for path in paths
        if (reference / path).is_file()
    }


def _planned_sample(assignment: Assignment, sample: Sample, options: Options) -> Row | Task | None:
    """Return the sample's task, or a row if it cannot be graded; None if it is filtered out."""
    subject = f"sample {sample.title}"
    try:
        _check_place(sample, assignment)
        sample = in_language(sample, assignment)
        language = Language(sample.language)
        stated = _expectation(sample)
        expectation = stated or Expectation()
        kernel = _kernel_of(sample, assignment, expectation.kernel)
        if not options.wants(kernel.name, language):
            return None
    except ValueError as error:
        return proof(
            sample.assignment,
            subject,
            "in its place",
            expected="a kernel's file below a verdict, with a valid `expect:` line",
            problem=str(error),
        )
    why = _why_not_here(sample, expectation, kernel, options.device)
    if why:
        return not_here(sample, why)
    own = replace(options, kernels=frozenset({kernel.name}), languages=frozenset({language}))
    return Task(
        assignment=assignment.name,
        subject=subject,
        # One that must exceed the time limit does so several times.
        weight=8.0 if sample.verdict == "time_limit" else 2.0,
        do=partial(tasks.grade_sample, assignment, sample, stated, own),
    )


def _kernel_of(sample: Sample, assignment: Assignment, name: str | None) -> Kernel:
    """Return the kernel that the sample is for: the first with its file, or that of this name."""
    kernels = {k.name: k for k in assignment.kernels if sample.file in k.paths}
    if name is not None and name not in kernels:
        raise ValueError(
            f"its first line: kernel={name} has no {sample.file}{choices(name, kernels)}"
        )
    return kernels[name or next(iter(kernels))]


def _check_place(sample: Sample, assignment: Assignment) -> None:
    """Raise ValueError if the folder is no verdict or the file is no kernel's."""
    known = [verdict.value for verdict in Verdict if verdict.judged]
    if sample.verdict not in known:
        raise ValueError(
            f"its folder `{sample.verdict}` is no verdict of a submission ({', '.join(known)})"
        )
    files = [path for kernel in assignment.kernels for path in kernel.paths]
    if sample.file not in files:
        raise ValueError(f"`{sample.file}` is no kernel's file ({', '.join(files)})")


def _expectation(sample: Sample) -> Expectation | None:
    """Return the expectation in the first line; None if it must name a fault, and there is none.

    Raises ValueError if it is not valid or names a line without a statement.
    """
    try:
        expectation = sample.expectation() or Expectation()
        lines = sample.text.splitlines()
        for number in expectation.lines:
            text = lines[number - 1].strip() if number <= len(lines) else ""
            if not text or text.startswith(("//", "#", "}")):
                raise ValueError(f"line {number} of {sample.file} holds no statement")
    except MissingFaultError:
        return None
    except ValueError as error:
        raise ValueError(f"its first line: {error}") from None
    return expectation


def _why_not_here(sample: Sample, expectation: Expectation, kernel: Kernel, device: Device) -> str:
    """Return why this device cannot judge the sample; "" if it can."""
    if package := support_of(Language(sample.language)).missing():
        return f"{package} is not on this machine"
    if expectation.device not in (None, device):
        return f"on {expectation.device} only: {expectation.why}"
    by_time = expectation.check == CheckName.PERFORMANCE or (
        sample.verdict == "too_slow" and expectation.check != CheckName.COUNTERS
    )
    if by_time and CheckName.PERFORMANCE not in kernel.points:
        return f"{kernel.name} has no points for performance: its time is not measured"
    return ""
