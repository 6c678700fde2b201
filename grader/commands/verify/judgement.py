"""Compares the report on a graded submission with what is expected of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from grader.commands.verify.row import Row, State, differs_if
from grader.commands.verify.samples import Expectation, Planted, Sample
from grader.languages.registry import support_of
from grader.report.evidence import BuildEvidence, CorrectnessEvidence, Finding, MemoryEvidence
from grader.report.model import CheckResult, Report
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Device, Language, Visibility

FIRST_LINE = "first line"  # the check of a sample that has none; what is found is a proposal
# The tool of compute-sanitizer that finds a kind of fault, if it is not memcheck.
_GPU_TOOL = {"race": "racecheck", "uninitialized": "initcheck", "barrier": "synccheck"}


class _Promise(NamedTuple):
    """One expectation, and whether it is met."""

    expected: str
    actual: str
    kept: bool


def judge_sample(
    sample: Sample, expectation: Expectation | None, report: Report, device: Device
) -> Row:
    """Compare the report on a sample with its folder and its first line."""
    promised = expectation or Expectation()
    # One kernel, or two if the student's own program is submitted with its kernel.
    checks = [c for k in report.kernels if k.language is not None for c in k.checks]
    promises = list(_promises(sample, promised, report, checks, device))
    broken = [promise for promise in promises if not promise.kept]
    note, only_elsewhere = "", False
    planted = promised.planted
    if broken:
        note = _why(checks, report.verdict)
    elif planted is not None and not planted.convicts(device):
        blind = planted.severity(device) is None
        note = f"{'blind' if blind else 'a warning or more'} on this device: {promised.why}"
        only_elsewhere = blind
    row = _row(
        report,
        f"sample {sample.title}",
        "verdict",
        wrong=bool(broken),
        expected="; ".join(promise.expected for promise in promises),
        actual="; ".join(promise.actual for promise in broken or promises),
        note=note,
        checks=checks,
    )
    if only_elsewhere and row.state is State.AGREES:
        return replace(row, state=State.ELSEWHERE)
    return row


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
    if planted is None or planted.convicts(device):
        yield _Promise(wanted.phrase, report.verdict.phrase, report.verdict is wanted)
    if planted is not None:
        yield _fault(planted, promised, checks, device, sample.language)
    visible = [c for c in checks if c.visibility is Visibility.VISIBLE]
    if promised.check is not None:
        givers = [str(c.check) for c in checks if c.verdict is wanted]
        actual = f"by {' and '.join(dict.fromkeys(givers)) or 'no check'}"
        yield _Promise(f"by the check {promised.check}", actual, promised.check in givers)
        visible = [c for c in visible if c.check == promised.check]
    if promised.message is not None:
        texts = [" ".join(text.split()) for text, _ in _said(visible)]
        phrase = " ".join(promised.message.split())
        kept = any(phrase in text for text in texts)
        actual = "does" if kept else "does not: " + (" / ".join(texts[:2]) or "no message")
        yield _Promise(f'says "{phrase}"', actual, kept)
    if promised.lines and planted is None:
        named = sorted(_lines(visible, sample.file))
        actual = f"names {'line ' + _either(named) if named else 'no line'}"
        kept = any(map(promised.named_by, named))
        yield _Promise(f"names line {_either(promised.lines)}", actual, kept)


def _fault(
    planted: Planted,
    promised: Expectation,
    checks: Sequence[CheckResult],
    device: Device,
    language: str,
) -> _Promise:
    """Compare the memory check's findings with the planted fault: kind, line and severity."""
    severity = planted.severity(device)
    on_gpu = device is Device.CUDA
    kind, lines = planted.kind.replace("_", " "), _either(promised.lines)
    check = next((c for c in checks if c.check == CheckName.MEMORY), None)
    expected = f"{severity} {kind} at line {lines}" if severity else f"no {kind} at line {lines}"
    if check is None:
        return _Promise(expected, "there is no memory check", False)
    if check.verdict is Verdict.NOT_MEASURED:
        return _Promise(expected, f"not measured: {check.message}", False)
    evidence = check.evidence
    findings = evidence.findings if isinstance(evidence, MemoryEvidence) else ()
    on_cpu = support_of(Language(language)).tool_on_cpu
    tool = on_cpu if planted.gpu == "blind" else f"compute-sanitizer {planted.gpu}"
    if severity is not None and on_gpu:
        expected += f" by {tool.removeprefix('compute-sanitizer ')}"
    # racecheck may report a race as an error in one run and as a warning in the next.
    severities = {severity, "error"} if on_gpu else {severity}
    meant = [
        f for f in findings if f.kind == planted.kind and promised.named_by(f.line, f.other_line)
    ]
    as_meant = [
        f for f in meant if f.severity in severities and (not on_gpu or tool in f.tool.split(", "))
    ]
    if severity is None:
        # If the expected tool is blind, other tools on a GPU may still report other faults.
        kept = not meant and (on_gpu or check.verdict is not Verdict.MEMORY_ERROR)
    else:
        convicts = any(f.severity == "error" for f in as_meant)
        # racecheck reports races between warps as errors and races within a warp as warnings,
        # often both in one run.
        complete = as_meant == meant or (severity == "error" and on_gpu)
        convicted = (check.verdict is Verdict.MEMORY_ERROR) == convicts
        kept = bool(as_meant) and complete and convicted
    shown = [_finding(f) for f in (meant or findings)[:2]] or ["no finding"]
    return _Promise(expected, f"{', '.join(shown)} (memory: {check.verdict.phrase})", kept)


