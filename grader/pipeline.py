"""Grade one hand-in for one assignment.

plan        which kernels, in which languages, were handed in
build       all of them, in threads, while torch is imported here
check       each built one in turn
program     the student's own main.cu, with a kernel that is right
score       points, the better language, the report
"""

from __future__ import annotations

import time
from dataclasses import replace

from grader import entries, score
from grader.build.product import Built
from grader.errors import GraderError
from grader.fingerprint import fingerprint, read_stubs
from grader.gpu_turn import sharing
from grader.identity import identity
from grader.judge.server import PythonServer
from grader.own_program import asked_for, grade_program
from grader.plan import Options, OwnProgram, Unit
from grader.progress import Progress
from grader.report import CheckResult, KernelResult, Report
from grader.spec import Assignment, Kernel
from grader.submission import Submission
from grader.words import CheckName, Language
from grader.workshop import Workshop, open_workshop


def grade(
    assignment: Assignment,
    submission: Submission,
    options: Options,
    progress: Progress,
    server: PythonServer | None = None,
) -> Report:
    """Grade `submission`; a student's failures are in the report, ours are raised.

    Whoever grades many hand-ins, one after another, lends a `server` for Python.
    Raises GraderError for what is wrong with the assignment or this machine as
    a whole; what goes wrong with one kernel only is its `grader_error`.
    """
    started_s = time.monotonic()
    kernels = [k for k in assignment.kernels if not options.kernels or k.name in options.kernels]
    units = {kernel.name: _units(assignment, submission, kernel, options) for kernel in kernels}
    everything = [unit for several in units.values() for unit in several]
    own = _own_program(assignment, submission, options)
    with (
        sharing(options.gpu.uuid if options.gpu else None),
        open_workshop(assignment, options, everything, own, server) as shop,
    ):
        results: list[KernelResult] = []
        for kernel in kernels:
            graded = [_grade_unit(shop, unit, progress) for unit in units[kernel.name]]
            results += score.count_better(graded) or [
                score.not_submitted(kernel, _absence(assignment, submission, kernel, options))
            ]
        if own is not None:
            results.append(grade_program(assignment, shop, own, results, progress))
        elif assignment.program is not None and asked_for(assignment, options):
            absent = _absence(assignment, submission, assignment.program, options)
            results.append(score.not_submitted(assignment.program, absent))
        environment = {**shop.environment(), **identity(assignment, submission)}
    return score.assemble(
        assignment,
        results,
        filtered=options.filtered(assignment),
        wall_s=round(time.monotonic() - started_s, 3),
        environment=environment,
    )


def _grade_unit(shop: Workshop, unit: Unit, progress: Progress) -> KernelResult:
    """Build and check one file; what breaks here is this kernel's grader_error."""
    checks: list[CheckResult] = []
    during: CheckName | None = None
    try:
        with progress.step(f"{unit.title} · build"):
            built = shop.built(unit)
        checks.append(entries.build_check(built))
        if not isinstance(built, Built):
            checks += entries.without_build(unit.kernel, built)
        elif shop.wants(CheckName.CORRECTNESS):
            cases = shop.cases(unit)
            with progress.step(f"{unit.title} · correctness", total=len(cases)) as step:
                verified = shop.check_correctness(unit, built, cases, step.advance)
            checks += entries.correctness_checks(unit.kernel, verified)
            if entries.accepted(checks, CheckName.CORRECTNESS):
                built = shop.compile_gate(unit, built) or built
                if not isinstance(built, Built):
                    checks = [
                        entries.build_check(built),
                        *entries.without_build(unit.kernel, built),
                    ]
        if isinstance(built, Built) and shop.checks_memory(unit):
            asked = shop.wants(CheckName.CORRECTNESS)
            correct = entries.accepted(checks, CheckName.CORRECTNESS) if asked else None
            with progress.step(f"{unit.title} · memory") as step:
                judged = shop.check_memory(unit, built, step.advance)
            checks.append(
                entries.memory_check(unit.kernel, judged.sentence, judged.evidence, correct=correct)
            )
        if isinstance(built, Built) and shop.checks_performance(unit):
            during = CheckName.PERFORMANCE
            checks.append(_time(shop, unit, built, checks, progress))
        if isinstance(built, Built) and shop.checks_counters(unit):
            during = CheckName.COUNTERS
            checks += _count(shop, unit, built, checks, progress)
    except GraderError as error:
        if during is None:
            checked = any(check.check is CheckName.CORRECTNESS for check in checks)
            during = CheckName.MEMORY if checked else CheckName.CORRECTNESS
        checks.append(entries.grader_error(unit.kernel, error, during))
    return score.kernel_result(unit.kernel, unit.language, checks)


