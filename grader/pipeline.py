"""Grade one hand-in for one assignment.

plan        which kernels, in which languages, were handed in
build       all of them, in threads, while torch is imported here
check       each built one in turn
score       points, the better language, the report
"""

from __future__ import annotations

import time

from grader import score
from grader.build.product import Built
from grader.errors import GraderError
from grader.fingerprint import fingerprint, read_stubs
from grader.judge.server import PythonServer
from grader.progress import Progress
from grader.report import CheckResult, KernelResult, Report
from grader.spec import Assignment, Kernel
from grader.submission import Submission
from grader.words import CheckName
from grader.workshop import Options, Unit, Workshop, open_workshop


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
    with open_workshop(assignment, options, everything, server) as shop:
        results: list[KernelResult] = []
        for kernel in kernels:
            graded = [_grade_unit(shop, unit, progress) for unit in units[kernel.name]]
            results += score.count_better(graded) or [
                score.not_submitted(kernel, _absence(assignment, submission, kernel, options))
            ]
        environment = shop.environment()
    return score.assemble(
        assignment,
        results,
        filtered=options.filtered,
        wall_s=round(time.monotonic() - started_s, 3),
        environment=environment,
    )


def _grade_unit(shop: Workshop, unit: Unit, progress: Progress) -> KernelResult:
    """Build and check one file; what breaks here is this kernel's grader_error."""
    checks: list[CheckResult] = []
    try:
        with progress.step(f"{unit.title} · build"):
            built = shop.built(unit)
        checks.append(score.build_check(built))
        if not isinstance(built, Built):
            checks += score.without_build(unit.kernel, built)
        elif shop.wants(CheckName.CORRECTNESS):
            cases = shop.cases(unit)
            with progress.step(f"{unit.title} · correctness", total=len(cases)) as step:
                verified = shop.check_correctness(unit, built, cases, step.advance)
            checks += score.correctness_checks(unit.kernel, verified)
            if score.accepted(checks, CheckName.CORRECTNESS):
                built = shop.compile_gate(unit, built) or built
                if not isinstance(built, Built):
                    checks = [score.build_check(built), *score.without_build(unit.kernel, built)]
        if isinstance(built, Built) and shop.checks_memory(unit):
            correct = score.accepted(checks, CheckName.CORRECTNESS)
            with progress.step(f"{unit.title} · memory") as step:
                judged = shop.check_memory(unit, built, step.advance)
            checks.append(
                score.memory_check(unit.kernel, judged.sentence, judged.evidence, correct=correct)
            )
    except GraderError as error:
        checked = any(check.check is CheckName.CORRECTNESS for check in checks)
        during = CheckName.MEMORY if checked else CheckName.CORRECTNESS
        checks.append(score.grader_error(unit.kernel, error, during))
    return score.kernel_result(unit.kernel, unit.language, checks)


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