def propose_fault(sample: Sample, report: Report) -> Row:
    """Return the row of a sample without a first line: that of the most severe finding."""
    checks = [c for k in report.kernels if k.language is not None for c in k.checks]
    found = [
        finding
        for check in checks
        if isinstance(check.evidence, MemoryEvidence)
        for finding in check.evidence.findings
        if finding.line
    ]
    if not found:
        proposal = f"no line, and no fault is found (the verdict is {report.verdict.phrase})"
    else:
        first = min(found, key=lambda finding: finding.severity != "error")
        below = sample.patch is None  # the line moves all lines of a file, but not of a patch's
        lines = dict.fromkeys(one for one in (first.line, first.other_line) if one)
        line = ",".join(str(one + below) for one in lines)
        mark, tool = Language(sample.language).comment, _GPU_TOOL.get(first.kind, "memcheck")
        proposal = f"{mark} expect: kind={first.kind} line={line} cpu={first.severity} gpu={tool}"
    return _row(
        report,
        f"sample {sample.title}",
        FIRST_LINE,
        wrong=True,
        expected=f"the fault in a new first line of {sample.path.name}",
        actual=proposal,
        note="a proposal; the tool of a GPU is a guess (docs/verify.md)" if found else "",
        checks=checks,
    )


def _finding(finding: Finding) -> str:
    place = f"line {finding.line}" if finding.line else "no line"
    other = f" and {finding.other_line}" if finding.other_line else ""
    return f"{finding.severity} {finding.kind.replace('_', ' ')} at {place}{other}"


def judge_reference(report: Report, seed: int, label: str = "") -> Row:
    """Check that the one solved file has all of its points; `label` is its name if not unique."""
    kernel = report.kernels[0]
    lost = [
        c
        for c in kernel.checks
        # A check without points may be skipped.
        if not (c.verdict.earns_points or c.verdict.pending)
        and (c.max_score or c.verdict is not Verdict.SKIPPED)
    ]
    whole = kernel.score is not None and kernel.score + kernel.pending >= kernel.max_score
    accepted = report.verdict is Verdict.ACCEPTED and not lost and whole
    pending = f"{kernel.pending:g} points pending" if kernel.pending else ""
    return _row(
        report,
        f"reference {label or kernel.file}",
        f"accepted, seed {seed}",
        wrong=not accepted,
        expected=f"accepted with {kernel.max_score:g} points",
        actual=f"{report.verdict.phrase} with {_points(kernel.score)}",
        note=pending if accepted else _headline(kernel.checks, kernel.verdict),
        checks=kernel.checks,
    )


def judge_untouched(report: Report) -> Row:
    """Check that the unchanged stub counts as `not_submitted`."""
    kernel = report.kernels[0]
    headline = _headline(kernel.checks, kernel.verdict)
    right = report.verdict is Verdict.NOT_SUBMITTED and report.score == 0 and not report.pending
    return _row(
        report,
        f"stub of {kernel.name}",
        "untouched",
        wrong=not right,
        expected="not submitted with 0 points",
        actual=f"{report.verdict.phrase} with {_points(report.score)}",
        note="" if right else f"{headline}; `python -m grader.assignment.generated` updates stubs",
    )


