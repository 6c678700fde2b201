"""Is the hand-in's use of memory sound? Small cases again, under a tool that watches.

    processor, CUDA C++   the checked host build: every access is looked at
    processor, Triton     the interpreter with every address checked

A tool's silence is the worker's word. It counts only together with what the
judge saw: every case of the run gave right outputs in the judge's own copy,
and accesses were counted. Findings cost points whoever tells them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.check.ending import Doing, Sentence, explain
from grader.check.finding import SHOWN, folded, sentence
from grader.check.host_findings import TOOL as HOST_TOOL
from grader.check.host_findings import read_run
from grader.check.stage import Bench, Stage
from grader.evidence import Finding, MemoryEvidence, ToolRun
from grader.judge.oracle import CaseData
from grader.judge.session import Session
from grader.spec import Case
from grader.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVerdict:
    """The outcome of the memory check; no evidence if nothing could be run."""

    sentence: Sentence
    evidence: MemoryEvidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """What the judge saw of one run over all cases; `failure` is the first thing wrong."""

    failure: Sentence | None
    wrong: bool


def check_host_memory(
    bench: Bench,
    text: str,
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    advance: Callable[[str], None],
) -> MemoryVerdict:
    """Run a checked host build; `text` is the student's file as rewritten."""
    started_s = time.monotonic()
    with Session(bench.built, bench.assignment.limits, bench.server) as session:
        walk = _walk(bench, session, cases, data, advance)
        records = session.records()
        output = session.output
    tampered = False
    findings: tuple[Finding, ...] = ()
    accesses = 0
    problem = None
    try:
        lines = [json.dumps(record) for record in records]
        run = read_run(lines, bench.built.path, bench.built.file, text)
        findings, accesses = folded(run.findings), run.accesses
        problem = run.unsupported[0] if run.unsupported else None
    except ValueError:
        tampered = True
    evidence = MemoryEvidence(
        tools=(
            ToolRun(
                tool=HOST_TOOL,
                findings=sum(finding.count for finding in findings),
                wall_s=round(time.monotonic() - started_s, 3),
                problem=problem,
            ),
        ),
        cases=tuple(case.name for case in cases),
        findings=findings[:SHOWN],
        findings_total=len(findings),
        output=output,
    )
    if tampered:
        message = "the hand-in wrote into the memory checker's report"
        judged = Sentence(verdict=Verdict.TAMPERED, message=message)
    else:
        judged = _judge(walk, findings, accesses=accesses, problem=problem)
    return MemoryVerdict(sentence=judged, evidence=evidence)


def _walk(
    bench: Bench,
    session: Session,
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    advance: Callable[[str], None],
) -> _Walk:
    """Call the hand-in on every case, until it fails to answer."""
    limits = bench.assignment.limits
    loaded = session.load()
    if not loaded.done:
        return _Walk(failure=explain(loaded, bench.built, limits, Doing.LOADING), wrong=False)
    wrong = False
    for case in cases:
        values = data(case)
        stage = Stage(bench, case, values)
        with stage.buffers() as buffers:
            attached = session.attach(buffers, bare=True)
            if not attached.done:
                failure = explain(attached, bench.built, limits, Doing.BETWEEN)
                return _Walk(failure=failure, wrong=wrong)
            stage.fill(buffers, poison=0)
            outcome = session.call(stage.arguments(), private=bench.private)
            snapshots = {b.name: b.snapshot() for b in buffers if b.role.written}
            detached = session.detach() if outcome.done else outcome
        if not detached.done:
            doing = Doing.BETWEEN if outcome.done else Doing.CALLING
            failure = explain(detached, bench.built, limits, doing, case=case.name)
            return _Walk(failure=failure, wrong=wrong)
        wrong = wrong or not all(c.accepted for c in stage.compare(snapshots))
        advance(case.name)
    return _Walk(failure=None, wrong=wrong)


def _judge(
    walk: _Walk, findings: tuple[Finding, ...], *, accesses: int, problem: str | None
) -> Sentence:
    """Decide: findings first, then how the run ended, then whether it proves anything."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return Sentence(
            verdict=Verdict.MEMORY_ERROR, message=sentence(errors[0]) + more, hint=errors[0].hint
        )
    if problem is not None:
        return Sentence(verdict=Verdict.NOT_MEASURED, message=problem)
    if walk.failure is not None:
        return walk.failure
    if walk.wrong:
        return Sentence(
            verdict=Verdict.WRONG_ANSWER,
            message="no fault was seen, but outputs were wrong in this run: it proves nothing",
            hint="mend the correctness check first",
        )
    if not accesses:
        return Sentence(
            verdict=Verdict.WRONG_ANSWER, message="no kernel touched any memory in this run"
        )
    warnings = f", {len(findings)} warnings" if len(findings) > 1 else ", 1 warning"
    return Sentence(
        verdict=Verdict.ACCEPTED,
        message=f"no memory errors{warnings if findings else ''}",
        hint=sentence(findings[0]) if findings else "",
    )
