"""Does a graded hand-in get what was promised of it? Report → rows, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.commands.verify.expectation import Expectation, Planted
from grader.commands.verify.row import Row, State, differs_if
from grader.commands.verify.samples import Sample
from grader.report.evidence import BuildEvidence, CorrectnessEvidence, Finding, MemoryEvidence
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promise:
    """One thing that was promised, and what came of it."""

    expected: str
    actual: str
    kept: bool


def judge_sample(
    sample: Sample, expectation: Expectation | None, report: Report, device: Device
) -> Row:
    """Hold the report on a sample to its folder and its first line."""
    promised = expectation or Expectation()
    # One, or two where the student's own program is handed in with its kernel.
    checks = [c for k in report.kernels if k.language is not None for c in k.checks]
    promises = list(_promises(sample, promised, report, checks, device))
    note = ""
    planted = promised.planted
    if planted is not None and not planted.convicts(device.value):
        blind = planted.severity(device.value) is None
        note = f"{'blind' if blind else 'a warning or more'} on this device: {promised.why}"
    broken = [promise for promise in promises if not promise.kept]
    state = differs_if(bool(broken))
    if not broken and note and planted is not None and planted.severity(device.value) is None:
        state = State.ELSEWHERE
    return Row(
        assignment=sample.assignment,
        subject=f"sample {sample.title}",
        check="verdict",
        state=State.FAILED if report.verdict is Verdict.GRADER_ERROR else state,
        expected="; ".join(promise.expected for promise in promises),
        actual="; ".join(promise.actual for promise in broken or promises),
        note=note if not broken else _why(checks, report.verdict),
        verdicts=verdicts(checks),
        wall_s=report.wall_s,
    )


def not_here(sample: Sample, why: str) -> Row:
    """Return the row of a sample that this device cannot judge."""
    return Row(
        assignment=sample.assignment,
        subject=f"sample {sample.title}",
        check="verdict",
        state=State.ELSEWHERE,
        expected=Verdict(sample.verdict).phrase,
        actual="not judged",
        note=why,
    )


def _promises(
    sample: Sample,
    promised: Expectation,
    report: Report,
    checks: Sequence[CheckResult],
    device: Device,
) -> Iterator[_Promise]:
    wanted = Verdict(sample.verdict)
    planted = promised.planted
    if planted is None or planted.convicts(device.value):
        yield _Promise(
            expected=wanted.phrase, actual=report.verdict.phrase, kept=report.verdict is wanted
        )
    if planted is not None:
        yield _fault(planted, promised, checks, device)
    told_of = [c for c in checks if c.visibility is Visibility.VISIBLE]
    if promised.check is not None:
        givers = [str(c.check) for c in checks if c.verdict is wanted]
        yield _Promise(
            expected=f"by the check {promised.check}",
            actual=f"by {' and '.join(dict.fromkeys(givers)) or 'no check'}",
            kept=promised.check in givers,
        )
        told_of = [c for c in told_of if c.check == promised.check]
    if promised.message is not None:
        told = [" ".join(text.split()) for text in _texts(told_of)]
        phrase = " ".join(promised.message.split())
        kept = any(phrase in text for text in told)
        yield _Promise(
            expected=f'tells "{phrase}"',
            actual="does" if kept else "does not: " + (" / ".join(told[:2]) or "tells nothing"),
            kept=kept,
        )
    if promised.lines and planted is None:
        named = sorted(_lines(told_of, sample.file))
        yield _Promise(
            expected=f"names line {_either(promised.lines)}",
            actual=f"names {'line ' + _either(named) if named else 'no line'}",
            kept=any(map(promised.named_by, named)),
        )


def _fault(
    planted: Planted, promised: Expectation, checks: Sequence[CheckResult], device: Device
) -> _Promise:
    """Return whether the planted memory fault is found, by a finding of its own."""
    severity = planted.severity(device.value)
    kind, lines = planted.kind.replace("_", " "), _either(promised.lines)
    check = next((c for c in checks if c.check is CheckName.MEMORY), None)
    expected = f"{severity} {kind} at line {lines}" if severity else f"no {kind} at line {lines}"
    if check is None:
        return _Promise(expected=expected, actual="there is no memory check", kept=False)
    if check.verdict is Verdict.NOT_MEASURED:
        return _Promise(expected=expected, actual=f"not measured: {check.message}", kept=False)
    evidence = check.evidence
    findings = evidence.findings if isinstance(evidence, MemoryEvidence) else ()
    # Of one race racecheck may tell as an error in one run and only warn in the next.
    severities = {severity, "error"} if device is Device.CUDA else {severity}
    if severity is not None and device is Device.CUDA:
        expected += f" by {planted.gpu}"
    meant = [
        f for f in findings if f.kind == planted.kind and promised.named_by(f.line, f.other_line)
    ]
    as_meant = [
        f
        for f in meant
        if f.severity in severities
        and (device is Device.CPU or f.tool == f"compute-sanitizer {planted.gpu}")
    ]
    convicts = any(f.severity == "error" for f in as_meant)
    convicted = (check.verdict is Verdict.MEMORY_ERROR) == convicts
    # racecheck calls a race an error where warps meet and a warning inside of one: both, often.
    alike = as_meant == meant or (severity == "error" and device is Device.CUDA)
    found = bool(as_meant) and alike if severity else not meant
    # A GPU's other tools may tell of something else where the one that is meant is blind.
    kept = found and (convicted or (severity is None and device is Device.CUDA))
    told = [_finding(f) for f in (meant or findings)[:2]] or ["no finding"]
    return _Promise(
        expected=expected, actual=f"{', '.join(told)} (memory: {check.verdict.phrase})", kept=kept
    )


def _finding(finding: Finding) -> str:
    place = f"line {finding.line}" if finding.line else "no line"
    other = f" and {finding.other_line}" if finding.other_line else ""
    return f"{finding.severity} {finding.kind.replace('_', ' ')} at {place}{other}"


def judge_reference(kernel: KernelResult, report: Report, seed: int) -> Row:
    """Hold the report on one solved file to all of its points."""
    lost = [
        c
        for c in kernel.checks
        # What is only shown may have nothing to show.
        if not (c.verdict.earns_points or c.verdict.pending)
        and (c.max_score or c.verdict is not Verdict.SKIPPED)
    ]
    whole = kernel.score is not None and kernel.score + kernel.pending >= kernel.max_score
    accepted = report.verdict is Verdict.ACCEPTED and not lost and whole
    pending = f"{kernel.pending:g} points pending" if kernel.pending else ""
    return Row(
        assignment=report.assignment,
        subject=f"reference {kernel.file}",
        check=f"accepted, seed {seed}",
        state=_graded(report, not accepted),
        expected=f"accepted with {kernel.max_score:g} points",
        actual=f"{report.verdict.phrase} with {_points(kernel.score)}",
        note=pending if accepted else _headline(kernel.checks, kernel.verdict),
        verdicts=verdicts(kernel.checks),
        wall_s=report.wall_s,
    )


def judge_untouched(kernel: KernelResult, report: Report) -> Row:
    """The stub as handed out is no hand-in."""
    told = _headline(kernel.checks, kernel.verdict)
    right = report.verdict is Verdict.NOT_SUBMITTED and report.score == 0 and not report.pending
    return Row(
        assignment=report.assignment,
        subject=f"stub of {kernel.name}",
        check="untouched",
        state=_graded(report, not right),
        expected="not submitted with 0 points",
        actual=f"{report.verdict.phrase} with {_points(report.score)}",
        note="" if right else f"{told}; `python -m grader.assignment.generated` renews stubs",
        wall_s=report.wall_s,
    )


def judge_worthless(subject: str, check: str, kernel: KernelResult, report: Report) -> Row:
    """Hold the report on a kernel that does no work to: it is built, and earns nothing."""
    built = any(c.check is CheckName.BUILD and c.verdict is Verdict.ACCEPTED for c in kernel.checks)
    earning = [
        c for c in kernel.checks if c.check is not CheckName.BUILD and c.verdict.earns_points
    ]
    paid = [c.name for c in kernel.checks if c.score]
    wrong = not built or kernel.score != 0 or bool(kernel.pending) or bool(paid)
    # Memory may well be clean; cases that are right by doing nothing are not.
    idle = [c.name for c in earning if c.check is CheckName.CORRECTNESS]
    what = f"{report.verdict.phrase} with {_points(kernel.score)}"
    if kernel.pending:
        what += f", {kernel.pending:g} pending"
    if paid or idle:
        what += f" ({', '.join(dict.fromkeys((*paid, *idle)))})"
    return Row(
        assignment=report.assignment,
        subject=subject,
        check=check,
        state=_graded(report, wrong or bool(idle)),
        expected="built, and 0 points in every check",
        actual=what if built else f"not built: {report.verdict.phrase}",
        note=_headline(kernel.checks, kernel.verdict) if wrong or idle else "",
        verdicts=verdicts(kernel.checks),
        wall_s=report.wall_s,
    )


def verdicts(checks: Iterable[CheckResult]) -> tuple[tuple[str, str], ...]:
    """Return the verdict of each check, by its name in the report."""
    return tuple((check.name, check.verdict.phrase) for check in checks)


def _graded(report: Report, wrong: bool) -> State:
    return State.FAILED if report.verdict is Verdict.GRADER_ERROR else differs_if(wrong)


def _points(score: float | None) -> str:
    return "no score" if score is None else f"{score:g} points"


def _headline(checks: Sequence[CheckResult], verdict: Verdict) -> str:
    """Return what the student reads first: the message of what gave the verdict."""
    told = [check for check in checks if check.verdict is verdict] or list(checks)
    return told[0].message if told else ""


def _why(checks: Sequence[CheckResult], verdict: Verdict) -> str:
    """Return the headline, and what each tool of a memory check on a GPU did."""
    tools = [t for c in checks if isinstance(c.evidence, MemoryEvidence) for t in c.evidence.tools]
    runs = [f"{t.tool}: {t.problem or f'{t.findings} findings in {t.wall_s:.1f} s'}" for t in tools]
    return "; ".join([_headline(checks, verdict), *(runs if len(runs) > 1 else ())])


def _texts(checks: Iterable[CheckResult]) -> Iterator[str]:
    """Yield all that a student reads of these checks."""
    for check in checks:
        yield f"{check.message} {check.hint}"
        evidence = check.evidence
        if isinstance(evidence, MemoryEvidence):
            yield from (f"{finding.message} {finding.hint}" for finding in evidence.findings)
        elif isinstance(evidence, CorrectnessEvidence):
            yield from (f"{case.message} {case.hint}" for case in evidence.cases)
        elif isinstance(evidence, BuildEvidence):
            yield from (diagnostic.message for diagnostic in evidence.diagnostics)


def _lines(checks: Iterable[CheckResult], file: str) -> set[int]:
    """Return the student's lines that these checks name."""
    checks = list(checks)
    place = re.compile(rf"{re.escape(file.rsplit('/', 1)[-1])}:(\d+)")
    named = {int(number) for text in _texts(checks) for number in place.findall(text)}
    for check in checks:
        evidence = check.evidence
        if isinstance(evidence, MemoryEvidence):
            named |= {f.line for f in evidence.findings if f.line is not None}
        elif isinstance(evidence, BuildEvidence):
            named |= {d.line for d in evidence.diagnostics if d.line is not None}
    return named


def _either(lines: Iterable[int]) -> str:
    return " or ".join(map(str, lines))