def judge_contracted(report: Report, label: str = "") -> Row:
    """Warn if an exact result depends on whether the compiler rounds a * b + c once.

    `label` is the file's name if that is not unique.
    """
    kernel = report.kernels[0]
    wrong = kernel.verdict is Verdict.WRONG_ANSWER
    row = _row(
        report,
        f"reference {label or kernel.file}",
        "contracted",
        wrong=wrong,
        expected="the same bits, whether a * b + c is rounded once, as nvcc does, or twice",
        actual=_headline(kernel.checks, kernel.verdict) if wrong else "as expected",
        note="give a tolerance, or write fmaf, or __fmul_rn and __fadd_rn" if wrong else "",
        checks=kernel.checks,
    )
    return replace(row, state=State.WARNING) if wrong else row


def judge_trivial(subject: str, check: str, report: Report) -> Row:
    """Check that a kernel that does no work is built and earns nothing."""
    kernel = report.kernels[0]
    built = any(c.check == CheckName.BUILD and c.verdict is Verdict.ACCEPTED for c in kernel.checks)
    paid = [c.name for c in kernel.checks if c.score]
    # The memory check may pass, but no case may be right without work.
    idle = [
        c.name for c in kernel.checks if c.check == CheckName.CORRECTNESS and c.verdict.earns_points
    ]
    wrong = not built or kernel.score != 0 or bool(kernel.pending or paid or idle)
    what = f"{report.verdict.phrase} with {_points(kernel.score)}"
    if kernel.pending:
        what += f", {kernel.pending:g} pending"
    if paid or idle:
        what += f" ({', '.join(dict.fromkeys((*paid, *idle)))})"
    return _row(
        report,
        subject,
        check,
        wrong=wrong,
        expected="built, and 0 points in every check",
        actual=what if built else f"not built: {report.verdict.phrase}",
        note=_headline(kernel.checks, kernel.verdict) if wrong else "",
        checks=kernel.checks,
    )


def _row(
    report: Report,
    subject: str,
    check: str,
    *,
    wrong: bool,
    expected: str,
    actual: str,
    note: str = "",
    checks: Iterable[CheckResult] = (),
) -> Row:
    return Row(
        assignment=report.assignment,
        subject=subject,
        check=check,
        state=State.FAILED if report.verdict is Verdict.GRADER_ERROR else differs_if(wrong),
        expected=expected,
        actual=actual,
        note=note,
        verdicts=tuple((check.name, check.verdict.phrase) for check in checks),
        wall_s=report.wall_s,
    )


def _points(score: float | None) -> str:
    return "no score" if score is None else f"{score:g} points"


def _headline(checks: Sequence[CheckResult], verdict: Verdict) -> str:
    """Return the message of the check that gave the verdict."""
    deciding = [check for check in checks if check.verdict is verdict] or list(checks)
    return deciding[0].message if deciding else ""


def _why(checks: Sequence[CheckResult], verdict: Verdict) -> str:
    """Return the headline, and the result of each tool run of a memory check on a GPU."""
    tools = [t for c in checks if isinstance(c.evidence, MemoryEvidence) for t in c.evidence.tools]
    runs = [f"{t.tool}: {t.problem or f'{t.findings} findings in {t.wall_s:.1f} s'}" for t in tools]
    return "; ".join([_headline(checks, verdict), *(runs if len(runs) > 1 else ())])


def _said(checks: Iterable[CheckResult]) -> Iterator[tuple[str, int | None]]:
    """Yield every message of these checks with its hint, and the student's line that it has."""
    for check in checks:
        yield f"{check.message} {check.hint}", None
        evidence = check.evidence
        if isinstance(evidence, MemoryEvidence):
            yield from (
                (f"{found.message} {found.hint}", found.line) for found in evidence.findings
            )
        elif isinstance(evidence, CorrectnessEvidence):
            yield from ((f"{case.message} {case.hint}", None) for case in evidence.cases)
        elif isinstance(evidence, BuildEvidence):
            yield from ((found.message, found.line) for found in evidence.diagnostics)


def _lines(checks: Iterable[CheckResult], file: str) -> set[int]:
    """Return the student's lines that these checks name."""
    place = re.compile(rf"{re.escape(file.rsplit('/', 1)[-1])}:(\d+)")
    named: set[int] = set()
    for text, line in _said(checks):
        named.update(map(int, place.findall(text)))
        named.update([line] if line is not None else [])
    return named


def _either(lines: Iterable[int]) -> str:
    return " or ".join(map(str, lines))