def _time(
    shop: Workshop, unit: Unit, built: Built, checks: list[CheckResult], progress: Progress
) -> CheckResult:
    """Time a kernel whose cases are right: a wrong answer is fast at will."""
    correct = entries.accepted(checks, CheckName.CORRECTNESS)
    if not correct and shop.wants(CheckName.CORRECTNESS):
        return entries.without_performance(unit.kernel, correct=correct)
    started_s = time.monotonic()
    with progress.step(f"{unit.title} · performance") as step:
        timed = shop.check_performance(unit, built, step.advance)
    return entries.performance_check(
        unit.kernel,
        timed.sentence,
        timed.evidence,
        share=timed.share,
        correct=correct,
        wall_s=round(time.monotonic() - started_s, 3),
    )


def _count(
    shop: Workshop, unit: Unit, built: Built, checks: list[CheckResult], progress: Progress
) -> list[CheckResult]:
    """Count the accesses of a kernel unless its cases are known to be wrong."""
    correct = entries.accepted(checks, CheckName.CORRECTNESS)
    if correct is False and shop.wants(CheckName.CORRECTNESS):
        return entries.without_counters(unit.kernel)
    with progress.step(f"{unit.title} · counters"):
        counted = shop.check_counters(unit, built)
    return [
        entries.counters_check(
            unit.kernel,
            counted.sentence,
            counted.evidence,
            correct=correct,
            wall_s=counted.wall_s,
        )
    ]


def _units(
    assignment: Assignment, submission: Submission, kernel: Kernel, options: Options
) -> list[Unit]:
    units = []
    for language, path in kernel.files.items():
        wanted = not options.languages or language in options.languages
        if wanted and path in submission and not _untouched(assignment, submission, path):
            hand_in = submission.files[path]
            units.append(Unit(kernel=kernel, language=language, hand_in=hand_in))
    return units


def _own_program(
    assignment: Assignment, submission: Submission, options: Options
) -> OwnProgram | None:
    """Return main.cu, if it is asked for and handed in, with all kernels it may run with."""
    if assignment.program is None or not asked_for(assignment, options):
        return None
    cuda = replace(options, languages=frozenset({Language.CUDA}))
    mains = _units(assignment, submission, assignment.program, cuda)
    run = not options.checks or CheckName.PROGRAM in options.checks
    kernels = [
        unit
        for kernel in assignment.kernels
        if run
        for unit in _units(assignment, submission, kernel, cuda)
    ]
    return OwnProgram(main=mains[0], kernels=tuple(kernels)) if mains else None


def _untouched(assignment: Assignment, submission: Submission, path: str) -> bool:
    hand_in = submission.files[path]
    stubs = read_stubs(assignment.folder)
    return hand_in.problem is None and stubs.get(path) == fingerprint(hand_in.text)


def _absence(
    assignment: Assignment, submission: Submission, kernel: Kernel, options: Options
) -> str:
    """Say why a kernel counts as not handed in."""
    paths = [
        path
        for language, path in kernel.files.items()
        if not options.languages or language in options.languages
    ]
    stubs = [path for path in paths if path in submission]
    if stubs:
        return f"{' and '.join(stubs)}: the stub as handed out, not a solution yet"
    if not paths:
        return "left out on request"
    meant = next((words for path in paths if (words := submission.misnamed(path))), "")
    return f"no {' or '.join(paths)} in {submission.source}{meant}"
