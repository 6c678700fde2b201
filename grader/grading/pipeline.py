"""Grade one hand-in for one assignment.

plan        which kernels, in which languages, were handed in
build       all of them, in threads, while torch is imported here
check       the cheap checks of all, then the dear ones: time may run out
program     the student's own main.cu, with a kernel that is right
score       points, the better language, the report; so far, after each check
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from grader.assignment.generated import fingerprint, read_stubs
from grader.assignment.model import Assignment, Kernel
from grader.build.artifact import Built
from grader.gpu.lock import sharing
from grader.grading import check_results, partial, score
from grader.grading.context import GradingContext, open_context
from grader.grading.identity import identity
from grader.grading.internal_error import as_grader_error
from grader.grading.plan import Options, StudentProgram, Unit
from grader.grading.progress import Progress
from grader.grading.rules_step import asked_of, hold_to_rules
from grader.grading.student_program import asked_for, grade_program
from grader.judge.python_server import PythonServer
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.submission.reader import Submission
from grader.vocabulary import CheckName, Language

# What costs little and is worth most comes first, so that it is known if the time runs out.
_BY_COST = (
    CheckName.CORRECTNESS,
    CheckName.PROGRAM,
    CheckName.MEMORY,
    CheckName.COUNTERS,
    CheckName.PERFORMANCE,
)


def grade(
    assignment: Assignment,
    submission: Submission,
    options: Options,
    progress: Progress,
    server: PythonServer | None = None,
    hear: Callable[[Report], None] | None = None,
) -> Report:
    """Grade `submission`; a student's failures are in the report, ours are raised.

    Whoever grades many hand-ins, one after another, lends a `server` for Python.
    `hear` is told the report so far, at the beginning and after each check: what
    is not known yet is pending in it. Its environment is empty until the end.
    Raises GraderError for what is wrong with the assignment or this machine as
    a whole; what goes wrong with one kernel only is its `grader_error`.
    """
    started_s = time.monotonic()
    kernels = [k for k in assignment.kernels if not options.kernels or k.name in options.kernels]
    units = {kernel.name: _units(assignment, submission, kernel, options) for kernel in kernels}
    everything = [unit for several in units.values() for unit in several]
    own = _own_program(assignment, submission, options)
    gradings = [_Grading(unit, options) for unit in everything]
    program: KernelResult | None = None

    def results() -> list[KernelResult]:
        found: list[KernelResult] = []
        for kernel in kernels:
            graded = [g.result() for g in gradings if g.unit.kernel is kernel]
            found += score.count_better(graded) or [
                score.not_submitted(kernel, _absence(assignment, submission, kernel, options))
            ]
        return found

    def report(environment: dict[str, str | int | float | None]) -> Report:
        main = program
        if main is None and assignment.program is not None and asked_for(assignment, options):
            if own is None:
                absent = _absence(assignment, submission, assignment.program, options)
                main = score.not_submitted(assignment.program, absent)
            else:
                waiting = partial.not_yet(assignment.program, (), options)
                main = score.kernel_result(assignment.program, Language.CUDA, waiting)
        return score.assemble(
            assignment,
            [*results(), *([main] if main is not None else [])],
            filtered=options.filtered(assignment),
            wall_s=round(time.monotonic() - started_s, 3),
            environment=environment,
        )

    def tell() -> None:
        if hear is not None:
            hear(report({}))

    tell()
    with (
        sharing(options.gpu.uuid if options.gpu else None),
        open_context(assignment, options, everything, own, server) as context,
    ):
        for grading in gradings:
            grading.begin(context, progress)
        for check in _BY_COST:
            if check is CheckName.PROGRAM and own is not None:
                program = grade_program(assignment, context, own, results(), progress)
                tell()
            for grading in gradings:
                if grading.upcoming is check:
                    grading.go_on()
                    tell()
        environment = context.environment()
    return report({**environment, **identity(assignment, submission)})


class _Grading:
    """The grading of one file, a check at a time; `upcoming` comes next, None at the end."""

    def __init__(self, unit: Unit, options: Options) -> None:
        self.unit = unit
        self.upcoming: CheckName | None = CheckName.CORRECTNESS  # with the build before it
        self._options = options
        self._checks: list[CheckResult] = []
        self._steps: Iterator[CheckName] = iter(())

    def begin(self, context: GradingContext, progress: Progress) -> None:
        """Get ready; nothing is done before `go_on`."""
        self._steps = _grade_unit(context, self.unit, self._checks, progress)
        self.go_on()

    def go_on(self) -> None:
        """Do the check that is next."""
        self.upcoming = next(self._steps, None)

    def result(self) -> KernelResult:
        """Return what is known so far."""
        kernel, checks = self.unit.kernel, self._checks
        waiting = self.upcoming is not None
        rest = partial.not_yet(kernel, checks, self._options) if waiting else []
        in_order = partial.in_order([*checks, *rest])
        return score.kernel_result(kernel, self.unit.language, check_results.forbidden(in_order))


def _grade_unit(
    context: GradingContext, unit: Unit, checks: list[CheckResult], progress: Progress
) -> Iterator[CheckName]:
    """Build and check one file, filling `checks`; yield which check comes before each of them.

    What breaks here, foreseen or not, is this kernel's grader_error.
    """
    during: CheckName | None = None
    try:
        yield CheckName.CORRECTNESS
        with progress.step(f"{unit.title} · build"):
            built = context.built(unit)
        checks.append(check_results.build_check(built))
        if not isinstance(built, Built):
            checks += check_results.without_build(unit.kernel, built)
        elif context.wants(CheckName.CORRECTNESS):
            cases = context.cases(unit)
            with progress.step(f"{unit.title} · correctness", total=len(cases)) as step:
                verified = context.check_correctness(unit, built, cases, step.advance)
            checks += check_results.correctness_checks(unit.kernel, verified)
            if check_results.accepted(checks, CheckName.CORRECTNESS):
                built = context.compile_gate(unit, built)
                checks[0] = check_results.build_check(built)
                if not isinstance(built, Built):
                    checks[1:] = check_results.without_build(unit.kernel, built)
        if isinstance(built, Built) and asked_of(context, unit, checks):
            during = CheckName.RULES
            checks += hold_to_rules(context, unit, built, progress)
            during = None
        if isinstance(built, Built) and context.checks_memory(unit):
            yield CheckName.MEMORY
            checks.append(_look_at_memory(context, unit, built, checks, progress))
        if isinstance(built, Built) and context.checks_counters(unit):
            during = CheckName.COUNTERS
            yield during
            checks += _count(context, unit, built, checks, progress)
        if isinstance(built, Built) and context.checks_performance(unit):
            during = CheckName.PERFORMANCE
            yield during
            checks.append(_time(context, unit, built, checks, progress))
    except Exception as error:
        if during is None:
            checked = any(check.check is CheckName.CORRECTNESS for check in checks)
            during = CheckName.MEMORY if checked else CheckName.CORRECTNESS
        checks.append(check_results.grader_error(unit.kernel, as_grader_error(error), during))


def _look_at_memory(
    context: GradingContext, unit: Unit, built: Built, checks: list[CheckResult], progress: Progress
) -> CheckResult:
    """Check memory, after a wrong answer too: that is when it helps."""
    # It would not end here either. In CUDA C++ it may hang in a barrier, which this check tells.
    if unit.language is Language.TRITON and check_results.never_ended(checks):
        return check_results.without_memory(unit.kernel)
    asked = context.wants(CheckName.CORRECTNESS)
    correct = check_results.accepted(checks, CheckName.CORRECTNESS) if asked else None
    with progress.step(f"{unit.title} · memory") as step:
        judged = context.check_memory(unit, built, step.advance)
    return check_results.memory_check(
        unit.kernel, judged.diagnosis, judged.evidence, correct=correct
    )


def _time(
    context: GradingContext, unit: Unit, built: Built, checks: list[CheckResult], progress: Progress
) -> CheckResult:
    """Time a kernel whose cases are right: a wrong answer is fast at will."""
    correct = check_results.accepted(checks, CheckName.CORRECTNESS)
    if not correct and context.wants(CheckName.CORRECTNESS):
        return check_results.without_performance(unit.kernel, correct=correct)
    started_s = time.monotonic()
    with progress.step(f"{unit.title} · performance") as step:
        timed = context.check_performance(unit, built, step.advance)
    return check_results.performance_check(
        unit.kernel,
        timed.diagnosis,
        timed.evidence,
        share=timed.share,
        correct=correct,
        wall_s=round(time.monotonic() - started_s, 3),
    )


def _count(
    context: GradingContext, unit: Unit, built: Built, checks: list[CheckResult], progress: Progress
) -> list[CheckResult]:
    """Count the accesses of a kernel unless its cases are known to be wrong."""
    correct = check_results.accepted(checks, CheckName.CORRECTNESS)
    if correct is False and context.wants(CheckName.CORRECTNESS):
        return check_results.without_counters(unit.kernel)
    with progress.step(f"{unit.title} · counters"):
        counted = context.check_counters(unit, built)
    if counted.diagnosis.verdict is Verdict.SKIPPED and unit.kernel.counters is None:
        return []  # nobody asked, and a hand-in that only copies has nothing to show
    return [
        check_results.counters_check(
            unit.kernel,
            counted.diagnosis,
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
            source = submission.files[path]
            units.append(Unit(kernel=kernel, language=language, source=source))
    return units


def _own_program(
    assignment: Assignment, submission: Submission, options: Options
) -> StudentProgram | None:
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
    return StudentProgram(main=mains[0], kernels=tuple(kernels)) if mains else None


def _untouched(assignment: Assignment, submission: Submission, path: str) -> bool:
    source = submission.files[path]
    stubs = read_stubs(assignment.folder)
    return source.problem is None and stubs.get(path) == fingerprint(source.text)


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
    return f"no {' or '.join(paths)} in {submission.called or submission.source}{meant}"
